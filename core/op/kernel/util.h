// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of inference functions: checks with one wording, axes, broadcasting. Typed loops
// are in kernel.h.
#include <array>
#include <initializer_list>

#include "byoc/op/registry.h"

namespace byoc::op {

/// A set of element types, printed in the order of DType.
class DTypes {
 public:
  constexpr DTypes() = default;
  constexpr DTypes(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) add(dtype);
  }
  constexpr void add(DType dtype) { bits_ |= 1u << static_cast<int>(dtype); }
  constexpr bool has(DType dtype) const { return bits_ >> static_cast<int>(dtype) & 1; }

 private:
  uint32_t bits_ = 0;
};
void print_to(std::string& out, DTypes dtypes);  // "f32 f64 i64"

/// Returns an error such as "softmax: x is bool[2,3], expects one of f32 f64 f16 bf16".
Status expect_dtype(std::string_view op, std::string_view input, TypeId type, DTypes allowed);
/// Checks that every input has the first one's dtype: "add: inputs 0 and 1 are f32[2] and i64[2],
/// expects one dtype".
Status expect_same_dtype(std::string_view op, Types inputs);
/// Returns an error such as "conv2d: x has rank 3, expects 4 (x f32[1,3,8])".
Status expect_rank(std::string_view op, std::string_view input, TypeId type, size_t rank);

/// Returns the shape that all inputs broadcast to by numpy's rules. A symbolic dim matches itself
/// and 1. A counted one matches numbers and other counted ones too; each run checks them.
Result<Shape> broadcast_shapes(std::string_view op, Types inputs);

/// Returns `axis` as a number from 0; `type` gives the rank: "softmax: axis 3 is outside [-2,
/// 2) (x f32[2,3])".
Result<size_t> normal_axis(std::string_view op, int64_t axis, TypeId type);
/// Returns the same for a list; sorted. Errors: also when an axis is named twice.
Result<std::vector<size_t>> normal_axes(std::string_view op, const Ints& axes, TypeId type);

/// A view of a tensor along one axis: outer x extent x inner elements.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};
AxisView around_axis(TypeId type, size_t axis);

int64_t count(TypeId type);  // elements of a static type that inference has checked
double flop_count(TypeId type);

/// Returns the types of an op with one result.
inline Result<std::vector<TensorType>> one_result(TensorType type) {
  return std::vector<TensorType>{std::move(type)};
}
/// Returns the op with these facts.
inline OpDef with_facts(OpDef op, OpFacts facts) {
  op.facts = std::move(facts);
  return op;
}
/// Infers the type of input 0, which must have one of `allowed`.
InferFn same_as_input(std::string op, DTypes allowed);

/// Returns the kernel of y = x, byte for byte: for ops that change nothing but the type.
RefKernel copy_kernel(TypeId type);

/// Walks N operands together over one row-major index space. Made once; walking allocates nothing.
/// Neighbouring extents that all operands step through alike are merged, so that rows are long.
/// Made for N = 1, 2, 3.
template <size_t N>
class Walk {
 public:
  using Steps = std::array<int64_t, N>;
  Walk(const std::vector<int64_t>& space, const std::array<std::vector<int64_t>, N>& steps);

  /// Calls row(at, n, step) for each innermost run: operand k reads at[k], at[k] +
  /// step[k], ... n times.
  template <class Row>
  void for_rows(Row&& row) const {
    if (is_empty_) return;
    Cursor cursor{};
    do row(cursor.at, row_length_, row_step_);
    while (advance(cursor));
  }

 private:
  struct Cursor {
    Steps at;
    std::array<int64_t, kMaxRank> index;
  };
  bool advance(Cursor& cursor) const;  // to the next row; false after the last one

  std::vector<int64_t> extents_;  // of all but the innermost run, outermost first
  std::vector<Steps> steps_;      // one per extent, in elements
  int64_t row_length_ = 1;
  Steps row_step_{};
  bool is_empty_ = false;
};

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& extents);
/// Returns the steps through a compact tensor of shape `from` while walking `to`: 0
/// where it is repeated.
std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to);

}  // namespace byoc::op
