// SPDX-License-Identifier: Apache-2.0
// Inserts copies where a value is made on one side of the border between the host and a device, and
// read on the other. Each value is copied once per direction and device, right after it is made, so
// that the copy runs while other work goes on. Parameters and results of functions, and operands of
// control flow, are on the host.
//   before: fn main(%x) {
//             %0 = call_dps_packed(@sim_main_0, %x) : f32[8]
//             %1 = call_dps_packed(@json_main_0, %0) : f32[8]
//             return %1
//           }
//   after:  fn main(%x) {
//             %0 = copy_to_device(%x) {device=0}
//             %1 = call_dps_packed(@sim_main_0, %0) : f32[8]
//             %2 = copy_to_host(%1)
//             %3 = call_dps_packed(@json_main_0, %2) : f32[8]
//             return %3
//           }
#include <map>
#include <set>

#include "byoc/ir/dim.h"
#include "byoc/op/device_copy.h"
#include "byoc/op/registry.h"
#include "byoc/pass/codegen.h"
#include "core/codegen/devices/value_devices.h"

namespace byoc {
namespace {

constexpr uint32_t kHost = ValueDevices::kHost;

// Rewrites one function.
class Copier {
 public:
  Copier(const ValueDevices& devices, const Function& function)
      : devices_(devices), from_(function) {}

  Result<Function> run() {
    find_readers();
    out_.attrs = from_.attrs;
    const size_t params = from_.num_params();
    for (uint32_t node = 0; node < params; ++node) add_node(node);
    for (uint32_t node = 0; node < params; ++node) BYOC_TRY_STATUS(add_copies(node));
    for (uint32_t node = static_cast<uint32_t>(params); node < from_.nodes.size(); ++node) {
      add_node(node);
      BYOC_TRY_STATUS(add_copies(node));
    }
    for (ValueId result : from_.results) out_.results.push_back(places_.at({result, kHost}));
    return std::move(out_);
  }

 private:
  void find_readers() {
    for (const Node& node : from_.nodes) {
      const std::span<const ValueId> args = from_.args(node);
      for (size_t k = 0; k < args.size(); ++k) readers_[args[k]].insert(devices_.read_by(node, k));
    }
    for (ValueId result : from_.results) readers_[result].insert(kHost);
  }

  void add_node(uint32_t number) {
    const Node& node = from_.nodes[number];
    std::vector<ValueId> args;
    const std::span<const ValueId> old = from_.args(node);
    for (size_t k = 0; k < old.size(); ++k)
      args.push_back(places_.at({old[k], devices_.read_by(node, k)}));
    const uint32_t fresh = out_.add_copy(node, args);
    for (uint32_t k = 0; k < node.types.size(); ++k)
      places_[{{number, k}, devices_.of(from_, {number, k})}] = {fresh, k};
  }

  Status add_copies(uint32_t number) {
    const Node& node = from_.nodes[number];
    for (uint32_t k = 0; k < node.types.size(); ++k) {
      const ValueId value{number, k};
      const auto readers = readers_.find(value);
      if (readers == readers_.end()) continue;
      const uint32_t home = devices_.of(from_, value);
      const bool leaves = *readers->second.rbegin() != home || readers->second.size() > 1;
      if (leaves && home != kHost) BYOC_TRY_STATUS(add_copy(value, home, kHost));
      for (uint32_t to : readers->second) {
        if (to != home && to != kHost) BYOC_TRY_STATUS(add_copy(value, kHost, to));
      }
    }
    return {};
  }

  Status add_copy(ValueId value, uint32_t from, uint32_t to) {
    const Node& node = from_.nodes[value.node];
    const OpDef* op = all_ops().find(to == kHost ? "copy_to_host" : "copy_to_device");
    Attrs attrs;
    if (to != kHost) attrs.set("device", static_cast<int64_t>(to));
    const ValueId source = places_.at({value, from});
    const TypeId type = from_.type(value);
    if (has_counted(type->shape))
      return failed(cat("a value of type ", *type, " is read on a device"))
          .with_slug("device-sizes")
          .with_help("leave the plugin with the device out");
    const uint32_t copy =
        out_.add_call(op, intern(std::move(attrs)), {&source, 1}, {type}, name_of(node));
    places_[{value, to}] = {copy, 0};
    return {};
  }

  // Names a copy after its source: the node's name, or the parameter's, or the function's.
  static Symbol name_of(const Node& node) {
    if (!node.loc.empty()) return node.loc;
    if (const auto* param = std::get_if<Param>(&node.kind)) return param->name;
    if (const auto* external = std::get_if<Extern>(&node.kind)) return external->symbol;
    return {};
  }

  const ValueDevices& devices_;
  const Function& from_;
  Function out_;
  std::map<ValueId, std::set<uint32_t>> readers_;           // where each value is read
  std::map<std::pair<ValueId, uint32_t>, ValueId> places_;  // of the new function, per side
};

}  // namespace

Result<IRModule> copy_to_devices(IRModule module, const PassContext&) {
  const ValueDevices devices(module);
  if (devices.devices().empty()) return module;
  for (auto& [name, function] : module.functions) {
    Result<Function> copied = Copier(devices, function).run();
    if (!copied.ok()) return std::move(copied.status()).at(cat("@", name));
    function = *std::move(copied);
  }
  return module;
}

}  // namespace byoc
