// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces loads of inlined stages by their values.
#include "byoc/te/rewrite.h"
#include "plugins/cuda/loops/group.h"

namespace byoc::cuda {

/// Equal loads become one node, so that values that are read twice stay one value. One thread.
class Inliner {
 public:
  /// Inlines `tensor` from now on; `value` has no loads of tensors that are inlined already.
  void add(const te::Tensor& tensor, std::vector<te::Axis> axes, te::Expr value);
  /// Lets indices be simplified by the extents of these axes.
  void add_axes(const std::vector<te::Axis>& axes, const Extents& extents) {
    add_ranges(axes, extents, ranges_);
  }
  te::Expr operator()(const te::Expr& x);

 private:
  struct Inlined {
    std::vector<te::Axis> axes;
    te::Expr value;
    std::vector<std::pair<te::Exprs, te::Expr>> at;  // values at indices, as made before
  };
  te::Expr read(Inlined& stage, te::Exprs indices);

  std::unordered_map<const void*, Inlined> inlined_;  // by tensor
  std::unordered_map<const te::ExprNode*, std::pair<te::Expr, te::Expr>> done_;
  te::Ranges ranges_;
};

/// The size of an expression; nodes that are shared count once.
struct Work {
  int64_t nodes = 0;
  int64_t operations = 0;  // an addition is 1, a division or a function more
  std::vector<std::shared_ptr<const te::Load>> loads;
};
Work work_of(const te::Expr& x);

}  // namespace byoc::cuda
