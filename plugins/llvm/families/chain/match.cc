// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/chain/match.h"

#include <algorithm>

#include "byoc/op/op.h"
#include "plugins/llvm/families/ways.h"

namespace byoc::llvm_plugin::chain {
namespace {

constexpr int64_t kLeastElements = int64_t{1} << 18;  // of the image
constexpr int64_t kMostTaps = 7;                      // of a window, along each side
constexpr uint32_t kNone = UINT32_MAX;

/// A call of a convolution in blocks of channels. image: of one image; weight: [o / b,
/// c / group / i, kh, kw, i, b].
struct CalledConv {
  Ints image, weight;
  const Attrs* attrs;

  int64_t taps() const { return weight[2] * weight[3]; }
  int64_t image_elements() const { return image[1] * image[2] * image[3] * image[4]; }
  int64_t window_rows() const {
    const Ints dilations = attrs->ints("dilations");
    return (weight[2] - 1) * (dilations.empty() ? 1 : dilations[0]) + 1;
  }
  bool has_all(const char* name, int64_t value) const {
    return std::ranges::all_of(attrs->ints(name), [&](int64_t x) { return x == value; });
  }
  bool is_pointwise() const {
    return taps() == 1 && weight[1] * weight[4] > 1 && attrs->i("group", 1) == 1 &&
           has_all("pads", 0) && has_all("strides", 1);
  }
  bool is_depthwise() const {
    return taps() > 1 && std::max(weight[2], weight[3]) <= kMostTaps &&
           weight[1] * weight[4] == 1 && weight[0] == image[1] && weight[5] == image[4] &&
           attrs->i("group", 1) == image[1] * image[4];
  }
};

class ChainFinder : Ways {
 public:
  ChainFinder(const Function& function, bool anywhere)
      : Ways(function),
        anywhere_(anywhere),
        after_(function.nodes.size(), kNone),
        is_taken_(function.nodes.size(), false) {}
  std::vector<Match> run();

 private:
  std::optional<CalledConv> conv(uint32_t node) const;
  bool is_large_depthwise(uint32_t node) const;
  Way way_to(uint32_t node, bool (ChainFinder::*is_end)(uint32_t) const) const;
  bool is_pointwise(uint32_t node) const { return conv(node) && conv(node)->is_pointwise(); }
  std::optional<Match> chain_of(uint32_t depthwise) const;

  const bool anywhere_;
  std::vector<uint32_t> after_;  // per depthwise convolution: the one that reads it
  std::vector<bool> is_taken_;   // per node: it is in a chain
};

std::optional<CalledConv> ChainFinder::conv(uint32_t node) const {
  if (!is_op(node, "conv2d_nchwc")) return std::nullopt;
  Shape image = function().type(operands(node)[0])->shape;
  const Shape& weight = function().type(operands(node)[1])->shape;
  if (image.size() != 5 || weight.size() != 6 || !is_static(weight)) return std::nullopt;
  image[0] = Dim(1);  // a run may give the number of images
  if (!is_static(image)) return std::nullopt;
  return CalledConv{static_extents(image), static_extents(weight), call(node)->attrs};
}

bool ChainFinder::is_large_depthwise(uint32_t node) const {
  const std::optional<CalledConv> own = conv(node);
  return own && own->is_depthwise() && (anywhere_ || own->image_elements() >= kLeastElements);
}

// Returns the nodes from the image that a convolution reads back to the first of these; empty when
// there is none.
ChainFinder::Way ChainFinder::way_to(uint32_t node,
                                     bool (ChainFinder::*is_end)(uint32_t) const) const {
  auto ends = [&](uint32_t at) { return (this->*is_end)(at); };
  return way_back(operands(node)[0], ends, true).value_or(Way());
}

// Returns the chain of a depthwise convolution, without what other chains have taken.
std::optional<Match> ChainFinder::chain_of(uint32_t depthwise) const {
  auto is_taken = [&](uint32_t node) { return is_taken_[node]; };
  const uint32_t after = after_[depthwise];
  Way before = way_to(depthwise, &ChainFinder::is_pointwise), between;
  if (after != kNone) between = way_to(after, &ChainFinder::is_large_depthwise);
  const CalledConv own = *conv(depthwise);
  const bool is_tall =
      !anywhere_ && 2 * own.window_rows() > own.image[2];  // each row needs most of the image
  if (is_tall || std::ranges::any_of(before, is_taken)) before.clear();
  if (before.empty() && between.empty()) return std::nullopt;
  Match out{{depthwise}, {{depthwise, "depthwise"}}};
  if (!before.empty()) out.roles[before.back()] = "before";
  if (!between.empty()) {
    out.nodes.push_back(after);
    out.roles[after] = "after";
  }
  for (uint32_t node : before) out.nodes.push_back(node);
  for (uint32_t node : between) {
    if (node != depthwise) out.nodes.push_back(node);
  }
  std::ranges::sort(out.nodes);
  return out;
}

// A convolution of one pixel each may end one chain and begin another: the first one has it.
std::vector<Match> ChainFinder::run() {
  std::vector<uint32_t> depthwise;
  for (uint32_t node = 0; node < function().nodes.size(); ++node) {
    if (is_large_depthwise(node)) depthwise.push_back(node);
    if (!is_pointwise(node)) continue;
    const Way from = way_to(node, &ChainFinder::is_large_depthwise);
    if (!from.empty()) after_[from.back()] = node;
  }
  std::vector<Match> out;
  for (uint32_t node : depthwise) {
    std::optional<Match> found = chain_of(node);
    if (!found) continue;
    for (uint32_t at : found->nodes) is_taken_[at] = true;
    out.push_back(*std::move(found));
  }
  return out;
}

}  // namespace

std::vector<Match> find(const Function& function, bool anywhere) {
  return ChainFinder(function, anywhere).run();
}

}  // namespace byoc::llvm_plugin::chain
