// SPDX-License-Identifier: Apache-2.0
#include "sums.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "byoc/op/evaluate.h"

namespace byoc::fuzz {
namespace {

using Names = std::set<std::string_view>;
using Values = std::vector<double>;

/// A call with the right values of its operands and results.
struct Call {
  const OpDef& op;
  const Attrs& attrs;
  const std::vector<const Known*>& args;
  const std::vector<Known>& results;

  const Shape& shape() const { return args[0]->type->shape; }
  double dim(size_t arg, size_t k) const {
    return static_cast<double>(args[arg]->type->shape[k].extent());
  }
  double count(size_t arg) const { return static_cast<double>(element_count(args[arg]->type)); }
  bool is_conv() const { return op.name.starts_with("conv"); }
};

const Names kReductions = {"sum",        "mean", "l1",      "l2",
                           "sum_square", "prod", "log_sum", "log_sum_exp"};
const Names kAlongAxis = {"softmax", "log_softmax", "lp_norm", "cumsum", "cumprod"};
const Names kProducts = {"matmul", "gemm", "matmul_packed", "matmul_widened"};
const Names kPools = {"average_pool", "lp_pool"};
const Names kFromAxis = {"layer_norm", "rms_norm"};

/// Returns the shape of a norm's operand, and which of its dims are added up.
std::pair<Shape, std::vector<bool>> taken_dims(const Call& call) {
  Shape shape = call.shape();
  const size_t rank = shape.size();
  if (call.op.name == "group_norm") {  // [n, groups, rest]
    const int64_t groups = call.attrs.i("num_groups");
    const int64_t rows = shape[0].extent() * groups;
    const int64_t all = element_count(call.args[0]->type);
    return {{Dim(rows), Dim(rows == 0 ? 0 : all / rows)}, {false, true}};
  }
  std::vector<bool> taken(rank, false);
  auto normal = [&](int64_t axis) {
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  };
  if (call.op.name == "mean_variance_norm") {
    for (int64_t axis : call.attrs.ints("axes")) taken[normal(axis)] = true;
  } else {
    const size_t from = kFromAxis.contains(call.op.name) ? normal(call.attrs.i("axis")) : 2;
    for (size_t k = from; k < rank; ++k) taken[k] = true;
  }
  return {shape, taken};
}

double product_of(const std::vector<int64_t>& extents) {
  double product = 1;
  for (int64_t extent : extents) product *= static_cast<double>(extent);
  return product;
}

/// Returns how many numbers one result of a convolution adds.
double terms_of_conv(const Call& call) {
  const Shape& weight = call.args[1]->type->shape;
  const double all = call.count(1);
  if (call.op.name == "conv2d_nchwc")  // [o / b, c / b, kh, kw, b, b]
    return all / (call.dim(1, 0) * call.dim(1, weight.size() - 1));
  if (call.op.name.ends_with("_transpose"))  // [c, o / group, kernel...]
    return all / (call.dim(1, 1) * static_cast<double>(call.attrs.i("group", 1)));
  return all / call.dim(1, 0);  // [o, c / group, kernel...]
}

/// Returns how many numbers one result adds; 0 for ops that add none or few.
double terms_of(const Call& call) {
  const std::string_view name = call.op.name;
  if (call.args.empty() || call.count(0) == 0) return 0;
  const size_t rank = call.shape().size();
  if (call.is_conv()) return terms_of_conv(call);
  if (kReductions.contains(name) || name == "global_average_pool" || name == "global_lp_pool")
    return call.count(0) / static_cast<double>(element_count(call.results[0].type));
  if (kAlongAxis.contains(name) || name == "dft") {
    const int64_t axis = call.attrs.i("axis");
    const double parts = name == "dft" ? 2 : 1;  // of a complex number
    return parts *
           call.dim(0, axis < 0 ? rank - static_cast<size_t>(-axis) : static_cast<size_t>(axis));
  }
  if (kPools.contains(name)) return product_of(call.attrs.ints("kernel_shape"));
  if (kProducts.contains(name) || name == "matmul_blocks")
    return call.dim(0, name == "gemm" && call.attrs.b("trans_a", false) ? 0 : rank - 1);
  if (!name.ends_with("_norm") || name == "batch_norm") return 0;
  auto [shape, taken] = taken_dims(call);
  double terms = 1;
  for (size_t k = 0; k < shape.size(); ++k)
    terms *= taken[k] ? static_cast<double>(shape[k].extent()) : 1;
  return terms;
}

Values magnitudes(const Known& known) {
  Values values = elements(known.type, *known.right);
  for (double& value : values) value = std::abs(value);
  return values;
}

/// Returns one result of the op on the magnitudes of its operands: for sums of terms, the sums of
/// their magnitudes.
Result<Values> of_magnitudes(const Call& call, size_t result) {
  std::vector<TypeId> in;
  std::vector<Bytes> data;
  std::vector<const Buffer*> pointers;
  for (const Known* arg : call.args) {
    in.push_back(arg->type);
    data.push_back(from_elements(arg->type, magnitudes(*arg)));
    pointers.push_back(data.back().get());
  }
  Attrs attrs = call.attrs;
  for (const char* factor : {"alpha", "beta"}) {
    if (call.op.name == "gemm" && attrs.has(factor)) attrs.set(factor, std::abs(attrs.f(factor)));
  }
  std::vector<TypeId> out;
  for (const Known& known : call.results) out.push_back(known.type);
  BYOC_TRY(auto results, byoc::evaluate(call.op, attrs, in, out, pointers));
  return elements(out[result], *results[result]);
}

/// Returns per result of a transform the sum of the magnitudes that it adds up: that of its line,
/// which is what the transform of the magnitudes has at frequency 0.
Result<Values> scale_of_transform(const Call& call) {
  const Shape& x = call.shape();
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t given = call.attrs.i("axis");
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  const bool is_inverse = call.attrs.b("inverse", false);
  const bool is_real = is_inverse && call.attrs.b("onesided", false);
  int64_t length = call.attrs.i("length", 0);
  if (length == 0) length = is_real ? 2 * (x[axis].extent() - 1) : x[axis].extent();
  TensorType lines = *call.args[0]->type;
  lines.shape[axis] = Dim(length), lines.shape.back() = Dim(2);
  Attrs attrs = call.attrs;
  attrs.set("inverse", false);
  attrs.set("onesided", false);
  attrs.set("length", length);
  const std::vector<Known> transformed = {Known{.type = lines}};
  BYOC_TRY(const Values sums, of_magnitudes({call.op, attrs, call.args, transformed}, 0));
  size_t inner = 1;  // elements of a line's neighbour
  for (size_t d = axis + 1; d + 1 < x.size(); ++d) inner *= static_cast<size_t>(x[d].extent());
  const Shape& y = call.results[0].type->shape;
  const auto frequencies = static_cast<size_t>(y[axis].extent());
  const auto parts = static_cast<size_t>(y.back().extent());
  const double factor = (is_real ? 2 : 1) / (is_inverse ? static_cast<double>(length) : 1);
  Values out(static_cast<size_t>(element_count(call.results[0].type)));
  for (size_t k = 0; k < out.size(); ++k) {
    const size_t column = k / parts % inner, line = k / parts / inner / frequencies;
    const size_t first = (line * static_cast<size_t>(length) * inner + column) * 2;
    out[k] = factor * (sums[first] + sums[first + 1]);
  }
  return out;
}

/// Returns per result of a product with a matrix in blocks the sum of the magnitudes of x times the
/// largest that an entry less its zero point may have: kernels subtract the zero points last.
Result<Values> scale_of_blocks(const Call& call) {
  const Known &x = *call.args[0], &codes = *call.args[1], &scale = *call.args[2];
  const OpDef* dequantize = all_ops().find("dequantize_blocks");
  Attrs attrs = call.attrs;
  attrs.set("rows", call.shape().back().extent());
  attrs.set("to", DType::kF32);
  const Bytes none = from_elements(codes.type, Values(magnitudes(codes).size(), 0));
  const Bytes scales = from_elements(scale.type, magnitudes(scale));
  const std::vector<TypeId> in = {codes.type, scale.type};
  BYOC_TRY(const std::vector<TypeId> out, infer_types(*dequantize, in, attrs));
  const std::vector<const Buffer*> operands = {none.get(), scales.get()};
  BYOC_TRY(const auto least, byoc::evaluate(*dequantize, attrs, in, out, operands));
  Known most{.type = out[0]};
  Values matrix = elements(out[0], *least[0]);
  for (double& value : matrix) value = 2 * std::abs(value);
  most.right = from_elements(out[0], matrix);
  const std::vector<const Known*> args = {&x, &most};
  const Attrs plain;
  return of_magnitudes({*all_ops().find("matmul"), plain, args, call.results}, 0);
}

/// Returns the row of each element: those that a norm adds up are in one row.
std::vector<size_t> rows_of(const Shape& shape, const std::vector<bool>& taken, size_t count) {
  std::vector<size_t> rows(count);
  for (size_t flat = 0; flat < count; ++flat) {
    size_t rest = flat, stride = 1;
    for (size_t k = shape.size(); k-- > 0;) {
      const auto extent = static_cast<size_t>(shape[k].extent());
      if (!taken[k]) rows[flat] += rest % extent * stride, stride *= extent;
      rest /= extent;
    }
  }
  return rows;
}

/// Returns by how much a norm's results move per relative error of its sums: with the variance by
/// their own magnitude, and with the mean by the mean magnitude of the row over its deviation.
Values scale_of_norm(const Call& call) {
  const Values x = elements(call.args[0]->type, *call.args[0]->right);
  Values y = magnitudes(call.results[0]);
  auto [shape, taken] = taken_dims(call);
  const std::vector<size_t> rows = rows_of(shape, taken, x.size());
  std::vector<double> count(x.size()), sum(x.size()), size(x.size()), squares(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    count[rows[k]] += 1, sum[rows[k]] += x[k], size[rows[k]] += std::abs(x[k]);
  }
  for (size_t k = 0; k < x.size(); ++k)
    squares[rows[k]] += std::pow(x[k] - sum[rows[k]] / count[rows[k]], 2);
  double factor = 1;
  if (call.args.size() > 1) {
    factor = 0;
    for (double value : magnitudes(*call.args[1]))
      factor = std::isfinite(value) ? std::max(factor, value) : factor;
  }
  for (size_t k = 0; k < x.size(); ++k) {
    const double n = count[rows[k]];
    const double deviation = std::sqrt(squares[rows[k]] / n + call.attrs.f("epsilon", 1e-18));
    y[k] += factor * size[rows[k]] / n / deviation;
  }
  return y;
}

/// Returns the sum of the magnitudes that result 0 adds up, or what corresponds to it.
Result<Values> scale_of(const Call& call) {
  const std::string_view name = call.op.name;
  if (name == "sum" || name == "mean" || name == "average_pool" || name == "global_average_pool" ||
      name == "cumsum" || kProducts.contains(name) || call.is_conv())
    return of_magnitudes(call, 0);
  if (name == "dft") return scale_of_transform(call);
  if (name == "matmul_blocks") return scale_of_blocks(call);
  Values y = elements(call.results[0].type, *call.results[0].right);
  if (name == "log_softmax" || name == "log_sum_exp") return Values(y.size(), 1);
  if (name == "log_sum") {
    BYOC_TRY(Values all, of_magnitudes(call, 0));
    for (size_t k = 0; k < y.size(); ++k) y[k] = std::exp(all[k] - y[k]);
    return y;
  }
  if (name.ends_with("_norm") && name != "rms_norm" && name != "lp_norm")
    return scale_of_norm(call);
  return magnitudes(call.results[0]);  // sums of squares, of exponentials; products
}

/// Returns the products of the finite factors' magnitudes, each moved by `change`, in f64.
template <class Change>
Result<Values> products_of(const Call& call, Change change) {
  const Known &x = *call.args[0], &y = call.results[0];
  Values values = elements(x.type, *x.right);
  for (double& value : values) {
    const bool counts = std::isfinite(value) && value != 0;
    value = counts ? change(std::abs(value)) : 1;
  }
  TypeId in = TensorType{DType::kF64, x.type->shape}, out = TensorType{DType::kF64, y.type->shape};
  const Bytes data = from_elements(in, values);
  BYOC_TRY(auto results, byoc::evaluate(call.op, call.attrs, {{in}}, {{out}}, {{data.get()}}));
  return elements(out, *results[0]);
}

}  // namespace

// Each addition rounds the sum so far by at most half a unit in the last place. The error of n
// terms is at most n such halves (Higham, Accuracy and Stability of Numerical Algorithms, section
// 4.2), and grows with the root of n where roundings are independent (Higham and Mary, 2019). Equal
// terms round alike while the exponent of the sum is the same: up to a quarter of the bound in sums
// of 100 to 6,000 of them, which is eight times the second term (kSafety in oracle.cc).
double error_of_sum(double terms, DType dtype) {
  const double unit = dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;  // 16 bits are added in f32
  return terms < 2 ? 0 : (std::sqrt(terms) + terms / 32) * unit;
}

Result<std::vector<SumErrors>> errors_of_sums(const OpDef& op, const Attrs& attrs,
                                              const std::vector<const Known*>& args,
                                              const std::vector<Known>& results) {
  std::vector<SumErrors> out(results.size());
  const Call call{op, attrs, args, results};
  if (results.empty() || !is_float(results[0].type->dtype)) return out;
  const double error = error_of_sum(terms_of(call), results[0].type->dtype);
  if (error == 0) return out;
  BYOC_TRY(out[0], scale_of(call));
  if (results.size() > 1) {  // mean and inverse deviation of layer_norm
    BYOC_TRY(out[1], of_magnitudes(call, 1));
    out[2] = magnitudes(results[2]);
  }
  for (SumErrors& errors : out) {
    for (double& value : errors) value = std::isfinite(value) ? value * error : 0;
  }
  return out;
}

// The bound of plugins/llvm/families/winograd/README.md, which is above the one of Strassen's
// products, divided by the errors that oracle.cc allows per error seen. Transforms and sums of
// quarters add and subtract values of several pixels, so that a small result next to large ones has
// an error of their size. Winograd's convolutions have strides of 1 or 2, Strassen's one tap and
// any stride.
Status add_errors_of_tiles(const OpDef& op, const Attrs& attrs,
                           const std::vector<const Known*>& args, const std::vector<Known>& results,
                           SumErrors& errors) {
  constexpr double kError = 2e-5 / 8;
  const Call call{op, attrs, args, results};
  if ((op.name != "conv2d" && op.name != "conv2d_nchwc") || errors.empty()) return {};
  const Ints strides = attrs.ints("strides");
  const bool has_tiles = std::ranges::all_of(strides, [](int64_t stride) { return stride <= 2; });
  const Shape& weight = args[1]->type->shape;
  const bool has_one_tap = weight.size() >= 4 && weight[2] == Dim(1) && weight[3] == Dim(1);
  if (results[0].type->dtype != DType::kF32 || attrs.i("group", 1) != 1) return {};
  if (!has_tiles && !has_one_tap) return {};
  BYOC_TRY(Values sizes, scale_of(call));
  double largest = 0;
  for (double size : sizes) largest = std::isfinite(size) ? std::max(largest, size) : largest;
  for (double& error : errors) error += kError * largest;
  return {};
}

Status check_products(const OpDef& op, const Attrs& attrs, const std::vector<const Known*>& args,
                      const std::vector<Known>& results) {
  if ((op.name != "prod" && op.name != "cumprod") || !is_float(results[0].type->dtype)) return {};
  const Call call{op, attrs, args, results};
  BYOC_TRY(Values small, products_of(call, [](double x) { return std::min(x, 1.0); }));
  BYOC_TRY(Values large, products_of(call, [](double x) { return std::max(x, 1.0); }));
  const Values right = elements(results[0].type, *results[0].right);
  const bool is_double = results[0].type->dtype == DType::kF64;
  const double least = is_double ? 0x1p-1022 : 0x1p-126, most = is_double ? 0x1p1023 : 0x1p127;
  for (size_t k = 0; k < right.size(); ++k) {
    const bool underflows = small[k] < least && right[k] != 0 && !std::isnan(right[k]);
    const bool overflows = large[k] > most && std::isfinite(right[k]);
    if (underflows || overflows)
      return Status(Code::kFailedPrecondition, cat(op.name, ": its range depends on the order"));
  }
  return {};
}

}  // namespace byoc::fuzz
