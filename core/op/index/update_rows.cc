// SPDX-License-Identifier: Apache-2.0
// update_rows: a cache with new rows, such as the keys of the tokens of one step. Its result may be
// in the memory of the cache: then only the new rows are written.
// Source: ONNX opset 24, TensorScatter.
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/index.h"

namespace byoc::op {
namespace {

constexpr const char* kUpdateRows = "update_rows";

struct UpdatePlan {
  size_t axis = 1;
  int64_t extent = 0, rows = 0;  // of the cache along the axis, and of the new ones; 0 while open
  bool is_circular = false;
  // Returns the starts that fit; none for any start, which is then taken modulo the extent.
  std::vector<IndexRange> starts() const {
    return is_circular ? std::vector<IndexRange>()
                       : std::vector<IndexRange>{{0, extent - rows + 1}};
  }
};

Status update_misfit(std::string what, Types in) {
  return invalid(cat(kUpdateRows, ": ", what, " (cache ", in[0], ", rows ", in[1], ", starts ",
                     in[2], ")"))
      .with_slug("op-shape");
}

// Returns the cure for an open number of rows that may be more than `most`.
std::string narrower(Dim rows, int64_t most) {
  if (rows.is_expression()) return cat("give its sizes with --shape, so that it is at most ", most);
  return cat("--shape ", rows.name(), "=", rows.min(), "..", most);
}

Result<UpdatePlan> read_update_plan(Types in, const Attrs& attrs) {
  UpdatePlan plan;
  BYOC_TRY(plan.axis, normal_axis(kUpdateRows, attrs.i("axis", -2), in[0]));
  const Shape &cache = in[0]->shape, &rows = in[1]->shape;
  if (plan.axis == 0) return update_misfit("axis is 0, the dim of the images", in);
  bool fits = rows.size() == cache.size() && in[2]->shape == Shape{cache[0]};
  for (size_t d = 0; fits && d < rows.size(); ++d) fits = d == plan.axis || rows[d] == cache[d];
  if (!fits)
    return update_misfit(cat("rows must have the dims of cache except for dim ", plan.axis,
                             ", and starts one number per image"),
                         in);
  if (!cache[plan.axis].is_static() || rows[plan.axis].is_counted())
    return update_misfit(cat("dim ", plan.axis,
                             " of the cache must be known, and of rows with the "
                             "inputs of a run"),
                         in);
  plan.extent = cache[plan.axis].extent();
  if (rows[plan.axis].is_static()) plan.rows = rows[plan.axis].extent();
  if (rows[plan.axis].min() > plan.extent)
    return update_misfit(cat(rows[plan.axis].min(), " rows do not fit into ", plan.extent), in);
  if (rows[plan.axis].max() != Dim::kUnbounded && rows[plan.axis].max() > plan.extent)
    return update_misfit(
               cat("up to ", rows[plan.axis].max(), " rows do not fit into ", plan.extent), in)
        .with_help(narrower(rows[plan.axis], plan.extent));
  const std::string mode = attrs.s("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return invalid(cat(kUpdateRows, ": mode is \"", mode, "\", expected linear or circular"));
  plan.is_circular = mode == "circular";
  return plan;
}

Result<std::vector<TensorType>> infer_update_rows(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(kUpdateRows, "starts", in[2], {DType::kI32, DType::kI64}));
  if (in[0]->dtype != in[1]->dtype)
    return invalid(
               cat(kUpdateRows, ": cache is ", in[0], ", rows are ", in[1], ", expects one dtype"))
        .with_slug("op-dtype");
  BYOC_TRY_STATUS(read_update_plan(in, attrs).status());
  if (attrs.s("of").empty()) return invalid(cat(kUpdateRows, ": the attribute \"of\" is empty"));
  return one_result(*in[0]);
}

// Copies rows of one image, each of `bytes`, to those of the cache from `start` on.
void write_rows(const UpdatePlan& plan, size_t bytes, int64_t start, const std::byte* from,
                std::byte* to) {
  if (plan.is_circular) start = (start % plan.extent + plan.extent) % plan.extent;
  for (int64_t k = 0; k < plan.rows; ++k) {
    int64_t row = start + k;
    if (row >= plan.extent) row -= plan.extent;
    std::memcpy(to + static_cast<size_t>(row) * bytes, from + static_cast<size_t>(k) * bytes,
                bytes);
  }
}

Result<RefKernel> reference_update_rows(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(const UpdatePlan plan, read_update_plan(in, attrs));
  const AxisView view = around_axis(in[0], plan.axis);
  const size_t item = dtype_size(in[0]->dtype), bytes = static_cast<size_t>(view.inner) * item,
               all = static_cast<size_t>(count(in[0])) * item;
  if (all == 0) return RefKernel([](const void* const*, void* const*) {});
  const int64_t images = in[0]->shape[0].extent(), planes = view.outer / images;
  return RefKernel([=, dtype = in[2]->dtype](const void* const* from, void* const* to) {
    std::memcpy(to[0], from[0], all);
    const Indices starts(dtype, from[2]);
    const auto step = [&](int64_t rows) { return static_cast<size_t>(rows) * bytes; };
    for (int64_t p = 0; p < images * planes; ++p) {
      write_rows(plan, bytes, starts[p / planes],
                 static_cast<const std::byte*>(from[1]) + step(p * plan.rows),
                 static_cast<std::byte*>(to[0]) + step(p * plan.extent));
    }
  });
}

Result<ValueCheck> check_update_rows(Types in, const Attrs& attrs) {
  BYOC_TRY(const UpdatePlan plan, read_update_plan(in, attrs));
  return index_check(attrs.s("of"), in[2], 2, plan.starts());
}

// ---- as loops

// Returns loops over the dims of `rows` from `first` on. Elements of the last dim are adjacent in
// the cache, too, unless it is the axis.
te::Stmt loops_over_rows(const UpdatePlan& plan, const Tensor& rows, size_t first, const Exprs& at,
                         const std::function<te::Stmt(const Exprs&)>& body) {
  if (first == rows.rank()) return body(at);
  const Expr extent = rows.shape()[first];
  const bool is_vector =
      first + 1 == rows.rank() && first != plan.axis && te::as_int(extent).has_value();
  return te::loop(
      cat("i", first), extent,
      [&](Expr i) {
        Exprs next = at;
        next.push_back(std::move(i));
        return loops_over_rows(plan, rows, first + 1, next, body);
      },
      is_vector ? te::LoopKind::kVectorized : te::LoopKind::kSerial);
}

te::Stmt rows_of_image(const UpdatePlan& plan, const Tensor& rows, const Expr& image,
                       const Expr& start, const Tensor& y) {
  return loops_over_rows(plan, rows, 1, {image}, [&](const Exprs& at) {
    Exprs to = at;
    to[plan.axis] = start + at[plan.axis];
    if (plan.is_circular)
      to[plan.axis] =
          te::select(to[plan.axis] < Expr(plan.extent), to[plan.axis], to[plan.axis] - plan.extent);
    return te::make_store(y, to, rows(at));
  });
}

// Returns starts modulo the extent.
Tensor around(te::Builder& builder, const UpdatePlan& plan, const Tensor& starts) {
  return builder.compute("update_rows.around", starts.shape(), [&](const Exprs& i) {
    return te::floor_mod(te::cast(DType::kI64, starts(i)), plan.extent);
  });
}

// The starts are checked before anything is written: that rows fit, also when their number is known
// in the run.
Result<Tensors> compute_update_rows(te::Builder& builder, Inputs in, Types out,
                                    const Attrs& attrs) {
  const TypeId types[] = {type_of(in[0]), type_of(in[1]), type_of(in[2])};
  BYOC_TRY(const UpdatePlan plan, read_update_plan(types, attrs));
  const Expr rows = in[1].shape()[plan.axis];
  const Expr most = plan.is_circular ? te::select(rows <= Expr(plan.extent), plan.extent, 0)
                                     : Expr(plan.extent + 1) - rows;
  const bool is_around = plan.is_circular && plan.extent != 0;
  const CheckedIndices starts =
      CheckedIndices(builder, attrs.s("of"), is_around ? around(builder, plan, in[2]) : in[2],
                     {RangeExpr(0, te::simplify(most))});
  Tensors read = {in[0], in[1]};
  for (const Tensor& tensor : starts.inputs()) read.push_back(tensor);
  return builder.procedure(kUpdateRows, {*out[0]}, read, [&](const Tensors& y) {
    te::Stmt images = te::loop("image", in[1].shape()[0], [&](Expr image) {
      te::Var start("start");
      te::Stmt rows = rows_of_image(plan, in[1], image, start, y[0]);
      return te::make_let(start, starts({image}), std::move(rows));
    });
    return te::make_block({te::make_copy(in[0], y[0]), images});
  });
}

}  // namespace

void add_update_rows_ops(OpRegistry& ops) {
  ops.add(
      {.name = kUpdateRows,
       .doc =
           "The cache with rows[n] at starts[n], starts[n] + 1, ... along the axis, in a circular "
           "cache modulo its extent. A start for which they do not fit is an error of the run, "
           "which names `of`.",
       .inputs = {{"cache", "any type, [n, ...]"},
                  {"rows", "as cache, with at most as many along the axis, which may be open"},
                  {"starts", "i32 or i64 [n]"}},
       .outputs = {{"y", "the type of cache"}},
       .attrs = {{"axis", int64_t{-2}, "in [-rank, rank), not the first dim"},
                 {"mode", "linear", "linear, or circular: rows after the last one are the first"},
                 {"of", "update_rows.starts", "the operand that an error names"}},
       .infer = infer_update_rows,
       .reference = reference_update_rows,
       .compute = with_open_sizes(compute_update_rows),
       .flops = no_flops,
       .check = check_update_rows});
}

}  // namespace byoc::op
