// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin::topi {
namespace {

using te::Dag;

// Returns the axis of `sums` that `y` has as two, the rank of both when they have one shape.
std::optional<size_t> fused_axis_of(const te::Exprs& a, const te::Exprs& b) {
  const size_t more = b.size() - a.size();
  if (b.size() < a.size() || more > 1) return std::nullopt;
  size_t axis = 0;
  while (axis < a.size() && te::structural_equal(a[axis], b[axis])) ++axis;
  if (more == 0) return axis == a.size() ? std::optional(axis) : std::nullopt;
  // [.., h, 1, ..] and [.., h, w, ..]: the longest run of equal extents may reach too far by one
  for (size_t at : {axis, axis - 1}) {
    if (at >= a.size()) continue;
    auto whole = te::as_int(a[at]), h = te::as_int(b[at]), w = te::as_int(b[at + 1]);
    bool fits = whole && h && w && *whole == *h * *w;
    for (size_t d = at + 1; d < a.size(); ++d) fits = fits && te::structural_equal(a[d], b[d + 1]);
    if (fits) return at;
  }
  return std::nullopt;
}

// Returns the number of blocks of `y` [n, o, .., b] that a block of `sums` [n, o / count, .., b *
// count] has; 1 for other shapes.
int64_t joined_blocks_of(const te::Tensor& sums, const te::Tensor& y) {
  if (sums.rank() < 3 || y.rank() < sums.rank()) return 1;
  auto blocks = te::as_int(sums.shape()[1]), lanes = te::as_int(sums.shape().back());
  auto o = te::as_int(y.shape()[1]), b = te::as_int(y.shape().back());
  if (!blocks || !lanes || !o || !b || *b < 1 || *lanes % *b != 0) return 1;
  const int64_t count = *lanes / *b;
  return count > 1 && *blocks == (*o + count - 1) / count ? count : 1;
}

// Returns the only reduction of a Dag, as its own result; nullopt: there are others, or procedures
// that read what is computed.
std::optional<AnchorDag> only_sums_of(const Dag& dag) {
  AnchorDag out{dag.stages.size(), 0, 0};
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    auto* procedure = std::get_if<te::Procedure>(&dag.stages[s].kind);
    if (procedure != nullptr && !reads_inputs_alone(dag, *procedure)) return std::nullopt;
    const te::Compute* compute = compute_of(dag.stages[s]);
    if (compute == nullptr || compute->reduce.empty()) continue;
    if (out.anchor < dag.stages.size()) return std::nullopt;
    out.anchor = s;
  }
  if (out.anchor == dag.stages.size() || dag.stages[out.anchor].outputs.size() != 1)
    return std::nullopt;
  out.result = out.anchor;
  out.fused_axis = dag.stages[out.anchor].outputs[0].rank();
  return out;
}

}  // namespace

std::optional<AnchorDag> find_anchor_stage(const Dag& dag) {
  if (dag.outputs.size() != 1) return std::nullopt;
  std::optional<AnchorDag> out = only_sums_of(dag);
  if (!out) return std::nullopt;
  out->result = te::stage_of(dag, dag.outputs[0]);
  if (std::holds_alternative<te::Procedure>(dag.stages[out->result].kind)) return std::nullopt;
  const te::Tensor& y = dag.outputs[0];
  te::Exprs sums = dag.stages[out->anchor].outputs[0].shape();
  const std::string& compute = dag.stages[out->anchor].compute;
  if (compute == kJoinedCompute || compute == kJoinedWindows)
    out->joined = joined_blocks_of(dag.stages[out->anchor].outputs[0], y);
  if (out->joined > 1) sums[1] = y.shape()[1], sums.back() = y.shape().back();
  std::optional<size_t> fused = fused_axis_of(sums, y.shape());
  if (!fused) return std::nullopt;
  out->fused_axis = *fused;
  return out;
}

std::optional<AnchorDag> find_anchor_of_rows(const Dag& dag) {
  std::optional<AnchorDag> out = find_anchor_stage(dag);
  if (!out || out->fused_axis < dag.stages[out->anchor].outputs[0].rank()) return std::nullopt;
  return out;
}

std::optional<AnchorDag> find_stored_anchor(const Dag& dag) {
  std::optional<AnchorDag> out = only_sums_of(dag);
  if (!out) return std::nullopt;
  for (const te::Tensor& output : dag.outputs) {
    const size_t stage = te::stage_of(dag, output);
    if (std::holds_alternative<te::Procedure>(dag.stages[stage].kind)) return std::nullopt;
    if (stage > out->anchor) out->moved.push_back(stage);
  }
  return out;
}

}  // namespace byoc::llvm_plugin::topi
