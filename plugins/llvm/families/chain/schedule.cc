// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/chain/schedule.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::chain {
namespace {

using te::Schedule;
using topi::compute_of;
using topi::extent_at;
using Loops = std::vector<std::string>;

constexpr int64_t kMostWritten = 192;  // multiply-adds of a tile that are written out

class Scheduler {
 public:
  Scheduler(const te::Dag& dag, const Chain& chain, const Plan& plan)
      : dag_(dag), chain_(chain), plan_(plan), schedule_(dag) {}
  Result<Schedule> run();

 private:
  const std::string& name(size_t stage) const { return dag_.stages[stage].name; }
  const std::string& host() const {
    return name(chain_.after ? chain_.after->last : chain_.depthwise.last);
  }
  Result<std::string> sums_of(const Conv& conv);
  Status order_end(const Conv& conv, const Loops& cells);
  Status inline_others();
  Status order_after();
  Status order_depthwise();
  Status order_before();
  Status order_tile(const Conv& conv, const Loops& outer, const topi::RegisterTile& tile,
                    const std::string& sums);

  const te::Dag& dag_;
  const Chain& chain_;
  const Plan& plan_;
  Schedule schedule_;
};

// Returns the stage of the sums, which is made when the convolution ends with them.
Result<std::string> Scheduler::sums_of(const Conv& conv) {
  const std::string& sums = name(conv.sums);
  if (conv.sums != conv.last) return sums;
  BYOC_TRY_STATUS(schedule_.cache_write(sums));
  return sums + ".cache";
}

Status Scheduler::inline_others() {
  std::vector<bool> is_own(dag_.stages.size(), false);
  is_own[chain_.result] = true;
  for (const Conv* conv : {chain_.before ? &*chain_.before : nullptr, &chain_.depthwise,
                           chain_.after ? &*chain_.after : nullptr}) {
    if (conv != nullptr) is_own[conv->sums] = is_own[conv->last] = true;
  }
  return topi::inline_where(schedule_, dag_, [&](size_t s) { return !is_own[s]; });
}

// Writes out the stage with which a convolution ends, for the cells of a tile. Functions, such as
// exp, would need more registers than there are: they stay a loop.
Status Scheduler::order_end(const Conv& conv, const Loops& cells) {
  bool has_function = false;
  for (size_t s = conv.sums + 1; s <= conv.last; ++s) {
    const te::Compute* compute = compute_of(dag_.stages[s]);
    has_function |= compute != nullptr && topi::work_of(*compute) >= kFunctionWork;
  }
  for (const std::string& loop : cells) {
    if (!has_function) BYOC_TRY_STATUS(schedule_.unroll(name(conv.last), loop));
  }
  return schedule_.vectorize(name(conv.last), "i4");
}

// Orders the loops of a stage in which a pointwise convolution ends: `outer`, tiles of cells, and
// the sums of each right before it.
Status Scheduler::order_tile(const Conv& conv, const Loops& outer, const topi::RegisterTile& tile,
                             const std::string& sums) {
  const std::string& stage = name(conv.last);
  BYOC_TRY_STATUS(schedule_.split(stage, "i3", tile.cells));
  Loops order = outer;
  order.insert(order.end(), {"i1.o", "i3.o", "i3.i", "i1.i", "i4"});
  BYOC_TRY_STATUS(schedule_.reorder(stage, order));
  BYOC_TRY_STATUS(order_end(conv, {"i3.i", "i1.i"}));
  BYOC_TRY_STATUS(schedule_.compute_at(sums, stage, "i3.o"));
  BYOC_TRY_STATUS(schedule_.reorder(sums, {"i0", "i2", "r0", "r1", "r2", "r3", "i3", "i1", "i4"}));
  for (const char* loop : {"i3", "i1"}) BYOC_TRY_STATUS(schedule_.unroll(sums, loop));
  if (conv.extents.inner * tile.cells * tile.vectors <= kMostWritten)
    BYOC_TRY_STATUS(schedule_.unroll(sums, "r3"));
  return schedule_.vectorize(sums, "i4");
}

Status Scheduler::order_after() {
  const Conv& conv = *chain_.after;
  BYOC_TRY(const std::string sums, sums_of(conv));
  BYOC_TRY_STATUS(schedule_.split(host(), "i1", plan_.after.vectors * conv.joined));
  BYOC_TRY_STATUS(schedule_.split(host(), "i2", plan_.rows));
  BYOC_TRY_STATUS(order_tile(conv, {"i0", "i2.o", "i2.i"}, plan_.after, sums));
  BYOC_TRY(const std::string parts, topi::fuse_all(schedule_, host(), {"i0", "i2.o"}));
  return schedule_.parallel(host(), parts);
}

// Orders the depthwise convolution, of a row of the chain's last one or as its end: panels of
// blocks, tiles of cells.
Status Scheduler::order_depthwise() {
  const std::string& stage = name(chain_.depthwise.last);
  BYOC_TRY(const std::string sums, sums_of(chain_.depthwise));
  const int64_t panel = chain_.before ? plan_.before.vectors * chain_.before->joined : 1;
  BYOC_TRY_STATUS(schedule_.split(stage, "i1", panel));
  BYOC_TRY_STATUS(schedule_.split(stage, "i3", plan_.cells));
  Loops order = {"i0"};
  if (chain_.after) {
    order.push_back("i2");
  } else {
    BYOC_TRY_STATUS(schedule_.split(stage, "i2", plan_.rows));
    order.insert(order.end(), {"i2.o", "i2.i"});
  }
  order.insert(order.end(), {"i1.o", "i1.i", "i3.o", "i3.i", "i4"});
  BYOC_TRY_STATUS(schedule_.reorder(stage, order));
  BYOC_TRY_STATUS(order_end(chain_.depthwise, {"i3.i"}));
  BYOC_TRY_STATUS(schedule_.compute_at(sums, stage, "i3.o"));
  BYOC_TRY_STATUS(schedule_.reorder(sums, {"i0", "i1", "i2", "r0", "r3", "r1", "i3", "r2", "i4"}));
  for (const char* loop : {"i3", "r2"}) BYOC_TRY_STATUS(schedule_.unroll(sums, loop));
  BYOC_TRY_STATUS(schedule_.vectorize(sums, "i4"));
  if (chain_.after) return schedule_.compute_at(stage, host(), "i2.i");
  BYOC_TRY(const std::string parts, topi::fuse_all(schedule_, stage, {"i0", "i2.o"}));
  return schedule_.parallel(stage, parts);
}

// Orders the image that the depthwise convolution reads: for a panel the rows that the result's
// row before did not need.
Status Scheduler::order_before() {
  const Conv& conv = *chain_.before;
  const std::string& image = name(conv.last);
  BYOC_TRY(const std::string sums, sums_of(conv));
  BYOC_TRY_STATUS(schedule_.split(image, "i1", plan_.before.vectors * conv.joined));
  BYOC_TRY_STATUS(order_tile(conv, {"i0", "i2"}, plan_.before, sums));
  BYOC_TRY_STATUS(schedule_.compute_at(image, name(chain_.depthwise.last), "i1.o"));
  return schedule_.rolling_buffer(image, host(), "i2.i");
}

Result<Schedule> Scheduler::run() {
  const Conv& named = chain_.after ? *chain_.after : chain_.depthwise;
  BYOC_TRY_STATUS(schedule_.for_compute(name(named.sums), dag_.stages[named.sums].compute));
  BYOC_TRY_STATUS(inline_others());
  if (chain_.after) BYOC_TRY_STATUS(order_after());
  BYOC_TRY_STATUS(order_depthwise());
  if (chain_.before) BYOC_TRY_STATUS(order_before());
  const te::Stage& result = dag_.stages[chain_.result];
  if (result.name != host())
    BYOC_TRY_STATUS(topi::order_moved(schedule_, result, chain_.depthwise.extents.lanes));
  return std::move(schedule_);
}

bool is_pointwise(const topi::ConvExtents& e) { return e.kh * e.kw == 1 && e.c * e.inner > 1; }
bool is_depthwise(const topi::ConvExtents& e) { return e.kh * e.kw > 1 && e.c * e.inner == 1; }

// Returns the stages that are computed from stage `from`.
std::vector<bool> followers(const te::Dag& dag, size_t from) {
  std::vector<bool> out(dag.stages.size(), false);
  out[from] = true;
  for (size_t s = from + 1; s < dag.stages.size(); ++s) {
    const te::Compute* compute = compute_of(dag.stages[s]);
    if (compute == nullptr) continue;
    out[s] = std::ranges::any_of(topi::loads_of(*compute), [&](const te::Load* load) {
      return out[te::stage_of(dag, load->tensor)];
    });
  }
  return out;
}

// Returns the stage from which `next`, the sums of another convolution, is computed, of those that
// follow. Its padding belongs to `next`.
size_t image_before(const te::Dag& dag, size_t next, const std::vector<bool>& follows) {
  size_t at = next;
  for (;;) {
    size_t from = at;
    for (const te::Load* load : topi::loads_of(*compute_of(dag.stages[at]))) {
      const size_t s = te::stage_of(dag, load->tensor);
      if (follows[s]) from = s;
    }
    if (from == at || dag.stages[from].call != dag.stages[next].call) return from;
    at = from;
  }
}

// Returns the convolution with these sums that ends with stage `last`; nullopt when that has not
// the shape of the sums, or of their blocks.
std::optional<Conv> conv_to(const te::Dag& dag, size_t sums, size_t last) {
  const std::optional<topi::ConvExtents> e = topi::conv_extents(dag.stages[sums]);
  if (!e || dag.stages[last].outputs[0].rank() != 5) return std::nullopt;
  const te::Stage& y = dag.stages[last];
  const int64_t lanes = extent_at(y, 4), blocks = extent_at(y, 1);
  if (lanes < 1 || e->lanes % lanes != 0) return std::nullopt;
  const int64_t joined = e->lanes / lanes;
  const bool fits = extent_at(y, 0) == e->n && (blocks + joined - 1) / joined == e->blocks &&
                    extent_at(y, 2) == e->h && extent_at(y, 3) == e->w;
  return fits ? std::optional(Conv{sums, last, joined, *e}) : std::nullopt;
}

// Returns the last stage of a stage's call.
size_t end_of_call(const te::Dag& dag, size_t stage) {
  size_t out = stage;
  for (size_t s = stage; s < dag.stages.size(); ++s) {
    if (compute_of(dag.stages[s]) != nullptr && dag.stages[s].call == dag.stages[stage].call)
      out = s;
  }
  return out;
}

// Finds out how the depthwise convolution moves along the rows of its image.
bool find_rows(const te::Dag& dag, Chain& chain) {
  const te::Compute& compute = *compute_of(dag.stages[chain.depthwise.sums]);
  for (const te::Load* load : topi::loads_of(compute)) {
    if (load->indices.size() != 5) continue;  // the weight
    auto stride = topi::coefficient_of(load->indices[2], compute.axes[2].var);
    auto dilation = topi::coefficient_of(load->indices[2], compute.reduce[1].var);
    if (!stride || !dilation) return false;
    chain.stride = *stride;
    chain.window = (chain.depthwise.extents.kh - 1) * *dilation + 1;
    return true;
  }
  return false;
}

// Returns the multiply-adds of a row.
int64_t work_of_row(const Conv& conv) {
  const topi::ConvExtents& e = conv.extents;
  return e.blocks * e.w * e.lanes * e.c * e.kh * e.kw * e.inner;
}

}  // namespace

int64_t row_parts_of(const Chain& chain, int64_t threads, int64_t least) {
  const topi::ConvExtents& e = chain.depthwise.extents;
  const int64_t own = work_of_row(chain.depthwise) + (chain.after ? work_of_row(*chain.after) : 0);
  const int64_t before = chain.before ? work_of_row(*chain.before) : 0;
  int64_t best = e.h, fewest = INT64_MAX;
  for (int64_t parts = 1; parts <= e.h; ++parts) {
    if (e.h % parts != 0 || (parts < least && parts < e.h)) continue;
    const int64_t rows = e.h / parts, of_busiest = (e.n * parts + threads - 1) / threads;
    const int64_t image_rows = (rows - 1) * chain.stride + chain.window;
    const int64_t work = of_busiest * (rows * own + image_rows * before);
    if (work < fewest) best = parts, fewest = work;
  }
  return best;
}

std::optional<Chain> find_chain(const te::Dag& dag) {
  if (dag.outputs.size() != 1) return std::nullopt;
  std::vector<size_t> sums;
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    const te::Compute* compute = compute_of(dag.stages[s]);
    auto* procedure = std::get_if<te::Procedure>(&dag.stages[s].kind);
    if (procedure != nullptr && !topi::reads_inputs_alone(dag, *procedure)) return std::nullopt;
    if (compute == nullptr || compute->reduce.empty()) continue;
    if (dag.stages[s].compute != kCompute) return std::nullopt;
    sums.push_back(s);
  }
  if (sums.size() != 2 && sums.size() != 3) return std::nullopt;
  std::vector<Conv> convs;
  for (size_t k = 0; k < sums.size(); ++k) {
    const bool is_last = k + 1 == sums.size();
    const size_t last = is_last ? te::stage_of(dag, dag.outputs[0])
                                : image_before(dag, sums[k + 1], followers(dag, sums[k]));
    std::optional<Conv> conv = conv_to(dag, sums[k], last);
    if (!conv && is_last) conv = conv_to(dag, sums[k], end_of_call(dag, sums[k]));
    if (!conv) return std::nullopt;
    convs.push_back(*conv);
  }
  Chain out;
  out.result = te::stage_of(dag, dag.outputs[0]);
  auto middle = std::ranges::find_if(convs, [](const Conv& c) { return is_depthwise(c.extents); });
  if (middle == convs.end()) return std::nullopt;
  out.depthwise = *middle;
  if (!find_rows(dag, out)) return std::nullopt;
  if (middle != convs.begin()) out.before = convs.front();
  if (middle + 1 != convs.end()) out.after = convs.back();
  const bool fits = middle - convs.begin() <= 1 && convs.end() - middle <= 2 &&
                    (!out.before || is_pointwise(out.before->extents)) &&
                    (!out.after || is_pointwise(out.after->extents)) && out.depthwise.joined == 1;
  return fits ? std::optional(out) : std::nullopt;
}

Result<te::Schedule> schedule_rows(const te::Dag& dag, const Chain& chain, const Plan& plan) {
  return Scheduler(dag, chain, plan).run();
}

}  // namespace byoc::llvm_plugin::chain
