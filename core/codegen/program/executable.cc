// SPDX-License-Identifier: Apache-2.0
// Turns a planned module into the flat program that the runtime executes.
#include "byoc/base/version.h"
#include "byoc/compile.h"
#include "byoc/ir/visit.h"
#include "byoc/op/device_copy.h"
#include "byoc/runtime/stored_constants.h"
#include "core/codegen/devices/hoist_copies.h"
#include "core/codegen/devices/plan_devices.h"
#include "core/codegen/program/pack_blocks.h"
#include "core/codegen/program/write_steps.h"

namespace byoc {
namespace {

// Collects the constants that the program and the modules read. A constant that a plugin only
// copied at compile is passed to it again at load; native code is loaded without its plugin.
void collect_constants(const IRModule& module, Executable& out) {
  auto add = [&](const ContentKey& key) { out.constants[key] = module.constants.at(key); };
  for (const ProgramConstant& constant : out.program.constants) add(constant.key);
  for (const ExternalModule& compiled : out.modules) {
    for (const ExternalFunction& external : compiled.functions) {
      for (const ExternalConstant& constant : external.constants)
        if (is_stored(compiled, constant)) add(constant.key);
      for (const auto& [packed, align] : external.packed) add(packed);
    }
    for (const auto& [name, packed] : compiled.packed) add(packed);
  }
}

Status check_plan(const IRModule& module, Symbol name) {
  const Function& function = module.function(name);
  const bool is_packed = function.attrs.has("arena_blocks");
  size_t places = 0;
  for (const Node& node : function.nodes) {
    const bool is_control = std::holds_alternative<Control>(node.kind);
    if (is_control || std::holds_alternative<Extern>(node.kind) || is_device_copy(node))
      places += node.types.size();
    if (is_control && !is_packed) ++places;  // its scratch memory
  }
  const bool has_blocks = is_packed && function.attrs.ints("arena_blocks").size() == places;
  if ((has_blocks || function.attrs.has("arena_bytes")) &&
      function.attrs.ints("arena_offsets").size() == places)
    return {};
  return failed(cat("@", name, " has no memory plan that fits it"))
      .with_slug("not-compiled")
      .with_help("run plan_memory first");
}

}  // namespace

Result<Executable> make_executable(const IRModule& planned) {
  if (planned.find(planned.entry) == nullptr)
    return invalid(cat("the module has no function @", planned.entry))
        .with_slug("unknown-function");
  BYOC_TRY(std::vector<Symbol> order, callees_first(planned, planned.entry));
  for (size_t k = order.size(); k-- > 0;) BYOC_TRY_STATUS(check_plan(planned, order[k]));
  Executable out;
  out.modules = planned.external_mods;
  BYOC_TRY_STATUS(write_steps(planned, out));
  hoist_copies(out.program);
  plan_devices(out.program);
  const Attrs& plan = planned.function(planned.entry).attrs;
  if (plan.has("arena_blocks")) {
    BYOC_TRY_STATUS(pack_blocks(out.program));
  } else {
    out.program.arena_bytes = static_cast<uint64_t>(plan.i("arena_bytes"));
    out.program.peak_live_bytes = static_cast<uint64_t>(plan.i("arena_peak_live"));
  }
  collect_constants(planned, out);
  out.producer = cat("byoc ", version());
  return out;
}

}  // namespace byoc
