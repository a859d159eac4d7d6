// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "primitives/builder.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

/// The places of one dim's cells in the operand, by the op's attributes.
struct Axis {
  int64_t in, out;
  double scale;
  std::string coordinates;

  double position(int64_t cell) const {
    double at = static_cast<double>(cell), width = scale * static_cast<double>(in);
    if (coordinates == "asymmetric") return at / scale;
    if (coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / scale;
    if (coordinates == "align_corners")
      return width <= 1 ? 0 : at * static_cast<double>(in - 1) / (width - 1);
    if (coordinates == "pytorch_half_pixel" && width <= 1) return -0.5;
    if (coordinates == "half_pixel" || coordinates == "pytorch_half_pixel")
      return (at + 0.5) / scale - 0.5;
    throw Refusal{"oneDNN has no coordinates \"" + coordinates + "\""};
  }
  /// Returns oneDNN's position: half pixels, and the ratio of the extents.
  float onednn_position(int64_t cell) const {
    return (static_cast<float>(cell) + 0.5f) * static_cast<float>(in) / static_cast<float>(out) -
           0.5f;
  }
};

int64_t nearest(double position, const std::string& rounding, int64_t extent) {
  double below = std::floor(position), part = position - below;
  bool up = part > 0.5;
  if (rounding == "round_prefer_ceil") up = part >= 0.5;
  if (rounding == "floor") up = false;
  if (rounding == "ceil") up = part > 0;
  return std::clamp<int64_t>(static_cast<int64_t>(below) + up, 0, extent - 1);
}

// Compares positions cell by cell and refuses any difference, whatever the attributes are called.
void check_same_cells(const Axis& axis, const std::string& mode, const std::string& rounding) {
  for (int64_t cell = 0; cell < axis.out; ++cell) {
    double want = axis.position(cell), have = axis.onednn_position(cell);
    double last = static_cast<double>(axis.in - 1);
    bool same = mode == "nearest"
                    ? nearest(want, rounding, axis.in) ==
                          std::clamp<int64_t>(std::lround(have), 0, axis.in - 1)
                    : std::abs(std::clamp(want, 0.0, last) - std::clamp(have, 0.0, last)) <=
                          1e-6 * (last + 1);
    if (same) continue;
    throw Refusal{"coordinates \"" + axis.coordinates + "\"" +
                  (mode == "nearest" ? ", \"" + rounding + "\"" : std::string()) + " from " +
                  std::to_string(axis.in) + " to " + std::to_string(axis.out) +
                  " cells are others than oneDNN's half pixels"};
  }
}

}  // namespace

Built build_resize(const Builder& b) {
  no_posts(b);
  const sdk::Attrs& attrs = b.attrs();
  std::string mode = attrs.s("mode", "nearest");
  if (mode == "cubic") throw Refusal{"mode is cubic; oneDNN has nearest and linear"};
  const Dims &in = b.type(0).dims, &out = b.out_type().dims;
  sdk::Floats scales = attrs.floats("scales");
  std::string coordinates = attrs.s("coordinates", "half_pixel"),
              rounding = attrs.s("nearest", "round_prefer_floor");
  BYOC_ONEDNN_CHECK(out.size() == in.size() && (scales.empty() || scales.size() == in.size()),
                    "resize keeps the rank and has a scale per dim");
  for (size_t d = 0; d < in.size(); ++d) {
    double ratio = static_cast<double>(out[d]) / static_cast<double>(in[d]);
    if (d < 2 && in[d] != out[d]) throw Refusal{"oneDNN resizes no batch and no channels"};
    const double scale = scales.empty() ? ratio : scales[d];
    if (scale < 1 && attrs.b("antialias", false))  // else the kernel is as wide as without it
      throw Refusal{"antialias widens the kernel of a dim that shrinks; oneDNN's has two cells"};
    check_same_cells({in[d], out[d], scale, coordinates}, mode, rounding);
  }
  auto how = mode == "nearest" ? algorithm::resampling_nearest : algorithm::resampling_linear;
  auto pd = describe<dnnl::resampling_forward>(b.engine, user_scratchpad(), kInference, how,
                                               b.format(0), any_desc(out, b.data(0)));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
