// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>

#include "exact/extrema.h"
#include "primitives/loops.h"

namespace byoc::onednn {
namespace {

using dnnl::algorithm;

struct ReduceRow {
  const char* op;
  algorithm how;
  float p;  // the norms' parameter
};
constexpr ReduceRow kReductions[] = {
    {"mean", algorithm::reduction_mean, 0},
    {"sum", algorithm::reduction_sum, 0},
    {"max", algorithm::reduction_max, 0},
    {"min", algorithm::reduction_min, 0},
    {"prod", algorithm::reduction_mul, 0},
    {"l1", algorithm::reduction_norm_lp_sum, 1},
    {"l2", algorithm::reduction_norm_lp_sum, 2},
    {"sum_square", algorithm::reduction_norm_lp_power_p_sum, 2},
};

Dims reduced(const Builder& b) {
  Dims dims = b.type(0).dims, axes = b.attrs().ints("axes");
  if (axes.empty()) return Dims(dims.size(), 1);
  for (int64_t axis : axes) {
    auto from_front =
        static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
    BYOC_ONEDNN_CHECK(from_front < dims.size(), "a reduction has axes of its operand");
    dims[from_front] = 1;
  }
  return dims;
}

}  // namespace

namespace {

// Computes maxima or minima again, all of them, where the operand has NaN or infinities: oneDNN
// drops NaN and takes -infinity for the lowest finite number.
Loop extremes_again(bool is_max, const Dims& from, const Dims& to) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Broadcast cells(from, {to});
  int64_t count = 1, results = 1;
  for (int64_t extent : from) count *= extent;
  for (int64_t extent : to) results *= extent;
  return [=](const void* const* in, void* out) {
    auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(out);
    if (!has_special(x, count)) return;
    std::fill_n(y, results, is_max ? -kInfinity : kInfinity);
    cells.walk([&](int64_t k, const int64_t* at) { y[at[0]] = extreme(is_max, y[at[0]], x[k]); });
  };
}

}  // namespace

// Builds a reduction. oneDNN's result keeps the reduced axes with extent 1, whatever `keepdims` is.
Built build_reduction(const Builder& b) {
  no_posts(b);
  if (b.attrs().ints("axes").empty() && b.attrs().b("noop_with_empty_axes", false))
    throw Refusal{"without axes there is nothing to reduce"};
  const ReduceRow* row =
      std::find_if(std::begin(kReductions), std::end(kReductions),
                   [&](const ReduceRow& known) { return b.unit.node->op == known.op; });
  BYOC_ONEDNN_CHECK(row != std::end(kReductions), b.unit.node->op + " has a row");
  Dims dims = reduced(b);
  if (dims == b.type(0).dims) {  // each sum is of one element
    if (row->p == 0) return build_view(b);
    throw Refusal{"nothing is reduced: all extents along the axes are 1"};
  }
  bool is_extreme = b.unit.node->op == "max" || b.unit.node->op == "min";
  Desc source = is_extreme ? plain_desc(b.type(0)) : b.format(0);  // for the loop after it
  auto pd = describe<dnnl::reduction>(b.engine, user_scratchpad(), row->how, source,
                                      plain_desc(dims, b.data(0)), row->p, 0.0f);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = plain_desc(b.out_type());
  built.out_view = pd.dst_desc();
  if (is_extreme && b.out_type().dtype == sdk::DType::kF32)
    built.loop = extremes_again(b.unit.node->op == "max", b.type(0).dims, dims);
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
