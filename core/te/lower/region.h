// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the parts of tensors that loops read, as boxes that may move with the enclosing loops.
#include "byoc/te/tensor.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {

/// The indices from `lo` to `lo + width`; `lo` names variables of enclosing loops alone.
struct Reach {
  Expr lo;
  int64_t width = 0;
  Expr count = {};  // the number of indices where a run gives it, at most `width` + 1; or empty
};
/// The reach per dimension; nullopt is the whole dimension.
using Reaches = std::vector<std::optional<Reach>>;

/// One dimension of the part of a stage that is computed at a place.
struct Range {
  Expr begin, extent;
};

/// Collects the reads of statements. All loops must have variables of their own.
class RegionFinder {
 public:
  explicit RegionFinder(Simplifier& simplifier) : simplify_(simplifier) {}
  /// Counts later reads of `tensor` as reads of `stage`.
  void watch(const Tensor& tensor, size_t stage) { watched_[tensor.id()] = stage; }
  void scan(const Stmt& stmt);
  /// Returns boxes within `shape` that contain all reads, of constant extent where the shape is
  /// constant; nullopt without reads.
  std::optional<std::vector<Range>> region(size_t stage, const Exprs& shape);

 private:
  void scan(const Expr& x);
  void loop(const For& loop);
  void add(size_t stage, const Exprs& indices);
  std::optional<Reach> join(const std::optional<Reach>& a, const std::optional<Reach>& b);
  Range within(const std::optional<Reach>& reach, const Expr& extent);
  Range within_open(const Reach& reach, const Expr& extent);
  std::optional<Expr> rest_of(const Expr& extent, const Expr& lo);
  std::optional<Reach> reach(const Expr& x);
  std::optional<Reach> reach_of(const Expr& x);
  bool moves_inside(const Expr& x) const;
  std::optional<Reach> reach_of_binary(const Expr& x, const Binary& v);
  std::optional<Reach> reach_of_division(const Reach& a, int64_t divisor, bool is_modulo);
  std::optional<Reach> by_bounds(const Expr& x);

  Simplifier& simplify_;
  std::unordered_map<const void*, size_t> watched_;              // by tensor
  std::unordered_map<size_t, Reaches> reaches_;                  // by stage
  std::unordered_map<const void*, std::optional<Reach>> inner_;  // variables of loops inside
  std::unordered_map<const void*, std::pair<Expr, std::optional<Reach>>> known_;
  std::unordered_set<const void*> scanned_;
  Exprs kept_;  // so that addresses in scanned_ are not used again
};

}  // namespace byoc::te
