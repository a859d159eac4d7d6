// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of gathers and scatters: indices of two types, rows of indices, checks.
#include <algorithm>

#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

Status expect_indices(std::string_view op, TypeId indices);
Status index_error(std::string message, TypeId x, TypeId indices);
/// Checks that `indices` has x's rank, and that no dim but `axis` is longer than x's.
Status expect_inside(std::string_view op, size_t axis, TypeId x, TypeId indices);

/// Reads input k of a kernel as indices of either type.
class Indices {
 public:
  Indices(DType dtype, const void* data) : is_wide_(dtype == DType::kI64), data_(data) {}
  int64_t operator[](int64_t k) const {
    return is_wide_ ? static_cast<const int64_t*>(data_)[k] : static_cast<const int32_t*>(data_)[k];
  }

 private:
  bool is_wide_;
  const void* data_;
};

/// Returns the index from 0; a negative one counts from the end.
inline int64_t from_front(int64_t index, int64_t extent) {
  return index < 0 ? index + extent : index;
}

/// The values that an index may have: [low, extent), where low is 0 or -extent.
struct IndexRange {
  int64_t low = 0, extent = 0;
};
inline IndexRange from_either_end(int64_t extent) { return {-extent, extent}; }
inline IndexRange lengths_up_to(int64_t extent) { return {0, extent + 1}; }

/// Returns a check of operand `operand`, of the type `indices`. `ranges`: one for all indices, or
/// one per column of the last dim. O(indices), and without branches while all are inside.
ValueCheck index_check(std::string op, TypeId indices, size_t operand,
                       std::vector<IndexRange> ranges);
/// Indices of a compute, as i64 counted from the front. A stage of their own ends the function with
/// an error when one is outside of its range. Stages that read them come after it, because they add
/// a zero which that stage stores. The indices are not stored once more: readers compute them where
/// they need them.
class CheckedIndices {
 public:
  /// `ranges`: one for all indices, or one per column of the last dim.
  CheckedIndices(te::Builder& builder, std::string_view op, const Tensor& indices,
                 const std::vector<IndexRange>& ranges);
  /// Makes those of [0, extent), where each run gives the extent.
  static CheckedIndices below(te::Builder& builder, std::string_view op, const Tensor& indices,
                              Expr extent);
  /// Returns the index at these places; with several ranges the last one is a number.
  Expr operator()(const Exprs& at) const;
  /// Returns the tensors that a procedure with these indices reads.
  Tensors inputs() const;

 private:
  struct OpenRange {
    int64_t low = 0;  // 0 or -extent of a number
    Expr extent;
  };
  CheckedIndices(const Tensor& indices, std::vector<OpenRange> ranges)
      : indices_(indices), ranges_(std::move(ranges)) {}
  void add_checks(te::Builder& builder, std::string_view op);
  te::Stmt each(const std::function<te::Stmt(const Exprs&, const OpenRange&)>& body) const;
  Expr counted(const Exprs& at, const OpenRange& range) const;
  Tensor indices_, zero_;  // zero_: empty without ranges
  std::vector<OpenRange> ranges_;
};

/// A view of `indices` [..., width] as rows that name the first dims of x after
/// `batch_dims` shared ones.
struct TupleView {
  size_t batch_dims = 0, width = 0;
};
Result<TupleView> view_tuples(std::string_view op, TypeId x, TypeId indices, int64_t batch_dims);

/// The same rows at run time: each names the place in x where a slice of `inner` elements starts.
struct TupleLoop {
  int64_t batches = 1, rows_per_batch = 1, batch_step = 1, inner = 1;
  std::vector<int64_t> extents, strides;   // of the dims of x that rows name
  std::vector<IndexRange> ranges() const;  // one per column

  TupleLoop(const TupleView& view, TypeId x, TypeId indices);

  /// Calls tuple(offset of the slice) for each row, in order. All indices are inside.
  template <class OnTuple>
  void for_tuples(Indices indices, OnTuple&& tuple) const {
    int64_t next = 0;
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (int64_t row = 0; row < rows_per_batch; ++row) {
        int64_t offset = batch * batch_step;
        for (size_t d = 0; d < extents.size(); ++d)
          offset += from_front(indices[next++], extents[d]) * strides[d];
        tuple(offset);
      }
    }
  }
};

}  // namespace byoc::op
