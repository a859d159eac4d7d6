// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "exact/interpolate.h"
#include "library/implementations.h"
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

using Axes = std::vector<Axis>;

LinearAxis taps_of(const Axis& axis) {
  if (axis.in == axis.out && axis.scale == 1) return kept_axis(axis.in);
  std::vector<double> positions;
  for (int64_t cell = 0; cell < axis.out; ++cell) positions.push_back(axis.position(cell));
  return linear_axis(axis.in, positions);
}

// Interpolates images in the layout that they have, or plain ones.
Built interpolate(const Builder& b, const Axes& axes) {
  const Dims &in = b.type(0).dims, &out = b.out_type().dims;
  Interpolation images{in[0], 1, {}};
  for (size_t d = 2; d < axes.size(); ++d) images.axes.push_back(taps_of(axes[d]));
  Built built;
  if (std::optional<Blocks> blocks = find_blocks(b, 0)) {
    images.planes *= in[1] / blocks->size;
    images.lanes = blocks->size;
    built.inputs = {b.as_it_is(0, 0, blocks->desc)};
    built.out = blocks->with_dims(out);
  } else if (has_channels_last(b, 0)) {
    images.lanes = in[1];
    built.inputs = {b.as_it_is(0, 0, b.format(0))};
    built.out = channels_last(out);
  } else {
    images.planes *= in[1];
    built.inputs = {b.vector(0, 0, in)};
    built.out = plain_desc(b.out_type());
  }
  built.loop = interpolation_loop(images);
  built.implementation = kOwnLoop;
  return built;
}

// Returns whether the plugin's loop interpolates: f32 images, whose rows have indices of 32 bits.
bool is_interpolated_by_loop(const Builder& b, const std::string& mode) {
  const Dims& in = b.type(0).dims;
  return mode == "linear" && in.size() > 2 && b.data(0) == kF32 &&
         *std::max_element(in.begin(), in.end()) <= std::numeric_limits<int32_t>::max();
}

}  // namespace

namespace {

// Returns the places of the cells. Throws Refusal where some are others than oneDNN's.
Axes checked_axes(const sdk::Attrs& attrs, const Dims& in, const Dims& out) {
  const std::string mode = attrs.s("mode", "nearest");
  if (mode == "cubic") throw Refusal{"mode is cubic; oneDNN has nearest and linear"};
  sdk::Floats scales = attrs.floats("scales");
  std::string coordinates = attrs.s("coordinates", "half_pixel"),
              rounding = attrs.s("nearest", "round_prefer_floor");
  BYOC_ONEDNN_CHECK(out.size() == in.size() && (scales.empty() || scales.size() == in.size()),
                    "resize keeps the rank and has a scale per dim");
  Axes axes;
  for (size_t d = 0; d < in.size(); ++d) {
    double ratio = static_cast<double>(out[d]) / static_cast<double>(in[d]);
    if (d < 2 && in[d] != out[d]) throw Refusal{"oneDNN resizes no batch and no channels"};
    const double scale = scales.empty() ? ratio : scales[d];
    if (scale < 1 && attrs.b("antialias", false))  // else the kernel is as wide as without it
      throw Refusal{"antialias widens the kernel of a dim that shrinks; oneDNN's has two cells"};
    axes.push_back({in[d], out[d], scale, coordinates});
    check_same_cells(axes.back(), mode, rounding);
  }
  return axes;
}

}  // namespace

void check_resize(const Region& region, const Unit& unit) {
  if (unit.node->op == "resize")
    checked_axes(unit.node->attrs, region.type(unit.args.at(0)).dims, region.type(unit.out).dims);
}

Built build_resize(const Builder& b) {
  no_posts(b);
  const std::string mode = b.attrs().s("mode", "nearest");
  const Dims& out = b.out_type().dims;
  const Axes axes = checked_axes(b.attrs(), b.type(0).dims, out);
  if (is_interpolated_by_loop(b, mode)) return interpolate(b, axes);
  auto how = mode == "nearest" ? algorithm::resampling_nearest : algorithm::resampling_linear;
  auto pd = describe<dnnl::resampling_forward>(b.engine, user_scratchpad(), kInference, how,
                                               b.format(0), any_desc(out, b.data(0)));
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace byoc::onednn
