#include <algorithm>

#include "primitives/builder.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

// The window a pooling op slides; the right padding grows to what ceil_mode reaches into.
struct Window {
  Dims kernel, strides, dilations, begin, end;
  bool grew = false;
};

Window read_window(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  size_t spatial = b.type(0).rank() - 2;
  Dims pads = attrs.ints("pads");
  if (pads.empty()) pads.assign(2 * spatial, 0);
  Window w{attrs.ints("kernel_shape"), attrs.ints("strides"), attrs.ints("dilations"),
           halves(pads, false), halves(pads, true)};
  if (w.strides.empty()) w.strides.assign(spatial, 1);
  if (w.dilations.empty()) w.dilations.assign(spatial, 1);
  for (size_t k = 0; k < spatial; ++k) {
    int64_t in = b.type(0).dims[k + 2], out = b.out_type().dims[k + 2];
    int64_t needed =
        (out - 1) * w.strides[k] + (w.kernel[k] - 1) * w.dilations[k] + 1 - in - w.begin[k];
    if (needed > w.end[k]) {
      w.end[k] = needed;
      w.grew = true;
    }
  }
  return w;
}

Built pool_with(const Builder& b, algorithm how, const Window& w) {
  no_posts(b);
  auto pd = describe<PoolingForward>(b.engine, user_scratchpad(), kInference, how, b.format(0),
                                     any_desc(b.out_type().dims, b.data(0)), w.strides, w.kernel,
                                     minus_one(w.dilations), w.begin, w.end);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace

Built build_max_pool(const Builder& b) {
  return pool_with(b, algorithm::pooling_max, read_window(b));
}

Built build_average_pool(const Builder& b) {
  Window w = read_window(b);
  bool include = b.attrs().b("count_include_pad", false);
  if (include && w.grew)
    throw Refusal{"ceil_mode with count_include_pad counts cells that oneDNN does not"};
  return pool_with(
      b, include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding,
      w);
}

namespace {

Built build_global_pool(const Builder& b, algorithm how) {
  Dims spatial(b.type(0).dims.begin() + 2, b.type(0).dims.end()), zeros(spatial.size(), 0),
      ones(spatial.size(), 1);
  return pool_with(b, how, {spatial, ones, ones, zeros, zeros});
}

}  // namespace

Built build_global_max_pool(const Builder& b) {
  return build_global_pool(b, algorithm::pooling_max);
}

Built build_global_average_pool(const Builder& b) {
  return build_global_pool(b, algorithm::pooling_avg_exclude_padding);
}

}  // namespace byoc::onednn
