// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "primitives/loops.h"

namespace byoc::onednn {

using dnnl::algorithm;
using Flags = dnnl::normalization_flags;

// Builds batch_norm from means and variances that are the op's operands.
Built build_batch_norm(const Builder& b) {
  no_posts(b);
  BYOC_ONEDNN_CHECK(b.type(0).rank() >= 2, "batch_norm reads [n, c, spatial...]");
  Dims channels = {b.type(0).dims[1]};
  auto pd = describe<dnnl::batch_normalization_forward>(
      b.engine, user_scratchpad(), kInference, b.format(0), result(b.format(0)),
      static_cast<float>(b.attrs().f("epsilon", 1e-5)),
      Flags::use_global_stats | Flags::use_scale | Flags::use_shift);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc()), b.vector(DNNL_ARG_SCALE, 1, channels),
                  b.vector(DNNL_ARG_SHIFT, 2, channels), b.vector(DNNL_ARG_MEAN, 3, channels),
                  b.vector(DNNL_ARG_VARIANCE, 4, channels)};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

// Builds layer_norm. oneDNN normalises the last dim: the dims from `axis` on are merged into one,
// and those before into another.
Built build_layer_norm(const Builder& b) {
  no_posts(b);
  if (b.attrs().b("stats", false)) throw Refusal{"mean and inv_std as results are not wired up"};
  const Dims& dims = b.type(0).dims;
  auto middle = dims.begin() + static_cast<ptrdiff_t>(axis_of(b, "axis", -1));
  Dims seen = {std::accumulate(dims.begin(), middle, int64_t{1}, std::multiplies<>()),
               std::accumulate(middle, dims.end(), int64_t{1}, std::multiplies<>())};
  Flags flags = Flags::none;
  if (b.unit.args.size() > 1) flags |= Flags::use_scale;
  if (b.unit.args.size() > 2) flags |= Flags::use_shift;
  auto pd = describe<dnnl::layer_normalization_forward>(
      b.engine, user_scratchpad(), kInference, plain_desc(seen, b.data(0)),
      result(plain_desc(seen, b.data(0))), static_cast<float>(b.attrs().f("epsilon", 1e-5)), flags);
  Built built;
  built.inputs = {b.vector(DNNL_ARG_SRC, 0, seen)};
  if (b.unit.args.size() > 1) built.inputs.push_back(b.vector(DNNL_ARG_SCALE, 1, {seen[1]}));
  if (b.unit.args.size() > 2) built.inputs.push_back(b.vector(DNNL_ARG_SHIFT, 2, {seen[1]}));
  built.out = plain_desc(b.type(0));
  built.out_view = pd.dst_desc();
  return finish(pd, std::move(built));
}

Built build_lrn(const Builder& b) {
  no_posts(b);
  int64_t size = b.attrs().i("size");
  if (size % 2 == 0)
    throw Refusal{"an even size has no middle channel; oneDNN requires an odd one"};
  auto pd = describe<dnnl::lrn_forward>(
      b.engine, user_scratchpad(), kInference, algorithm::lrn_across_channels, b.format(0),
      result(b.format(0)), size, static_cast<float>(b.attrs().f("alpha", 1e-4)),
      static_cast<float>(b.attrs().f("beta", 0.75)), static_cast<float>(b.attrs().f("bias", 1.0)));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

namespace {

Built softmax_then(const Builder& b, Loop (*loop)(const Dims& dims, size_t axis)) {
  no_posts(b);
  size_t axis = axis_of(b, "axis", -1);
  if (b.out_type().dtype != sdk::DType::kF32) throw Refusal{"only f32 is wired up"};
  Desc plain = plain_desc(b.type(0));  // for the loop after it
  auto pd =
      describe<SoftmaxForward>(b.engine, user_scratchpad(), kInference, algorithm::softmax_accurate,
                               plain, plain, static_cast<int>(axis));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  built.loop = loop(b.type(0).dims, axis);
  return finish(pd, std::move(built));
}

}  // namespace

Built build_softmax(const Builder& b) { return softmax_then(b, softmax_again); }

// Builds log_softmax after softmax: oneDNN's own has a logarithm that is 1.4e-6 off near 1, and
// drops NaN.
Built build_log_softmax(const Builder& b) { return softmax_then(b, log_after_softmax); }

}  // namespace byoc::onednn
