// SPDX-License-Identifier: Apache-2.0
// A result is round(f(sums * step + bias) / scale) + zero_point for sums of products in i32. For f
// relu or clip this is round((sums + bias / step) * (step / scale)) + zero_point within bounds,
// halves to even. ONNX Runtime's kernels compute the same, with the same roundings.
#include "core/codegen/integers/products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codegen/integers/constants.h"
#include "core/codegen/integers/exact_operands.h"

namespace byoc::integers {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLeastFactor = 1e-30f;  // a bias divided by it is finite
constexpr float kMostBias = 1 << 30;    // in steps: sums of it and of products fit in i32

// Matches products of two dequantized operands, with a bias, relu or clip, and quantize.
constexpr std::string_view kPattern = R"(
{"optional": {"op": "quantize", "args": ["$", {"const": true, "as": "y_scale"},
                                         {"const": true, "as": "y_zero"}], "as": "quantize"},
 "on": {"optional": {"one_of": [{"op": "relu", "args": ["$"]}, {"op": "clip", "args": ["$"]}],
                     "as": "post"},
 "on": {"optional": {"op": "add", "args": ["$", {"const": true, "as": "bias"}], "as": "add"},
 "on": {"one_of": [{"op": "conv2d", "args": [X, W], "as": "anchor"},
                   {"op": "matmul", "args": [X, W], "as": "anchor"},
                   {"op": "gemm", "args": [X, W], "as": "anchor"}]}}}})";

std::string product_pattern() {
  std::string out;
  for (char c : kPattern) {
    if (c == 'X') out += dequantized("x", "any");
    else if (c == 'W') out += dequantized("w", "any");
    else out += c;
  }
  return out;
}

/// A match, read: the numbers of the original function.
struct Product {
  bool is_conv = false;
  bool is_constant = true;          // w; else a matrix of each run, without weights here
  int64_t channels = 0, terms = 0;  // of the result; products per channel
  size_t channel_axis = 0, rank = 0;
  Scale x, w;
  std::optional<Scale> y;
  std::vector<int8_t> weights;  // [channels, terms], zero points subtracted
  std::vector<float> bias;      // in steps of the sums, one per channel
  bool has_whole_bias = true;
  int64_t x_zero = 0;  // of x as u8
};

class Reader {
 public:
  Reader(const Function& from, const Match& match) : from_(from), match_(match) {}
  std::optional<Product> read(const Wanted& wanted);

 private:
  const Call& call(std::string_view name) const {
    return std::get<Call>(from_.nodes[captured(match_, name)->node].kind);
  }
  TypeId type(std::string_view name) const { return from_.type(*captured(match_, name)); }
  bool read_shapes();
  bool read_weights();
  bool is_pair() const;
  bool read_bias();

  const Function& from_;
  const Match& match_;
  Product out_;
};

bool Reader::read_shapes() {
  const TypeId result = type("anchor"), w = type("w"), x = type("x");
  if (!is_static(w->shape) || !is_byte(x->dtype) || !is_byte(w->dtype)) return false;
  if (out_.is_conv && !(is_static(x->shape) && is_static(result->shape))) return false;
  const Call& anchor = call("anchor");
  out_.rank = result->shape.size();
  out_.channel_axis = out_.is_conv ? 1 : out_.rank - 1;
  if (out_.is_conv) {
    const Dim group(anchor.attrs->i("group", 1));  // one, or one per channel
    if (group != Dim(1) && (group != w->shape[0] || group != x->shape[1])) return false;
  } else if (x->shape.size() < 2 || anchor.attrs->b("trans_a", false) ||
             anchor.attrs->f("alpha", 1) != 1) {
    return false;
  }
  if (out_.is_constant ? !out_.is_conv && w->shape.size() != 2 : !is_pair()) return false;
  out_.channels = result->shape[out_.channel_axis].extent();
  if (!out_.is_constant) return true;
  const Result<int64_t> elements = num_elements(w->shape);
  if (!elements.ok() || *elements <= 0) return false;
  out_.terms = *elements / out_.channels;
  return true;
}

// Returns true for a product of two values of the run that pays.
bool Reader::is_pair() const {
  return call("anchor").op->name == "matmul" && out_.w.is_single() &&
         out_.w.zero_points.size() == 1 && are_large_matrices(type("x")->shape, type("w")->shape);
}

// Reads the weights with the channels first. Their scales and zero points are one per channel.
bool Reader::read_weights() {
  const std::optional<std::vector<float>> all = numbers_of(from_, *captured(match_, "w"));
  const auto channels = static_cast<size_t>(out_.channels), terms = static_cast<size_t>(out_.terms);
  const bool is_first = out_.is_conv || call("anchor").attrs->b("trans_b", false);
  for (const std::vector<float>* list : {&out_.w.factors, &out_.w.zero_points})
    if (list->size() != 1 && list->size() != channels) return false;
  if (!out_.w.is_single() || out_.w.zero_points.size() > 1) {
    const auto rank = static_cast<int64_t>(type("w")->shape.size());
    const int64_t axis = call("w_floats").attrs->i("axis", 1);
    if ((axis < 0 ? axis + rank : axis) != (is_first ? 0 : rank - 1)) return false;
  }
  if (!all || all->size() != channels * terms) return false;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t k = 0; k < terms; ++k) {
      const float weight = (*all)[is_first ? c * terms + k : k * channels + c];
      const float from_zero = weight - out_.w.zero_point(c);
      if (from_zero < -128 || from_zero > 127) return false;
      out_.weights.push_back(static_cast<int8_t>(from_zero));
    }
  }
  return true;
}

// Reads a bias of one number, or of one per channel, in steps of the sums. Quantised models have a
// bias of whole steps, of which f32 has lost a part of the last digits: these are added exactly.
bool Reader::read_bias() {
  out_.bias.assign(static_cast<size_t>(out_.channels), 0);
  const std::optional<ValueId> bias = captured(match_, "bias");
  if (!bias) return true;
  const std::optional<std::vector<float>> numbers = numbers_of(from_, *bias);
  const Shape& shape = from_.type(*bias)->shape;
  if (!numbers || from_.type(*bias)->dtype != DType::kF32 || shape.size() > out_.rank) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_channel = d + out_.rank - shape.size() == out_.channel_axis;
    if (shape[d].extent() != 1 && !(is_channel && shape[d].extent() == out_.channels)) return false;
  }
  constexpr float kDigits = 0x1p-22f;  // three roundings: the scale's, the bias's, the quotient's
  for (size_t c = 0; c < out_.bias.size(); ++c) {
    const float steps =
        (*numbers)[numbers->size() == 1 ? 0 : c] / (out_.x.factor(0) * out_.w.factor(c));
    const float whole = std::nearbyint(steps);
    if (!(std::fabs(steps) < kMostBias)) return false;
    out_.has_whole_bias &= std::fabs(steps - whole) <= kDigits * std::fabs(steps);
    out_.bias[c] = whole;
  }
  return true;
}

std::optional<Product> Reader::read(const Wanted& wanted) {
  out_.is_conv = call("anchor").op->facts.family == OpFamily::kConvolution;
  if (out_.is_conv ? !wanted.convolutions : !wanted.products) return std::nullopt;
  std::optional<Scale> x = scale_of(from_, match_, "x"), w = scale_of(from_, match_, "w");
  if (!x || !w || !x->is_single() || x->zero_points.size() != 1) return std::nullopt;
  out_.x = *std::move(x), out_.w = *std::move(w);
  if (captured(match_, "quantize")) {
    out_.y = scale_of(from_, match_, "y");
    if (!out_.y || !out_.y->is_single() || !is_byte(type("y_zero")->dtype)) return std::nullopt;
  }
  out_.is_constant =
      std::holds_alternative<Constant>(from_.nodes[captured(match_, "w")->node].kind);
  if (!read_shapes() || (out_.is_constant && !read_weights()) || !read_bias()) return std::nullopt;
  for (size_t c = 0; c < out_.bias.size(); ++c) {
    const float step = out_.x.factor(0) * out_.w.factor(c);
    const float factor = step / (out_.y ? out_.y->factor(0) : 1);
    if (!(step >= kLeastFactor && factor >= kLeastFactor && std::isfinite(factor)))
      return std::nullopt;
  }
  const float shift = type("x")->dtype == DType::kI8 ? 128 : 0;
  out_.x_zero = static_cast<int64_t>(out_.x.zero_point(0) + shift);
  return std::move(out_);
}

class Writer {
 public:
  Writer(IRModule& module, const OpRegistry& ops, const Match& match, Rewriter& rewriter,
         const Product& product)
      : from_(rewriter.from()),
        match_(match),
        rewriter_(rewriter),
        add_(module, ops, rewriter.to(), from_.nodes[captured(match, "anchor")->node].loc),
        p_(product) {}
  ValueId write();

 private:
  const Node& node(std::string_view name) const {
    return from_.nodes[captured(match_, name)->node];
  }
  ValueId old(std::string_view name) const { return rewriter_.map(*captured(match_, name)); }
  const Attrs& attrs(std::string_view name) const { return *std::get<Call>(node(name).kind).attrs; }
  ValueId operand();
  ValueId sums();
  ValueId sums_of_pair();
  ValueId requantized(ValueId sums);
  ValueId in_floats(ValueId sums);
  Shape per_channel() const;

  const Function& from_;
  const Match& match_;
  Rewriter& rewriter_;
  Adder add_;
  const Product& p_;
};

// Returns the shape of a value per channel, which broadcasts to the result.
Shape Writer::per_channel() const {
  Shape out{p_.channels};
  for (size_t d = p_.channel_axis + 1; d < p_.rank; ++d) out.push_back(1);
  return out;
}

// Returns x as u8: i8 moves up by 128, as its zero point does.
ValueId Writer::operand() {
  const ValueId x = old("x");
  if (from_.type(*captured(match_, "x"))->dtype == DType::kU8) return x;
  const ValueId bits = add_.add("cast", {{"to", DType::kU8}}, {x});
  return add_.add("add", {}, {bits, add_.constant(DType::kU8, {}, std::vector<uint8_t>{128})});
}

// Adds the sums of products of two values of the run, each less its zero point, and of a bias of
// whole steps.
ValueId Writer::sums_of_pair() {
  const ValueId products = add_.add("matmul_integers",
                                    {{"a_zero", static_cast<int64_t>(p_.x.zero_point(0))},
                                     {"b_zero", static_cast<int64_t>(p_.w.zero_point(0))}},
                                    {old("x"), old("w")});
  if (!captured(match_, "bias") || !p_.has_whole_bias) return products;
  const std::vector<int32_t> start(p_.bias.begin(), p_.bias.end());
  return add_.add("add", {}, {products, add_.constant(DType::kI32, per_channel(), start)});
}

// Adds the sums of (x - zero point) * w and of a bias of whole steps: products with the zero point
// are the same for all cells of a channel.
ValueId Writer::sums() {
  if (!p_.is_constant) return sums_of_pair();
  const auto channels = static_cast<size_t>(p_.channels), terms = static_cast<size_t>(p_.terms);
  std::vector<int32_t> start(channels);
  for (size_t c = 0; c < channels; ++c) {
    int64_t sum = 0;
    for (size_t k = 0; k < terms; ++k) sum += p_.weights[c * terms + k];
    const int64_t bias = p_.has_whole_bias ? static_cast<int64_t>(p_.bias[c]) : 0;
    start[c] = static_cast<int32_t>(static_cast<uint32_t>(bias - p_.x_zero * sum));
  }
  ValueId products;
  if (p_.is_conv) {
    Attrs conv = attrs("anchor");
    conv.set("pad_value", p_.x_zero);
    set_most_weight(conv, p_.weights);
    const ValueId w =
        add_.constant(DType::kI8, from_.type(*captured(match_, "w"))->shape, p_.weights);
    products = add_.add("conv2d_integers", std::move(conv), {operand(), w});
  } else {
    std::vector<int8_t> columns(channels * terms);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t k = 0; k < terms; ++k) columns[k * channels + c] = p_.weights[c * terms + k];
    }
    const ValueId w = add_.constant(DType::kI8, {p_.terms, p_.channels}, columns);
    Attrs product;
    set_most_weight(product, p_.weights);
    products = add_.add("matmul_integers", std::move(product), {operand(), w});
  }
  return add_.add("add", {}, {products, add_.constant(DType::kI32, per_channel(), start)});
}

ValueId Writer::requantized(ValueId sums) {
  const DType to = from_.type(*captured(match_, "y_zero"))->dtype;
  const float scale = p_.y->factor(0), zero_point = p_.y->zero_point(0);
  float low = -kInfinity, high = kInfinity;
  if (captured(match_, "post")) {
    const bool is_relu = std::get<Call>(node("post").kind).op->name == "relu";
    low = is_relu ? 0 : static_cast<float>(attrs("post").f("min", -kInfinity));
    high = is_relu ? kInfinity : static_cast<float>(attrs("post").f("max", kInfinity));
  }
  const float least = to == DType::kI8 ? -128 : 0, greatest = to == DType::kI8 ? 127 : 255;
  auto integer = [&](float bound) {
    const float steps = std::nearbyint(bound / scale) + zero_point;
    return static_cast<int64_t>(std::clamp(steps, least, greatest));
  };
  std::vector<float> factors;
  for (size_t c = 0; c < static_cast<size_t>(p_.channels); ++c)
    factors.push_back(p_.x.factor(0) * p_.w.factor(c) / scale);
  return add_.add("requantize",
                  {{"to", to},
                   {"zero_point", static_cast<int64_t>(zero_point)},
                   {"min", integer(low)},
                   {"max", integer(high)}},
                  {sums, add_.constant(DType::kF32, per_channel(), factors)});
}

// Adds the ops after the product on floats, as the graph has them.
ValueId Writer::in_floats(ValueId sums) {
  std::vector<float> steps;
  for (size_t c = 0; c < static_cast<size_t>(p_.channels); ++c)
    steps.push_back(p_.x.factor(0) * p_.w.factor(c));
  const ValueId floats = add_.add("cast", {{"to", DType::kF32}}, {sums});
  ValueId out =
      add_.add("multiply", {}, {floats, add_.constant(DType::kF32, per_channel(), steps)});
  if (!p_.has_whole_bias) out = add_.add("add", {}, {out, old("bias")});
  if (captured(match_, "post"))
    out = add_.add(std::get<Call>(node("post").kind).op->name, attrs("post"), {out});
  if (captured(match_, "quantize"))
    out = add_.add("quantize", attrs("quantize"), {out, old("y_scale"), old("y_zero")});
  return out;
}

ValueId Writer::write() {
  const ValueId exact = sums();
  return p_.y && p_.has_whole_bias ? requantized(exact) : in_floats(exact);
}

}  // namespace

Result<Function> with_integer_products(IRModule& module, const Function& function,
                                       const OpRegistry& ops, const Wanted& wanted) {
  BYOC_TRY(Pattern pattern, Pattern::parse(product_pattern()));
  return rewrite(function, pattern,
                 [&](const Match& match, Rewriter& rewriter) -> Result<std::optional<ValueId>> {
                   std::optional<Product> product = Reader(function, match).read(wanted);
                   if (!product) return std::optional<ValueId>();
                   return std::optional(Writer(module, ops, match, rewriter, *product).write());
                 });
}

}  // namespace byoc::integers
