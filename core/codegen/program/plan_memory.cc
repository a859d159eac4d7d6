// SPDX-License-Identifier: Apache-2.0
// Places the results of externs and of control flow in one arena by their live ranges. The plan is
// in attributes of the entry function: `arena_offsets`, one number per result in order of the nodes
// (-1: written directly to a result of the function), `arena_bytes`, `arena_peak_live`. The bodies
// of control flow have the same attributes. The arena of a body is a part of its caller's, live
// during that node alone; its offset comes after those of the node's results. The operands of a
// concat are placed one after another in its result, where that is possible (joined_places.h).
// In a program of open sizes values have blocks of memory, which each run places for its sizes:
// `arena_blocks` has the number of the block of each result, or -1, and `arena_offsets` its offset
// there. Values on devices have no place in it (-1): plan_devices.h. A view of another value
// (viewed_values.h) has the place of its operand: the same one in the arena, or -2 of a parameter,
// a constant or a result of the function.
//   before: fn main(%x) {
//             %0 = call_dps_packed(@a, %x) : f32[8]
//             %1 = call_dps_packed(@b, %0) : f32[8]
//             return %1
//           }
//   after:  fn main(%x) {arena_bytes=64, arena_offsets=[0,-1], arena_peak_live=64} {
//             ...
//           }
#include <algorithm>
#include <unordered_map>

#include "byoc/base/arena.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/visit.h"
#include "byoc/op/device_copy.h"
#include "byoc/pass/codegen.h"
#include "core/codegen/devices/value_devices.h"
#include "core/codegen/program/control_scratch.h"
#include "core/codegen/program/joined_places.h"
#include "core/codegen/program/viewed_values.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

constexpr uint32_t kNoBlock = UINT32_MAX;
constexpr int64_t kOutput = -1, kOfOperand = -2;  // in place of an offset

// Values that share memory through in-place pairs are one block.
struct Blocks {
  std::vector<Lifetime> lifetimes;
  std::vector<uint32_t> of_value;                  // per extern result; kNoBlock: an output
  std::vector<uint64_t> within;                    // per extern result: its offset in the block
  std::vector<uint32_t> first;                     // per node, into of_value
  std::vector<uint32_t> viewed;                    // per value: what it is a view of, or itself
  std::unordered_map<uint32_t, uint32_t> scratch;  // per node with control flow
};

Status check_plannable(const Function& function, Symbol name) {
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    const Kind& kind = function.nodes[node].kind;
    if (!std::holds_alternative<Call>(kind) && !std::holds_alternative<Invoke>(kind)) continue;
    if (is_device_copy(function.nodes[node])) continue;
    return failed(cat(node_name(function, node), " has not been compiled"))
        .with_slug("not-compiled")
        .at(cat("@", name))
        .with_help(
            "run fuse_ops and run_codegen first; without a default codegen, an op that no "
            "plugin takes stays as it is");
  }
  return {};
}

// The compiled functions by their names, aliases too, and the devices they run on.
struct Externals {
  explicit Externals(const IRModule& module) : devices(module) {}
  std::unordered_map<std::string_view, const ExternalFunction*> functions;
  ValueDevices devices;
};

Externals externals_of(const IRModule& module) {
  Externals out(module);
  for (const ExternalModule& compiled : module.external_mods) {
    for (const ExternalFunction& external : compiled.functions) {
      out.functions[external.symbol] = &external;
      for (const ExternalAlias& alias : external.aliases) out.functions[alias.symbol] = &external;
    }
  }
  return out;
}

bool writes_results(const Node& node) {
  return std::holds_alternative<Extern>(node.kind) || std::holds_alternative<Control>(node.kind) ||
         is_device_copy(node);
}

class ArenaPlanner {
 public:
  ArenaPlanner(const IRModule& module, const Externals& externals, const Function& function,
               bool is_packed)
      : module_(module),
        externals_(externals.functions),
        devices_(externals.devices),
        function_(function),
        is_packed_(is_packed) {}
  Result<Blocks> run();

 private:
  void find_last_reads();
  uint32_t reusable(uint32_t node, uint32_t output);
  uint32_t add_block(uint64_t bytes, uint32_t first, uint32_t last);
  Status add_results(uint32_t node);
  void add_joined(uint32_t node, uint32_t value, const JoinedPlace& place);

  const IRModule& module_;
  const std::unordered_map<std::string_view, const ExternalFunction*>& externals_;
  const ValueDevices& devices_;
  const Function& function_;
  const bool is_packed_;             // bytes are those of each run
  std::vector<uint32_t> last_read_;  // per value
  std::vector<uint8_t> is_result_;
  std::vector<uint8_t> taken_over_;  // per value: an output reuses its memory in place
  std::vector<JoinedPlace> joined_;  // per value
  Blocks blocks_;
};

void ArenaPlanner::find_last_reads() {
  size_t values = blocks_.of_value.size();
  last_read_.assign(values, 0);
  is_result_.assign(values, 0);
  taken_over_.assign(values, 0);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    for (uint32_t k = blocks_.first[node]; k < blocks_.first[node + 1]; ++k) last_read_[k] = node;
    for (ValueId arg : function_.args(function_.nodes[node]))
      last_read_[blocks_.first[arg.node] + arg.output] = node;
  }
  for (ValueId result : function_.results)
    is_result_[blocks_.first[result.node] + result.output] = 1;
  // A value lives as long as its views, and a view that is a result makes it one.
  const std::vector<uint32_t>& viewed = blocks_.viewed;
  for (uint32_t k = 0; k < values; ++k) {
    last_read_[viewed[k]] = std::max(last_read_[viewed[k]], last_read_[k]);
    is_result_[viewed[k]] |= is_result_[k];
  }
  for (uint32_t k = 0; k < values; ++k) last_read_[k] = last_read_[viewed[k]];
}

// Returns true when values of the two types have as many bytes in every run, and dims of their own.
bool has_equal_bytes(const TensorType& a, const TensorType& b) {
  if (has_counted(a.shape) || has_counted(b.shape)) return false;  // dims have one place too
  if (has_open(a.shape) || has_open(b.shape))
    return a.shape == b.shape && dtype_size(a.dtype) == dtype_size(b.dtype);
  const Result<uint64_t> x = arena_bytes(a), y = arena_bytes(b);
  return x.ok() && y.ok() && *x == *y;
}

// Returns the block of an input that this output may reuse: the node is the last reader of the
// input and reads it once.
uint32_t ArenaPlanner::reusable(uint32_t node, uint32_t output) {
  auto* external = std::get_if<Extern>(&function_.nodes[node].kind);
  auto found = external ? externals_.find(external->symbol.text()) : externals_.end();
  if (found == externals_.end() || devices_.runs_on_device(function_.nodes[node])) return kNoBlock;
  std::span<const ValueId> args = function_.args(function_.nodes[node]);
  for (auto [input, out] : found->second->inplace) {
    if (out != output || input >= args.size()) continue;
    uint32_t value = blocks_.first[args[input].node] + args[input].output;
    uint32_t block = blocks_.of_value[value];
    const auto is_same = [&](ValueId arg) {
      return blocks_.viewed[blocks_.first[arg.node] + arg.output] == blocks_.viewed[value];
    };
    bool read_once = std::ranges::count_if(args, is_same) == 1;
    if (block == kNoBlock || taken_over_[value] || last_read_[value] != node || !read_once)
      continue;
    if (!has_equal_bytes(*function_.type(args[input]), *function_.nodes[node].types[output]))
      continue;
    taken_over_[value] = 1;
    return block;
  }
  return kNoBlock;
}

uint32_t ArenaPlanner::add_block(uint64_t bytes, uint32_t first, uint32_t last) {
  blocks_.lifetimes.push_back({bytes, first, last});
  return static_cast<uint32_t>(blocks_.lifetimes.size() - 1);
}

// Adds a value that is a part of another one, whose block begins to live with its first part.
void ArenaPlanner::add_joined(uint32_t node, uint32_t value, const JoinedPlace& place) {
  uint32_t& block = blocks_.of_value[place.whole];
  if (block == kNoBlock) block = add_block(place.bytes, node, last_read_[place.whole]);
  blocks_.of_value[value] = block;
  blocks_.within[value] = place.offset;
}

Status ArenaPlanner::add_results(uint32_t node) {
  for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) {
    uint32_t value = blocks_.first[node] + k;
    if (blocks_.viewed[value] != value) {
      blocks_.of_value[value] = blocks_.of_value[blocks_.viewed[value]];
      continue;
    }
    if (is_result_[value] || blocks_.of_value[value] != kNoBlock) continue;  // or made by its parts
    if (devices_.of(function_, {node, k}) != ValueDevices::kHost) continue;  // in another arena
    if (joined_[value].is_part) {
      add_joined(node, value, joined_[value]);
      continue;
    }
    uint64_t bytes = 0;
    if (!is_packed_) {
      BYOC_TRY(bytes, arena_bytes(*function_.nodes[node].types[k]));
    }
    uint32_t block = reusable(node, k);
    if (block == kNoBlock) block = add_block(bytes, node, last_read_[value]);
    blocks_.lifetimes[block].last = last_read_[value];
    blocks_.of_value[value] = block;
  }
  return {};
}

Result<Blocks> ArenaPlanner::run() {
  blocks_.first.assign(function_.nodes.size() + 1, 0);
  for (size_t k = 0; k < function_.nodes.size(); ++k) {
    blocks_.first[k + 1] =
        blocks_.first[k] + static_cast<uint32_t>(function_.nodes[k].types.size());
  }
  blocks_.of_value.assign(blocks_.first.back(), kNoBlock);
  blocks_.within.assign(blocks_.first.back(), 0);
  BYOC_TRY(joined_, joined_places(function_, blocks_.first, devices_));
  blocks_.viewed = viewed_values(function_, blocks_.first, devices_, joined_);
  find_last_reads();
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (writes_results(function_.nodes[node])) BYOC_TRY_STATUS(add_results(node));
    auto* control = std::get_if<Control>(&function_.nodes[node].kind);
    if (control != nullptr && !is_packed_) {
      BYOC_TRY(ControlScratch scratch, control_scratch(module_, *control));
      blocks_.scratch[node] = add_block(scratch.bytes, node, node);
    }
  }
  return std::move(blocks_);
}

Status plan_blocks(const IRModule& module, const Externals& externals, Function& function) {
  BYOC_TRY(const Blocks blocks, ArenaPlanner(module, externals, function, true).run());
  Ints numbers, offsets;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!writes_results(function.nodes[node])) continue;
    for (uint32_t value = blocks.first[node]; value < blocks.first[node + 1]; ++value) {
      const uint32_t block = blocks.of_value[value];
      const int64_t none = blocks.viewed[value] != value ? kOfOperand : kOutput;
      numbers.push_back(block == kNoBlock ? -1 : static_cast<int64_t>(block));
      offsets.push_back(block == kNoBlock ? none : static_cast<int64_t>(blocks.within[value]));
    }
  }
  function.attrs.set("arena_blocks", std::move(numbers));
  function.attrs.set("arena_offsets", std::move(offsets));
  return {};
}

Status plan_function(const IRModule& module, const Externals& externals, Function& function) {
  BYOC_TRY(Blocks blocks, ArenaPlanner(module, externals, function, false).run());
  ArenaPlan plan = plan_arena(blocks.lifetimes);
  Ints offsets;
  auto add = [&](uint32_t block, uint64_t within, bool is_view) {
    const int64_t none = is_view ? kOfOperand : kOutput;
    offsets.push_back(block == kNoBlock ? none
                                        : static_cast<int64_t>(plan.offsets[block] + within));
  };
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!writes_results(function.nodes[node])) continue;
    for (uint32_t value = blocks.first[node]; value < blocks.first[node + 1]; ++value)
      add(blocks.of_value[value], blocks.within[value], blocks.viewed[value] != value);
    if (auto at = blocks.scratch.find(node); at != blocks.scratch.end()) add(at->second, 0, false);
  }
  function.attrs.set("arena_offsets", std::move(offsets));
  function.attrs.set("arena_bytes", static_cast<int64_t>(plan.bytes));
  function.attrs.set("arena_peak_live", static_cast<int64_t>(plan.peak_live_bytes));
  return {};
}

bool has_open_params(const Function& entry) {
  for (size_t k = 0; k < entry.num_params(); ++k) {
    if (has_open(entry.nodes[k].types[0]->shape)) return true;
  }
  return false;
}

}  // namespace

Result<IRModule> plan_memory(IRModule module, const PassContext&) {
  if (module.find(module.entry) == nullptr)
    return invalid(cat("the module has no function @", module.entry)).with_slug("unknown-function");
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  for (size_t k = order.size(); k-- > 0;)
    BYOC_TRY_STATUS(check_plannable(module.function(order[k]), order[k]));
  const Externals externals = externals_of(module);
  const bool is_packed = has_open_params(module.function(module.entry));
  for (Symbol name : order) {
    auto& plan = is_packed ? plan_blocks : plan_function;
    BYOC_TRY_STATUS(plan(module, externals, module.function(name)));
  }
  return module;
}

}  // namespace byoc
