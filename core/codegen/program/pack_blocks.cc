// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/program/pack_blocks.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/arena.h"
#include "runtime/arena/arena_layout.h"
#include "runtime/arena/block_lives.h"

namespace byoc {
namespace {

// All sizes have one of these, within their bounds: which values are the largest differs between
// few rows and many.
constexpr int64_t kUsualSizes[] = {16, 256, 4096};

uint32_t blocks_of(const Program& program) {
  uint32_t n = 0;
  auto add = [&](const Place& place) {
    if (place.kind == Place::kArena) n = std::max(n, place.index + 1);
  };
  for (const Step& step : program.steps) std::for_each(step.args.begin(), step.args.end(), add);
  for (const Instruction& one : program.code) std::for_each(one.args.begin(), one.args.end(), add);
  for (const Copy& copy : program.copies) add(copy.from);
  return n;
}

std::vector<int64_t> sizes_near(int64_t usual, const Program& program) {
  std::vector<int64_t> out;
  for (const OpenSize& size : program.sizes)
    out.push_back(std::clamp(usual, size.least, size.most));
  return out;
}

// Returns the blocks by their offsets in a plan for these bytes.
std::vector<uint32_t> order_for(const std::vector<uint64_t>& bytes, std::vector<Lifetime> lives) {
  for (size_t k = 0; k < lives.size(); ++k) lives[k].bytes = bytes[k];
  const ArenaPlan plan = plan_arena(lives);
  std::vector<uint32_t> order(lives.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return plan.offsets[a] < plan.offsets[b]; });
  return order;
}

}  // namespace

Status pack_blocks(Program& program) {
  std::vector<uint32_t> as_numbered(blocks_of(program));
  if (as_numbered.empty()) return {};
  std::iota(as_numbered.begin(), as_numbered.end(), 0u);
  program.packing = {as_numbered};
  BYOC_TRY(const OpenSizes sizes, OpenSizes::make(program));
  const ArenaLayout layout(program, sizes);
  const std::vector<Lifetime> lives = block_lives(program);
  std::vector<std::vector<uint32_t>> orders;
  std::vector<int64_t> values(sizes.expressions());
  std::vector<uint64_t> bytes(layout.blocks());
  for (int64_t usual : kUsualSizes) {
    const bool fits = sizes.evaluate(sizes_near(usual, program), values).ok() &&
                      layout.measure(values, bytes).ok();
    if (!fits) continue;  // such sizes are errors of runs, too
    std::vector<uint32_t> order = order_for(bytes, lives);
    if (std::find(orders.begin(), orders.end(), order) == orders.end())
      orders.push_back(std::move(order));
  }
  if (!orders.empty()) program.packing = std::move(orders);
  return {};
}

}  // namespace byoc
