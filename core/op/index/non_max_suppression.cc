// SPDX-License-Identifier: Apache-2.0
// Selects boxes by their scores and drops those that overlap a selected one.
// Source: ONNX opset 11, NonMaxSuppression.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/index/order.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

constexpr const char* kOp = "non_max_suppression";

Status expect_number(Types in, size_t k, const char* name, DType dtype) {
  BYOC_TRY_STATUS(expect_dtype(kOp, name, in[k], {dtype}));
  if (in[k]->shape.empty() || in[k]->shape == Shape{1}) return {};
  return invalid(cat(kOp, ": ", name, " must have one element (", name, " ", in[k], ")"))
      .with_slug("op-shape");
}

Result<std::vector<TensorType>> infer_nms(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(kOp, "boxes", in[0], {DType::kF32}));
  BYOC_TRY_STATUS(expect_dtype(kOp, "scores", in[1], {DType::kF32}));
  BYOC_TRY_STATUS(expect_rank(kOp, "boxes", in[0], 3));
  BYOC_TRY_STATUS(expect_rank(kOp, "scores", in[1], 3));
  const Shape &boxes = in[0]->shape, &scores = in[1]->shape;
  if (boxes[0] != scores[0] || boxes[1] != scores[2] || boxes[2] != Dim(4)) {
    return invalid(cat(kOp, ": expects boxes [b, n, 4] and scores [b, c, n] (boxes ", in[0],
                       ", scores ", in[1], ")"))
        .with_slug("op-shape");
  }
  BYOC_TRY_STATUS(expect_number(in, 2, "max_output", DType::kI64));
  BYOC_TRY_STATUS(expect_number(in, 3, "iou_threshold", DType::kF32));
  if (in.size() > 4) BYOC_TRY_STATUS(expect_number(in, 4, "score_threshold", DType::kF32));
  const int64_t limit = attrs.i("most_per_class", Dim::kUnbounded);
  if (limit < 0) return invalid(cat(kOp, ": most_per_class is ", limit, ", expected at least 0"));
  BYOC_TRY(int64_t b, most_of(kOp, boxes[0], in[0]));
  BYOC_TRY(int64_t c, most_of(kOp, scores[1], in[1]));
  BYOC_TRY(int64_t n, most_of(kOp, boxes[1], in[0]));
  BYOC_TRY(int64_t most, num_elements({Dim(b), Dim(c), Dim(std::min(n, limit))}));
  BYOC_TRY(Dim selected, counted_dim(kOp, attrs, most));
  return one_result({DType::kI64, {selected, Dim(3)}});
}

struct Corners {
  float x0, y0, x1, y1;
  float area() const { return (x1 - x0) * (y1 - y0); }
};

Corners corners_of(const float* box, bool is_center) {
  if (is_center) {
    const float w = box[2] / 2, h = box[3] / 2;
    return {box[0] - w, box[1] - h, box[0] + w, box[1] + h};
  }
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]),
          std::max(box[0], box[2])};
}

// Boxes that were selected, in blocks: a later box is compared with all boxes of a block at once.
class KeptBoxes {
 public:
  // Keeps no box without an area, which overlaps none.
  void add(const Corners& box) {
    if (!(box.area() > 0)) return;
    if (lane_ == kLanes) {
      blocks_.emplace_back();
      lane_ = 0;
    }
    blocks_.back().set(lane_++, box);
  }

  // Returns true when the intersection over the union with one of them is above the threshold.
  bool overlap(const Corners& box, float threshold) const {
    const float area = box.area();
    if (!(area > 0)) return false;
    for (const Block& b : blocks_) {
      const Lanes w = (b.x1.min(box.x1) - b.x0.max(box.x0)).max(0);
      const Lanes h = (b.y1.min(box.y1) - b.y0.max(box.y0)).max(0);
      const Lanes common = w * h, all = area + b.area - common, share = common / all;
      int above = 0;  // no branch in a loop of lanes
      for (int k = 0; k < kLanes; ++k) above |= int{all[k] > 0} & int{share[k] > threshold};
      if (above != 0) return true;
    }
    return false;
  }

 private:
  static constexpr int kLanes = 16;
  using Lanes = Eigen::Array<float, kLanes, 1>;
  struct Block {  // lanes that are free have no area
    Lanes x0 = Lanes::Zero(), y0 = x0, x1 = x0, y1 = x0, area = x0;
    void set(int lane, const Corners& box) {
      x0[lane] = box.x0, y0[lane] = box.y0, x1[lane] = box.x1, y1[lane] = box.y1;
      area[lane] = box.area();
    }
  };
  std::vector<Block> blocks_;
  int lane_ = kLanes;
};

// Boxes by descending score, those without a score last, the earlier of equals first. Few of many
// are selected as a rule, so they are sorted in parts, when they are needed.
class ByScore {
 public:
  ByScore(const float* scores, int64_t n, const float* least) {
    for (int64_t k = 0; k < n; ++k)
      if (least == nullptr || scores[k] > *least) items_.push_back({key_of(scores[k]), k});
  }
  // Returns the next box, -1 at the end. `more`: how many boxes may be needed.
  int64_t next(int64_t more) {
    if (next_ == items_.size()) return -1;
    if (next_ == sorted_) sort_more(more);
    return items_[next_++].place;
  }

 private:
  static uint32_t key_of(float score) {
    return score != score ? std::numeric_limits<uint32_t>::max() : ~order_key(score);
  }
  static bool is_before(const Keyed<uint32_t>& a, const Keyed<uint32_t>& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
  void sort_more(int64_t more) {
    constexpr int64_t kLeast = 128;
    const auto rest = static_cast<int64_t>(items_.size() - sorted_);
    const auto begin = items_.begin() + static_cast<ptrdiff_t>(sorted_);
    const auto end = begin + std::clamp(more, std::min(kLeast, rest), rest);
    if (end != items_.end()) std::nth_element(begin, end, items_.end(), is_before);
    std::sort(begin, end, is_before);
    sorted_ = static_cast<size_t>(end - items_.begin());
  }
  std::vector<Keyed<uint32_t>> items_;
  size_t next_ = 0, sorted_ = 0;
};

// The numbers of one call.
struct Selection {
  int64_t b, c, n;
  bool is_center, has_score_threshold;

  // Calls f(box) for the best boxes of one class, the best first.
  template <class F>
  void of_class(const float* boxes, ByScore&& order, int64_t most, float iou, F&& f) const {
    KeptBoxes kept;
    for (int64_t more = most; more > 0;) {
      const int64_t k = order.next(more);
      if (k < 0) return;
      const Corners now = corners_of(boxes + 4 * k, is_center);
      if (kept.overlap(now, iou)) continue;
      kept.add(now);
      f(k);
      --more;
    }
  }

  // Calls f(batch, class, box) for each selected box.
  template <class F>
  void run(const void* const* in, F&& f) const {
    const int64_t most = *in_as<int64_t>(in, 2);
    const float iou = *in_as<float>(in, 3);
    const float* least = has_score_threshold ? in_as<float>(in, 4) : nullptr;
    for (int64_t k = 0; k < b * c; ++k) {
      const float* boxes = in_as<float>(in, 0) + k / c * n * 4;
      const float* scores = in_as<float>(in, 1) + k * n;
      of_class(boxes, ByScore(scores, n, least), most, iou,
               [&](int64_t box) { f(k / c, k % c, box); });
    }
  }
};

Selection selection_of(Types in, const Attrs& attrs) {
  const Shape& scores = in[1]->shape;
  BYOC_CHECK(in.size() >= 4 && scores.size() == 3, kOp, " of ", in.size(), " operands");
  return {scores[0].extent(), scores[1].extent(), scores[2].extent(),
          attrs.b("center_point_box", false), in.size() > 4};
}

Result<std::vector<TensorType>> sizes_nms(Types in, const void* const* data, const Attrs& attrs) {
  const float iou = *in_as<float>(data, 3);
  if (!(iou >= 0 && iou <= 1))
    return Status(Code::kOutOfRange, cat(kOp, ": iou_threshold is ", iou, ", outside of [0, 1]"));
  int64_t selected = 0;
  selection_of(in, attrs).run(data, [&](int64_t, int64_t, int64_t) { ++selected; });
  return one_result({DType::kI64, {Dim(selected), Dim(3)}});
}

Result<RefKernel> reference_nms(Types in, Types, const Attrs& attrs) {
  return RefKernel([selection = selection_of(in, attrs)](const void* const* from, void* const* to) {
    int64_t* y = out_as<int64_t>(to, 0);
    selection.run(from, [&](int64_t batch, int64_t cls, int64_t box) {
      *y++ = batch;
      *y++ = cls;
      *y++ = box;
    });
  });
}

}  // namespace

void add_non_max_suppression_ops(OpRegistry& ops) {
  ops.add({.name = kOp,
           .doc = "The best boxes of each class of each batch, as rows (batch, class, box): by "
                  "descending score, without those that overlap a better one, at most max_output. "
                  "Each run counts them.",
           .inputs = {{"boxes", "f32 [b, n, 4]: two corners (y, x), in any order"},
                      {"scores", "f32 [b, c, n]"},
                      {"max_output", "i64, per class"},
                      {"iou_threshold", "f32 in [0, 1]: a greater intersection over union drops"},
                      {.name = "score_threshold",
                       .doc = "f32: scores must be greater",
                       .optional = true}},
           .outputs = {{"selected", "i64 [?size, 3]"}},
           .attrs = {{"center_point_box", false, "boxes are (x, y, width, height) of the center"},
                     {"most_per_class", int64_t{0}, "a bound of max_output", AttrSpec::kOptional},
                     size_attr()},
           .infer = infer_nms,
           .reference = reference_nms,
           .sizes = sizes_nms});
}

}  // namespace byoc::op
