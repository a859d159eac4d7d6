// SPDX-License-Identifier: Apache-2.0
// Graphs as quantizers write them: dequantize, an op or a few, quantize. Most dequantised values
// have several readers.
#include <algorithm>
#include <cmath>

#include "grow.h"

namespace byoc::fuzz {
namespace {

/// Integers of 8 bits with a scale and a zero point, and the op that makes them floats.
struct Quantised {
  Ref integers, scale, zero_point;
  std::optional<Ref> floats;
};

/// Weights as floats, and the scales that they have.
struct Weights {
  Ref floats;
  std::vector<double> scales;  // one, or one per channel
};

class QdqGrower {
 public:
  explicit QdqGrower(Grower& g) : g_(g) {}
  bool grow();

 private:
  bool start();
  bool add_op();
  Quantised& some() {
    return values_[values_.size() - 1 - g_.pick(std::min<size_t>(values_.size(), 3))];
  }
  Ref floats(Quantised& value);
  Ref partner(Ref x);
  DType byte_type() { return g_.chance(0.6) ? DType::kU8 : DType::kI8; }
  bool quantise(Ref y);
  Weights weights(const Shape& shape, size_t channel_axis);
  Ref with_bias(const Quantised& x, const Weights& w, Ref y, size_t channel_axis);

  std::optional<Ref> product(Quantised& x, Ref read);
  std::optional<Ref> convolution(Quantised& x, Ref read);
  std::optional<Ref> transposed_convolution(Quantised& x, Ref read);
  std::optional<Ref> image_op(Quantised& x, Ref read);
  std::optional<Ref> moved(Ref x);
  std::optional<Ref> pair(Ref x);
  std::optional<Ref> element_op(Ref x);

  Grower& g_;
  std::vector<Quantised> values_;
};

std::vector<double> numbers_of(const Grower& g, Ref value) {
  return elements(g.type(value), *g.known(value).right);
}

/// Reads a value as floats: mostly by the dequantize that others read.
Ref QdqGrower::floats(Quantised& value) {
  if (value.floats && g_.chance(0.75)) return *value.floats;
  std::vector<Ref> args{value.integers, value.scale};
  const bool is_zero = numbers_of(g_, value.zero_point)[0] == 0;
  if (!is_zero || g_.chance(0.6)) args.push_back(value.zero_point);
  value.floats = g_.call("dequantize", args);
  return value.floats.value_or(value.integers);
}

/// Returns a value of the type of `x`, `x` itself most of the time.
Ref QdqGrower::partner(Ref x) {
  if (g_.chance(0.4)) return x;
  for (Quantised& value : values_) {
    if (g_.shape_of(value.integers) == g_.shape_of(x) && g_.chance(0.6)) return floats(value);
  }
  return x;
}

/// Adds the quantize of `y`, with a scale that fits its values or the scale of another value.
bool QdqGrower::quantise(Ref y) {
  const std::vector<double> numbers = numbers_of(g_, y);
  if (g_.type(y)->dtype != DType::kF32 || numbers.empty()) return false;
  double low = 0, high = 0;
  for (double number : numbers) {
    if (!std::isfinite(number) || std::abs(number) > 1e6) return false;
    low = std::min(low, number), high = std::max(high, number);
  }
  Quantised out;
  if (!values_.empty() && g_.chance(0.35)) {
    out.scale = some().scale, out.zero_point = values_.back().zero_point;
    if (g_.chance(0.7)) out = {{}, values_.back().scale, values_.back().zero_point, {}};
  } else {
    const DType to = byte_type();
    const double least = to == DType::kU8 ? 0 : -128;
    const double scale = std::max((high - low) / 255, 1e-4) * g_.real(0.7, 1.4);
    const double zero_point = g_.chance(0.2) ? 0 : std::round(least - low / scale);
    out.scale = g_.constant_of(TensorType{DType::kF32, {}}, {scale});
    out.zero_point =
        g_.constant_of(TensorType{to, {}}, {std::clamp(zero_point, least, least + 255)});
  }
  std::optional<Ref> integers = g_.call("quantize", {y, out.scale, out.zero_point});
  if (!integers) return false;
  out.integers = *integers;
  values_.push_back(out);
  if (g_.chance(0.1)) floats(values_.back());  // which perhaps stays unread
  return true;
}

/// Starts with integers of the caller or of another op, or with floats.
bool QdqGrower::start() {
  Shape shape{Dim(g_.between(1, 2)), Dim(g_.one_of<int64_t>({1, 3, 4, 8, 16}))};
  for (size_t k = g_.one_of<size_t>({0, 1, 2, 2}); k > 0; --k)
    shape.push_back(Dim(g_.between(1, 7)));
  if (g_.chance(0.6)) return quantise(g_.parameter(TensorType{DType::kF32, shape}, {-1.5, 2.5}));
  const DType type = byte_type();
  const double zero_point = g_.chance(0.3) ? 0 : static_cast<double>(g_.between(0, 100));
  values_.push_back({g_.parameter(TensorType{type, shape}, {0, 120}),
                     g_.constant_of(TensorType{DType::kF32, {}}, {g_.real(0.01, 0.1)}),
                     g_.constant_of(TensorType{type, {}}, {zero_point}),
                     {}});
  return true;
}

/// Returns dequantised weights: a scale for all, or one per entry of the axis.
Weights QdqGrower::weights(const Shape& shape, size_t channel_axis) {
  const DType type = g_.chance(0.75) ? DType::kI8 : DType::kU8;
  const bool per_channel = g_.chance(0.5), has_zero_point = type == DType::kU8 || g_.chance(0.2);
  const int64_t count = per_channel ? shape[channel_axis].extent() : 1;
  Weights out;
  std::vector<double> zero_points;
  for (int64_t k = 0; k < count; ++k) {
    out.scales.push_back(static_cast<float>(g_.real(0.004, 0.02)));
    zero_points.push_back(type == DType::kU8 ? static_cast<double>(g_.between(120, 136)) : 0);
  }
  const Shape entries = per_channel ? Shape{Dim(count)} : Shape{};
  std::vector<Ref> args{
      g_.constant(TensorType{type, shape}, type == DType::kU8 ? Domain{0, 255} : Domain{-127, 127}),
      g_.constant_of(TensorType{DType::kF32, entries}, out.scales)};
  if (has_zero_point) args.push_back(g_.constant_of(TensorType{type, entries}, zero_points));
  out.floats = g_.then("dequantize", args, {{"axis", static_cast<int64_t>(channel_axis)}});
  return out;
}

/// Adds a bias of whole steps of the sums, or of floats.
Ref QdqGrower::with_bias(const Quantised& x, const Weights& w, Ref y, size_t channel_axis) {
  const int64_t channels = g_.dim(y, channel_axis);
  Shape shape{Dim(channels)};
  Ref bias;
  if (g_.chance(0.8)) {
    std::vector<double> steps;
    for (double scale : w.scales) steps.push_back(numbers_of(g_, x.scale)[0] * scale);
    const bool is_list = steps.size() > 1 || g_.chance(0.3);
    if (is_list) steps.resize(static_cast<size_t>(channels), steps[0]);
    bias = g_.then("dequantize",
                   {g_.constant(TensorType{DType::kI32, shape}, {-3000, 3000}),
                    g_.constant_of(TensorType{DType::kF32, is_list ? shape : Shape{}}, steps)},
                   {{"axis", int64_t{0}}});
  } else {
    bias = g_.constant(TensorType{DType::kF32, shape}, {-1, 1});
  }
  Ints extents{channels};
  extents.resize(g_.rank(y) - channel_axis, 1);
  if (extents.size() > 1) bias = g_.then("reshape", {bias}, {{"shape", extents}});
  return g_.then("add", {y, bias});
}

std::optional<Ref> QdqGrower::convolution(Quantised& x, Ref read) {
  const int64_t c = g_.dim(read, 1);
  const size_t spatial = g_.rank(read) - 2;
  const bool is_depthwise = g_.chance(0.3);
  const int64_t o = is_depthwise ? c : g_.one_of<int64_t>({1, 3, 4, 8, 16, 17});
  Shape shape{Dim(o), Dim(is_depthwise ? 1 : c)};
  int64_t kernel = g_.one_of<int64_t>({1, 1, 2, 3, 3});
  for (size_t k = 0; k < spatial; ++k) kernel = std::min(kernel, g_.dim(read, k + 2));
  for (size_t k = 0; k < spatial; ++k) shape.push_back(Dim(kernel));
  const Weights w = weights(shape, 0);
  std::optional<Ref> y = g_.call(cat("conv", spatial, "d"), {read, w.floats},
                                 {{"pads", Ints(2 * spatial, g_.chance(0.5) ? kernel / 2 : 0)},
                                  {"strides", Ints(spatial, g_.chance(0.2) ? 2 : 1)},
                                  {"group", is_depthwise ? c : int64_t{1}}});
  return y && g_.chance(0.7) ? with_bias(x, w, *y, 1) : y;
}

std::optional<Ref> QdqGrower::transposed_convolution(Quantised& x, Ref read) {
  const size_t spatial = g_.rank(read) - 2;
  Shape shape{Dim(g_.dim(read, 1)), Dim(g_.between(1, 4))};
  for (size_t k = 0; k < spatial; ++k) shape.push_back(Dim(2));
  const Weights w = weights(shape, 1);
  std::optional<Ref> y = g_.call(cat("conv", spatial, "d_transpose"), {read, w.floats},
                                 {{"strides", Ints(spatial, g_.between(1, 2))}});
  return y && g_.chance(0.5) ? with_bias(x, w, *y, 1) : y;
}

std::optional<Ref> QdqGrower::product(Quantised& x, Ref read) {
  const size_t rank = g_.rank(read);
  if (rank > 2 && g_.chance(0.3)) {  // of the value and itself, as attention has it
    Ints perm;
    for (size_t k = 0; k < rank; ++k) perm.push_back(static_cast<int64_t>(k));
    std::swap(perm[rank - 1], perm[rank - 2]);
    return g_.call("matmul", {read, g_.then("transpose", {read}, {{"perm", perm}})});
  }
  const Dim n(g_.one_of<int64_t>({1, 3, 8, 16, 17})), k = g_.shape_of(read).back();
  const bool is_gemm = rank == 2 && g_.chance(0.5), is_transposed = is_gemm && g_.chance(0.5);
  const Weights w = weights(is_transposed ? Shape{n, k} : Shape{k, n}, is_transposed ? 0 : 1);
  std::optional<Ref> y = is_gemm ? g_.call("gemm", {read, w.floats}, {{"trans_b", is_transposed}})
                                 : g_.call("matmul", {read, w.floats});
  return y && g_.chance(0.6) ? with_bias(x, w, *y, rank - 1) : y;
}

std::optional<Ref> QdqGrower::image_op(Quantised& x, Ref read) {
  const int64_t k = std::min({g_.between(1, 3), g_.dim(read, 2), g_.dim(read, g_.rank(read) - 1)});
  const size_t spatial = g_.rank(read) - 2;
  switch (g_.pick(9)) {
    case 0:
    case 1:
      return g_.call(
          g_.chance(0.6) ? "max_pool" : "average_pool", {read},
          {{"kernel_shape", Ints(spatial, k)}, {"strides", Ints(spatial, g_.between(1, 2))}});
    case 2:
      return g_.call("global_average_pool", {read});
    case 3:
      return transposed_convolution(x, read);
    case 4: {
      Floats scales(spatial, 2);
      scales.insert(scales.begin(), 2, 1);
      return g_.call("resize", {read},
                     {{"scales", scales}, {"mode", g_.one_of<std::string>({"nearest", "linear"})}});
    }
    default:
      return convolution(x, read);
  }
}

/// Reads `x` twice and more in one op.
std::optional<Ref> QdqGrower::pair(Ref x) {
  Ref other = partner(x);
  switch (g_.pick(8)) {
    case 0:
      return g_.call("concat", {x, other, x}, {{"axis", random_axis(g_, g_.rank(x))}});
    case 1: {
      Ref bound = g_.constant(g_.type(x), {-1, 1});
      std::optional<Ref> condition = g_.call("greater", {x, bound});
      return condition ? g_.call("where", {*condition, x, other}) : std::nullopt;
    }
    case 2:
      return g_.call("multiply", {x, g_.then("sigmoid", {x})});
    default:
      return g_.call(g_.one_of<std::string>({"add", "add", "multiply", "maximum", "subtract"}),
                     {x, other});
  }
}

/// Moves or chooses elements.
std::optional<Ref> QdqGrower::moved(Ref x) {
  switch (g_.pick(4)) {
    case 0: {
      Ints pads(2 * g_.rank(x), 0);
      pads[g_.pick(pads.size())] = g_.between(0, 2);
      return g_.call("pad", {x}, {{"pads", pads}});
    }
    case 1:
      return g_.call("gather", {x, g_.constant_of(TensorType{DType::kI64, {Dim(2)}}, {0, 0})},
                     {{"axis", random_axis(g_, g_.rank(x))}});
    default:
      return g_.viewed(x);
  }
}

std::optional<Ref> QdqGrower::element_op(Ref x) {
  switch (g_.pick(8)) {
    case 0:
      return g_.call("clip", {x}, {{"min", 0.0}, {"max", g_.chance(0.5) ? 6.0 : 1.0}});
    case 1:
      return g_.call("softmax", {x}, {{"axis", int64_t{-1}}});
    case 2:
      return g_.call("mean", {x}, {{"axes", Ints{-1}}, {"keepdims", g_.chance(0.5)}});
    default:
      return g_.call(g_.one_of<std::string>(
                         {"relu", "relu", "sigmoid", "leaky_relu", "hard_swish", "tanh", "gelu"}),
                     {x});
  }
}

/// Adds an op that reads a value, and mostly its quantize.
bool QdqGrower::add_op() {
  const size_t at = values_.size() - 1 - g_.pick(std::min<size_t>(values_.size(), 2));
  Quantised x = values_[at];
  Ref read = floats(x);
  values_[at].floats = x.floats;
  if (!x.floats || g_.rank(read) == 0) return false;
  std::optional<Ref> y;
  const size_t which = g_.pick(10);
  if (which < 4) {
    y = g_.rank(read) > 2 && g_.chance(0.8) ? image_op(x, read) : product(x, read);
  } else {
    y = which < 6 ? pair(read) : which < 8 ? moved(read) : element_op(read);
  }
  if (!y) return false;
  if (g_.chance(0.3)) y = element_op(*y).value_or(*y);
  if (g_.chance(0.85)) quantise(*y);
  return true;
}

bool QdqGrower::grow() {
  if (!start()) return false;
  for (int64_t k = g_.between(1, 7); k > 0; --k) add_op();
  return true;
}

}  // namespace

Family qdq_family() {
  return {"qdq", 5, [](Grower& g) { return QdqGrower(g).grow(); }, {"quantize", "dequantize"}};
}

}  // namespace byoc::fuzz
