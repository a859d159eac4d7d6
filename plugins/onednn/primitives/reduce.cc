#include <algorithm>
#include <iterator>

#include "primitives/builder.h"

namespace byoc::onednn {
namespace {

using dnnl::algorithm;

struct Row {
  const char* op;
  algorithm how;
  float p;  // of the norms
};
constexpr Row kReductions[] = {
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

// oneDNN's result keeps the reduced axes with extent 1, whatever `keepdims` is.
Built build_reduction(const Builder& b) {
  no_posts(b);
  if (b.attrs().ints("axes").empty() && b.attrs().b("noop_with_empty_axes", false))
    throw Refusal{"without axes there is nothing to reduce"};
  const Row* row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                [&](const Row& known) { return b.unit.node->op == known.op; });
  BYOC_ONEDNN_CHECK(row != std::end(kReductions), b.unit.node->op + " has a row");
  Dims dims = reduced(b);
  if (dims == b.type(0).dims) {  // each sum is of one element
    if (row->p == 0) return build_view(b);
    throw Refusal{"nothing is reduced: all extents along the axes are 1"};
  }
  auto pd = describe<dnnl::reduction>(b.engine, user_scratchpad(), row->how, b.format(0),
                                      plain_desc(dims, b.data(0)), row->p, 0.0f);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = plain_desc(b.out_type());
  built.out_view = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
