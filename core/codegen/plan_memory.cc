// SPDX-License-Identifier: Apache-2.0
// Places the results of externs in one arena by their live ranges. The plan is in attributes of the
// entry function: `arena_offsets`, one number per extern result in order of the nodes (-1: written
// directly to an output of the program), `arena_bytes`, `arena_peak_live`.
//   before: fn main(%x) {
//             %0 = call_dps_packed(@a, %x) : f32[8]
//             %1 = call_dps_packed(@b, %0) : f32[8]
//             return %1
//           }
//   after:  fn main(%x) {arena_bytes=64, arena_offsets=[0,-1], arena_peak_live=64} {
//             ...
//           }
#include <unordered_map>

#include "byoc/base/arena.h"
#include "byoc/pass/codegen.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

constexpr uint64_t kAlign = 64;
constexpr uint32_t kNoBlock = UINT32_MAX;

// Values that share memory through in-place pairs are one block.
struct Blocks {
  std::vector<Lifetime> lifetimes;
  std::vector<uint32_t> of_value;  // per extern result; kNoBlock: an output
  std::vector<uint32_t> first;     // per node, into of_value
};

Status check_plannable(const Function& function, Symbol name) {
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    const Kind& kind = function.nodes[node].kind;
    if (!std::holds_alternative<Call>(kind) && !std::holds_alternative<Invoke>(kind)) continue;
    return failed(cat(node_name(function, node), " has not been compiled"))
        .with_slug("not-compiled")
        .at(cat("@", name))
        .with_help(
            "run fuse_ops and run_codegen first; without a default codegen, an op that no "
            "plugin takes stays as it is");
  }
  return {};
}

class Planner {
 public:
  Planner(const IRModule& module, const Function& function)
      : module_(module), function_(function) {}
  Result<Blocks> run();

 private:
  void find_last_reads();
  uint32_t reusable(uint32_t node, uint32_t output, uint64_t bytes);

  const IRModule& module_;
  const Function& function_;
  std::unordered_map<std::string_view, const ExternalFunction*> externals_;  // aliases too
  std::vector<uint32_t> last_read_;                                          // per value
  std::vector<uint8_t> is_result_;
  std::vector<uint8_t> taken_over_;  // per value: an output reuses its memory in place
  Blocks blocks_;
};

void Planner::find_last_reads() {
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
}

// Returns the block of an input that this output may reuse: the node is the last reader of the
// input and reads it once.
uint32_t Planner::reusable(uint32_t node, uint32_t output, uint64_t bytes) {
  auto found = externals_.find(std::get<Extern>(function_.nodes[node].kind).symbol.text());
  if (found == externals_.end()) return kNoBlock;
  std::span<const ValueId> args = function_.args(function_.nodes[node]);
  for (auto [input, out] : found->second->inplace) {
    if (out != output || input >= args.size()) continue;
    uint32_t value = blocks_.first[args[input].node] + args[input].output;
    uint32_t block = blocks_.of_value[value];
    bool read_once = std::count(args.begin(), args.end(), args[input]) == 1;
    if (block == kNoBlock || taken_over_[value] || last_read_[value] != node || !read_once)
      continue;
    if (blocks_.lifetimes[block].bytes != bytes) continue;
    taken_over_[value] = 1;
    return block;
  }
  return kNoBlock;
}

Result<Blocks> Planner::run() {
  for (const ExternalModule& compiled : module_.external_mods) {
    for (const ExternalFunction& external : compiled.functions) {
      externals_[external.symbol] = &external;
      for (const ExternalAlias& alias : external.aliases) externals_[alias.symbol] = &external;
    }
  }
  blocks_.first.assign(function_.nodes.size() + 1, 0);
  for (size_t k = 0; k < function_.nodes.size(); ++k) {
    blocks_.first[k + 1] =
        blocks_.first[k] + static_cast<uint32_t>(function_.nodes[k].types.size());
  }
  blocks_.of_value.assign(blocks_.first.back(), kNoBlock);
  find_last_reads();
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (!std::holds_alternative<Extern>(function_.nodes[node].kind)) continue;
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) {
      uint32_t value = blocks_.first[node] + k;
      if (is_result_[value]) continue;
      BYOC_TRY(int64_t bytes, size_bytes(*function_.nodes[node].types[k]));
      uint64_t rounded = (static_cast<uint64_t>(bytes) + kAlign - 1) / kAlign * kAlign;
      uint32_t block = reusable(node, k, rounded);
      if (block == kNoBlock) {
        block = static_cast<uint32_t>(blocks_.lifetimes.size());
        blocks_.lifetimes.push_back({rounded, node, last_read_[value]});
      }
      blocks_.lifetimes[block].last = last_read_[value];
      blocks_.of_value[value] = block;
    }
  }
  return std::move(blocks_);
}

}  // namespace

Result<IRModule> plan_memory(IRModule module, const PassContext&) {
  Function* function = module.find(module.entry);
  if (function == nullptr)
    return invalid(cat("the module has no function @", module.entry)).with_slug("unknown-function");
  BYOC_TRY_STATUS(check_plannable(*function, module.entry));
  BYOC_TRY(Blocks blocks, Planner(module, *function).run());
  ArenaPlan plan = plan_arena(blocks.lifetimes);
  Ints offsets;
  for (uint32_t node = 0; node < function->nodes.size(); ++node) {
    if (!std::holds_alternative<Extern>(function->nodes[node].kind)) continue;
    for (uint32_t value = blocks.first[node]; value < blocks.first[node + 1]; ++value) {
      uint32_t block = blocks.of_value[value];
      offsets.push_back(block == kNoBlock ? -1 : static_cast<int64_t>(plan.offsets[block]));
    }
  }
  function->attrs.set("arena_offsets", std::move(offsets));
  function->attrs.set("arena_bytes", static_cast<int64_t>(plan.bytes));
  function->attrs.set("arena_peak_live", static_cast<int64_t>(plan.peak_live_bytes));
  return module;
}

}  // namespace byoc
