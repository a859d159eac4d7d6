// SPDX-License-Identifier: Apache-2.0
// Ops that write at computed places: scatter_elements, scatter_nd. Later updates win, or are
// reduced with the old value. An index outside of its dim is an error of the run.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

constexpr std::string_view kReductions[] = {"none", "add", "mul", "max", "min"};

Status check_updates(std::string_view op, Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_indices(op, in[1]));
  if (in[0]->dtype != in[2]->dtype) {
    return invalid(cat(op, ": x is ", in[0], ", updates are ", in[2], ", expects one dtype"))
        .with_slug("op-dtype");
  }
  std::string reduction = attrs.s("reduction", "none");
  if (std::find(std::begin(kReductions), std::end(kReductions), reduction) ==
      std::end(kReductions)) {
    return invalid(
        cat(op, ": reduction is \"", reduction, "\", expected none, add, mul, max or min"));
  }
  if (reduction != "none") return expect_dtype(op, "x", in[0], dtypes_of(NumericTypes{}));
  return {};
}

Status updates_error(std::string_view op, const Shape& expected, Types in) {
  return invalid(cat(op, ": updates must have shape ", expected, " (x ", in[0], ", indices ", in[1],
                     ", updates ", in[2], ")"))
      .with_slug("op-shape");
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return static_cast<T>(static_cast<Compute<T>>(a) + static_cast<Compute<T>>(b));
}
template <class T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return static_cast<T>(static_cast<Compute<T>>(a) * static_cast<Compute<T>>(b));
}

// A function that returns the value to store in the place of `old`.
template <class T>
using Combine = T (*)(T old, T update);

template <class T>
Combine<T> combine_of(const std::string& reduction) {
  if constexpr (!std::is_same_v<T, bool>) {  // inference refuses reductions of bools
    if (reduction == "add") return sum<T>;
    if (reduction == "mul") return product<T>;
    if (reduction == "max") return [](T a, T b) { return b > a ? b : a; };
    if (reduction == "min") return [](T a, T b) { return b < a ? b : a; };
  }
  return [](T, T update) { return update; };
}

// Calls make.operator()<T>(combine).
template <class Make>
Result<RefKernel> for_reduction(std::string_view op, DType dtype, const std::string& reduction,
                                Make&& make) {
  return for_dtype(op, dtype, AllTypes{}, [&]<class T>() -> RefKernel {
    return make.template operator()<T>(combine_of<T>(reduction));
  });
}

Result<std::vector<TensorType>> infer_scatter_elements(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("scatter_elements", attrs.i("axis", 0), in[0]));
  BYOC_TRY_STATUS(check_updates("scatter_elements", in, attrs));
  BYOC_TRY_STATUS(expect_inside("scatter_elements", axis, in[0], in[1]));
  if (in[2]->shape != in[1]->shape) return updates_error("scatter_elements", in[1]->shape, in);
  return one_result(*in[0]);
}

Result<RefKernel> reference_scatter_elements(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("scatter_elements", attrs.i("axis", 0), in[0]));
  std::vector<int64_t> strides = row_major_strides(static_extents(in[0]->shape));
  BYOC_CHECK(in[1]->shape.size() == strides.size(), in[1], " are indices into ", in[0]);
  int64_t n = count(out[0]), step_axis = strides[axis], extent = in[0]->shape[axis].extent();
  strides[axis] = 0;
  Walk<1> walk(static_extents(in[1]->shape), {strides});
  return for_reduction(
      "scatter_elements", in[0]->dtype, attrs.s("reduction", "none"),
      [&]<class T>(auto combine) -> RefKernel {
        return [=, index_dtype = in[1]->dtype](const void* const* from, void* const* to) {
          T* y = out_as<T>(to, 0);
          std::copy_n(in_as<T>(from, 0), n, y);
          Indices indices(index_dtype, from[1]);
          int64_t row = 0;
          walk.for_rows([&](const auto& at, int64_t cells, const auto& step) {
            for (int64_t k = 0; k < cells; ++k, ++row) {
              T& cell = y[at[0] + k * step[0] + from_front(indices[row], extent) * step_axis];
              cell = combine(cell, in_as<T>(from, 2)[row]);
            }
          });
        };
      });
}

Result<std::vector<TensorType>> infer_scatter_nd(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_updates("scatter_nd", in, attrs));
  BYOC_TRY(TupleView view, view_tuples("scatter_nd", in[0], in[1], 0));
  Shape expected(in[1]->shape.begin(), in[1]->shape.end() - 1);
  expected.insert(expected.end(), in[0]->shape.begin() + static_cast<ptrdiff_t>(view.width),
                  in[0]->shape.end());
  if (in[2]->shape != expected) return updates_error("scatter_nd", expected, in);
  return one_result(*in[0]);
}

Result<RefKernel> reference_scatter_nd(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(TupleView view, view_tuples("scatter_nd", in[0], in[1], 0));
  TupleLoop loop(view, in[0], in[1]);
  int64_t n = count(out[0]);
  if (count(in[2]) == 0) loop.rows_per_batch = 0;
  BYOC_CHECK(loop.rows_per_batch * loop.inner == count(in[2]), loop.rows_per_batch, " slices of ",
             loop.inner, " elements in ", in[2]);
  return for_reduction("scatter_nd", in[0]->dtype, attrs.s("reduction", "none"),
                       [&]<class T>(auto combine) -> RefKernel {
                         return [=, index_dtype = in[1]->dtype](const void* const* from,
                                                                void* const* to) {
                           T* y = out_as<T>(to, 0);
                           const T* update = in_as<T>(from, 2);
                           std::copy_n(in_as<T>(from, 0), n, y);
                           loop.for_tuples(Indices(index_dtype, from[1]), [&](int64_t offset) {
                             for (int64_t k = 0; k < loop.inner; ++k)
                               y[offset + k] = combine(y[offset + k], update[k]);
                             update += loop.inner;
                           });
                         };
                       });
}

// Returns the value to store in the place of `old` for `update`, in the type of both.
Expr combined(const std::string& reduction, const Expr& old, const Expr& update) {
  if (reduction == "none") return update;
  Expr a = widened(old), b = widened(update);
  if (reduction == "add") return converted_to(old.dtype(), a + b);
  if (reduction == "mul") return converted_to(old.dtype(), a * b);
  return select(reduction == "max" ? b > a : b < a, update, old);
}

// Rows with fewer updates in all are not shared among threads.
constexpr int64_t kParallelUpdates = 1 << 14;

// Returns the elements at the bounds of open dims.
double elements_at_bounds(const Shape& shape) {
  double out = 1;
  for (Dim dim : shape) out *= static_cast<double>(dim.max());
  return out;
}

te::Stmt copied(const Tensor& x, const Tensor& y) {
  return loops_over(x.shape(), [&](const Exprs& i) { return te::make_store(y, i, x(i)); });
}

// Returns loops over the dims after the first, inside of row `r`.
te::Stmt rest_of_row(const Expr& r, const Exprs& extents,
                     const std::function<te::Stmt(const Exprs&)>& body) {
  return loops_over({extents.begin() + 1, extents.end()}, [&](const Exprs& rest) {
    Exprs at = {r};
    at.insert(at.end(), rest.begin(), rest.end());
    return body(at);
  });
}

Result<ValueCheck> check_scatter_elements(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("scatter_elements", attrs.i("axis", 0), in[0]));
  return index_check("scatter_elements", in[1], 1, {from_either_end(in[0]->shape[axis].extent())});
}

Result<Tensors> compute_scatter_elements(te::Builder& builder, Inputs in, Types out,
                                         const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("scatter_elements", attrs.i("axis", 0), out[0]));
  std::string reduction = attrs.s("reduction", "none");
  const CheckedIndices indices(builder, "scatter_elements", in[1],
                               {indices_into(out[0]->shape[axis])});
  Tensors read = {in[0], in[2]};
  for (const Tensor& tensor : indices.inputs()) read.push_back(tensor);
  const Exprs x = in[0].shape(), from = in[1].shape();
  const Shape updated = type_of(in[1]).shape;
  // Updates along another axis than the first stay in their row.
  const bool has_rows = axis > 0 && updated[0] == type_of(in[0]).shape[0] && updated[0] != Dim(1) &&
                        elements_at_bounds(updated) >= kParallelUpdates;
  return builder.procedure("scatter_elements", {*out[0]}, read, [&](const Tensors& y) {
    const auto update = [&](const Exprs& i) {
      te::Var index("index");
      Exprs to = i;
      to[axis] = index;
      te::Stmt store = te::make_store(y[0], to, combined(reduction, y[0](to), in[2](i)));
      return te::make_let(index, indices(i), store);
    };
    if (!has_rows) return te::make_block({copied(in[0], y[0]), loops_over(from, update)});
    const auto one_row = [&](const Expr& r) {
      te::Stmt copy =
          rest_of_row(r, x, [&](const Exprs& i) { return te::make_store(y[0], i, in[0](i)); });
      return te::make_block({copy, rest_of_row(r, from, update)});
    };
    return te::loop("row", x[0], one_row, te::LoopKind::kParallel);
  });
}

Result<ValueCheck> check_scatter_nd(Types in, const Attrs&) {
  BYOC_TRY(TupleView view, view_tuples("scatter_nd", in[0], in[1], 0));
  return index_check("scatter_nd", in[1], 1, TupleLoop(view, in[0], in[1]).ranges());
}

Result<Tensors> compute_scatter_nd(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Shape x = out[0]->shape;
  Exprs rows = in[1].shape();
  BYOC_CHECK(!rows.empty(), "scatter_nd of indices without dims");
  const Dim last = type_of(in[1]).shape.back();
  if (is_open(last)) return needs_number("scatter_nd", last);
  const auto width = static_cast<size_t>(last.extent());
  BYOC_CHECK(width <= x.size(), width, " indices for ", out[0]);
  rows.pop_back();
  const Exprs all = te::extents_of(*out[0]);
  const Exprs slice(all.begin() + static_cast<ptrdiff_t>(width), all.end());
  std::string reduction = attrs.s("reduction", "none");
  std::vector<RangeExpr> ranges;
  for (size_t k = 0; k < width; ++k) ranges.push_back(indices_into(x[k]));
  const CheckedIndices indices(builder, "scatter_nd", in[1], ranges);
  auto update = [&](const Tensor& y, const Exprs& row) {
    std::vector<te::Var> vars(width);
    Exprs begin(vars.begin(), vars.end());
    te::Stmt stmt = loops_over(slice, [&](const Exprs& s) {
      Exprs to = begin, from = row;
      to.insert(to.end(), s.begin(), s.end());
      from.insert(from.end(), s.begin(), s.end());
      return te::make_store(y, to, combined(reduction, y(to), in[2](from)));
    });
    for (size_t k = width; k-- > 0;) {
      Exprs at = row;
      at.push_back(static_cast<int64_t>(k));
      stmt = te::make_let(vars[k], indices(at), stmt);
    }
    return stmt;
  };
  Tensors read = {in[0], in[2]};
  for (const Tensor& tensor : indices.inputs()) read.push_back(tensor);
  return builder.procedure("scatter_nd", {*out[0]}, read, [&](const Tensors& y) {
    te::Stmt updates = loops_over(rows, [&](const Exprs& row) { return update(y[0], row); });
    return te::make_block({copied(in[0], y[0]), updates});
  });
}

OpDef scatter_op(std::string name, std::string doc, std::string indices, std::string updates,
                 InferFn infer, ReferenceFn reference, ComputeFn compute, ValueCheckFn check) {
  return {
      .name = std::move(name),
      .doc = std::move(doc) +
             " Negative indices count from the end; one outside is an error of the run.",
      .inputs = {{"x", "any type, rank >= 1"},
                 {"indices", std::move(indices)},
                 {"updates", std::move(updates)}},
      .attrs = {{"reduction", "none", "with the old value: none (replace), add, mul, max or min"}},
      .infer = std::move(infer),
      .reference = std::move(reference),
      .compute = std::move(compute),
      .flops = no_flops,
      .check = std::move(check)};
}

}  // namespace

void add_scatter_ops(OpRegistry& ops) {
  OpDef elements = scatter_op(
      "scatter_elements",
      "x with y[i, indices[i, j, ...], ...] = updates[i, j, ...], the index is at position `axis`.",
      "i32 or i64, rank of x", "as x, shape of indices", infer_scatter_elements,
      reference_scatter_elements, with_open_sizes(compute_scatter_elements),
      check_scatter_elements);
  elements.attrs.push_back({"axis", int64_t{0}, "in [-rank, rank)"});
  ops.add(std::move(elements));
  ops.add(
      scatter_op("scatter_nd",
                 "x with the slices named by the rows of `indices` replaced by those of `updates`.",
                 "i32 or i64 [..., k]", "as x: [..., x.shape[k:]]", infer_scatter_nd,
                 reference_scatter_nd, with_open_sizes(compute_scatter_nd), check_scatter_nd));
}

}  // namespace byoc::op
