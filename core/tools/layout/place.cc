// SPDX-License-Identifier: Apache-2.0
#include "core/tools/layout/place.h"

#include <algorithm>

namespace byoc::layout {
namespace {

constexpr int kPlaceSweeps = 10;
constexpr double kBendWeight = 1e-6;  // boxes are centred, and long edges give way

class Placer {
 public:
  Placer(const Layers& layers, std::span<const Edge> edges, std::span<const Size> sizes)
      : layers_(layers), edges_(edges), sizes_(sizes) {}

  Placed run() {
    out_.x.assign(layers_.row.size(), 0);
    for (const auto& row : layers_.rows) settle(row, [](uint32_t) { return 0.0; });
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      sweep % 2 == 0 ? sweep_down() : sweep_up();
      if (sweep >= kPlaceSweeps - 2) keep_if_narrow();
    }
    out_.x = std::move(narrow_);
    place_rows();
    place_edges(shift_right());
    return std::move(out_);
  }

 private:
  double half(uint32_t cell) const { return cell < layers_.nodes ? sizes_[cell].width / 2 : 0; }
  double gap(uint32_t a, uint32_t b) const {
    bool boxes = a < layers_.nodes && b < layers_.nodes;
    return half(a) + half(b) + (boxes ? kBoxGap : kLineGap);
  }
  double weight(uint32_t cell) const { return cell < layers_.nodes ? 1 : kBendWeight; }

  // Returns the x of the only neighbour that is a node, or for a bend the mean of the bends, so
  // that chains and long edges are straight. Without any: the mean of all, or its own x.
  double mean(uint32_t cell, const std::vector<std::vector<uint32_t>>& neighbours) const {
    double same = 0, all = 0;
    size_t n_same = 0;
    const bool is_node = cell < layers_.nodes;
    for (uint32_t other : neighbours[cell]) {
      all += out_.x[other];
      if ((other < layers_.nodes) == is_node) same += out_.x[other], ++n_same;
    }
    if (is_node ? n_same == 1 : n_same > 0) return same / static_cast<double>(n_same);
    size_t n = neighbours[cell].size();
    return n > 0 ? all / static_cast<double>(n) : out_.x[cell];
  }
  void sweep_down() {
    for (const auto& row : layers_.rows)
      settle(row, [&](uint32_t cell) { return mean(cell, layers_.above); });
  }
  void sweep_up() {
    for (size_t r = layers_.rows.size(); r-- > 0;)
      settle(layers_.rows[r], [&](uint32_t cell) { return mean(cell, layers_.below); });
  }

  // Some graphs lean to a side in one direction of the sweeps; the last two are compared.
  void keep_if_narrow() {
    double width = 0;
    if (!out_.x.empty()) {
      auto [left, right] = std::minmax_element(out_.x.begin(), out_.x.end());
      width = *right - *left;
    }
    if (!narrow_.empty() && narrow_width_ <= width) return;
    narrow_ = out_.x, narrow_width_ = width;
  }

  template <class Wish>
  void settle(const std::vector<uint32_t>& row, Wish&& wish);
  void place_rows();
  double shift_right();
  void place_edges(double right);

  const Layers& layers_;
  std::span<const Edge> edges_;
  std::span<const Size> sizes_;
  std::vector<double> narrow_;
  double narrow_width_ = 0;
  Placed out_;
};

// Moves the cells of a row as close as possible to where they wish to be, by weighted least
// squares, with their order and gaps kept. Blocks of cells that touch move as one: those that would
// overlap are merged, which is isotonic regression by pooling adjacent violators.
template <class Wish>
void Placer::settle(const std::vector<uint32_t>& row, Wish&& wish) {
  struct Block {
    double sum, weight;
    size_t cells;
    double x() const { return sum / weight; }
  };
  std::vector<Block> blocks;
  std::vector<double> offset(row.size());  // of a cell when all cells touch
  for (size_t k = 0; k < row.size(); ++k) {
    if (k > 0) offset[k] = offset[k - 1] + gap(row[k - 1], row[k]);
    double w = weight(row[k]);
    blocks.push_back({w * (wish(row[k]) - offset[k]), w, 1});
    while (blocks.size() > 1 && blocks.back().x() < blocks[blocks.size() - 2].x()) {
      Block last = blocks.back();
      blocks.pop_back();
      Block& to = blocks.back();
      to = {to.sum + last.sum, to.weight + last.weight, to.cells + last.cells};
    }
  }
  size_t k = 0;
  for (const Block& block : blocks)
    for (size_t n = 0; n < block.cells; ++n, ++k) out_.x[row[k]] = block.x() + offset[k];
}

void Placer::place_rows() {
  double y = 0;
  for (const auto& row : layers_.rows) {
    double height = 0;
    for (uint32_t cell : row)
      if (cell < layers_.nodes) height = std::max(height, sizes_[cell].height);
    out_.row_top.push_back(y);
    out_.row_height.push_back(height);
    y += height + kRowGap;
  }
  out_.size.height = std::max(0.0, y - kRowGap);
}

// Makes the smallest x of any box or bend 0, and returns the largest one.
double Placer::shift_right() {
  double left = 0, right = 0;
  for (uint32_t cell = 0; cell < out_.x.size(); ++cell) {
    left = cell == 0 ? out_.x[0] - half(0) : std::min(left, out_.x[cell] - half(cell));
    right = cell == 0 ? out_.x[0] + half(0) : std::max(right, out_.x[cell] + half(cell));
  }
  for (double& x : out_.x) x -= left;
  return right - left;
}

void Placer::place_edges(double right) {
  out_.size.width = right + layers_.lanes * kLineGap;
  out_.verticals.resize(edges_.size());
  for (size_t k = 0; k < edges_.size(); ++k) {
    const Route& route = layers_.routes[k];
    for (uint32_t bend : route.bends)
      out_.verticals[k].push_back({layers_.row[bend], layers_.row[bend], out_.x[bend]});
    if (route.lane == kNoLane) continue;
    uint32_t first = layers_.row[edges_[k].from] + 1, last = layers_.row[edges_[k].to] - 1;
    out_.verticals[k].push_back({first, last, right + (route.lane + 1) * kLineGap});
  }
}

}  // namespace

Placed place(const Layers& layers, std::span<const Edge> edges, std::span<const Size> sizes) {
  return Placer(layers, edges, sizes).run();
}

}  // namespace byoc::layout
