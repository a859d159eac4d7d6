// SPDX-License-Identifier: Apache-2.0
// (x - z) w = x w - z (sums of the terms of w), and for signed bytes x = u - 128:
//   before: %1 = cast(%x) {to=i32}
//           %2 = subtract(%1, %z)               %z: i32[], of each run
//           %3 = matmul(%2, %w)                 %w: i32 constants that fit in i8
//   after:  %1 = matmul_integers(%x, %bytes)
//           %2 = multiply(%z, %sums)
//           %3 = subtract(%1, %2)
// A convolution does the same with an image whose edges hold the zero point. Weights that fit in u8
// are bytes + offset: the product with offset is that with ones, times offset. Of two matrices of
// the run, zero points are attributes:
//   before: %2 = subtract(%0, 3), %3 = subtract(%1, 7), %4 = matmul(%2, %3)    in i32
//   after:  %2 = matmul_integers(%0, %1) {a_zero=3, b_zero=7}
#include "core/codegen/integers/exact.h"

#include <algorithm>

#include "core/codegen/integers/constants.h"
#include "core/codegen/integers/exact_operands.h"

namespace byoc::integers {
namespace {

/// A product to rewrite, in values of the original function.
struct Exact {
  ByteOperand x;
  ByteWeights w;
  std::optional<ByteOperand> b;  // a matrix of the run, in place of w
  Shape shape;                   // of the weights: [k, n], or [o, c / group, kernel...]
  bool is_conv = false;
  bool has_pads = false;
};

// Returns the convolution of a row or an image that makes a value, or null.
const Call* convolution_of(const Function& from, ValueId value) {
  const Call* row = call_of(from, value, "conv1d");
  return row != nullptr ? row : call_of(from, value, "conv2d");
}

// Returns true for one group, and for a group per channel.
bool has_groups(const Call& call, TypeId x, TypeId w) {
  const Dim group(call.attrs->i("group", 1));
  return group == Dim(1) || (group == w->shape[0] && group == x->shape[1]);
}

bool has_known_zero(const ByteOperand& x) {
  return !x.zero && -128 <= x.constant_zero && x.constant_zero <= 255;
}

// Reads a product of two matrices of the run whose zero points are constants.
std::optional<Exact> read_pair(const Function& from, const ByteOperand& x, ValueId second) {
  const std::optional<ByteOperand> b = byte_operand_of(from, second);
  if (!b || std::holds_alternative<Constant>(from.nodes[b->x.node].kind)) return std::nullopt;
  const TypeId type = from.type(b->x);
  if (!has_known_zero(x) || !has_known_zero(*b) ||
      !are_large_matrices(from.type(x.x)->shape, type->shape))
    return std::nullopt;
  return Exact{.x = x, .b = b, .shape = type->shape};
}

std::optional<Exact> read_exact(const Function& from, uint32_t node, const Wanted& wanted) {
  const ValueId root{node, 0};
  const Call* conv = wanted.convolutions ? convolution_of(from, root) : nullptr;
  const bool is_matmul = wanted.products && call_of(from, root, "matmul") != nullptr;
  if ((!is_matmul && conv == nullptr) || from.type(root)->dtype != DType::kI32) return std::nullopt;
  const std::span<const ValueId> args = from.args(from.nodes[node]);
  const std::optional<ByteOperand> x = byte_operand_of(from, args[0]);
  const TypeId w = from.type(args[1]);
  if (!x || !is_static(w->shape)) return std::nullopt;
  if (is_matmul) {
    if (std::optional<Exact> pair = read_pair(from, *x, args[1])) return pair;
  }
  const TypeId image = from.type(x->x);
  Exact out{.x = *x, .shape = w->shape, .is_conv = conv != nullptr};
  if (is_matmul && (w->shape.size() != 2 || image->shape.size() < 2)) return std::nullopt;
  if (conv != nullptr) {
    if (!is_static(image->shape) || !is_static(from.type(root)->shape)) return std::nullopt;
    if (!has_groups(*conv, image, w)) return std::nullopt;
    const Ints pads = conv->attrs->ints("pads");
    out.has_pads = std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
    const bool is_byte_zero = x->zero_bytes && from.type(*x->zero_bytes)->dtype == image->dtype;
    const int32_t edge = x->constant_zero + (image->dtype == DType::kI8 ? 128 : 0);
    if (out.has_pads && (x->zero ? !is_byte_zero : edge < 0 || edge > 255)) return std::nullopt;
  }
  std::optional<ByteWeights> weights = byte_weights_of(from, args[1]);
  const Result<int64_t> count = num_elements(w->shape);
  if (!weights || !count.ok() || static_cast<size_t>(*count) != weights->bytes.size())
    return std::nullopt;
  out.w = *std::move(weights);
  return out;
}

/// Writes the ops of a product.
class ExactWriter {
 public:
  ExactWriter(IRModule& module, const OpRegistry& ops, Rewriter& rewriter, uint32_t node,
              const Exact& p)
      : rewriter_(rewriter),
        from_(rewriter.from()),
        add_(module, ops, rewriter.to(), from_.nodes[node].loc),
        p_(p),
        attrs_(*std::get<Call>(from_.nodes[node].kind).attrs),
        result_(from_.nodes[node].types[0]) {
    is_row_ = p.is_conv && p.shape.size() == 3;
    is_signed_ = from_.type(p.x.x)->dtype == DType::kI8;
    zero_ = p.x.constant_zero + (is_signed_ ? 128 : 0);
  }

  ValueId write() {
    if (p_.b) return product_of_pair();
    x_ = as_unsigned(rewriter_.map(p_.x.x));
    image_ = as_image(from_.type(p_.x.x)->shape);
    if (is_row_) x_ = in_shape(x_, image_);
    if (p_.has_pads && p_.x.zero) surround();
    ValueId y = product(p_.w.bytes, as_image(p_.shape));
    if (p_.w.offset != 0) {
      const ValueId offset = add_.constant(DType::kI32, {}, std::vector<int32_t>{p_.w.offset});
      y = add_.add("add", {}, {y, add_.add("multiply", {}, {product_with_ones(), offset})});
    }
    return is_row_ ? in_shape(y, result_->shape) : y;
  }

 private:
  // Signed bytes move up by 128.
  ValueId as_unsigned(ValueId bytes) {
    if (!is_signed_) return bytes;
    const ValueId bits = add_.add("cast", {{"to", DType::kU8}}, {bytes});
    return add_.add("add", {}, {bits, add_.constant(DType::kU8, {}, std::vector<uint8_t>{128})});
  }

  ValueId in_shape(ValueId x, const Shape& shape) {
    return add_.add("reshape", {{"shape", static_extents(shape)}, {"allow_zero", true}}, {x});
  }
  // A row is an image of one row.
  Shape as_image(Shape shape) const {
    if (is_row_) shape.insert(shape.end() - 1, Dim(1));
    return shape;
  }
  Ints list(std::string_view name, int64_t of_row) const {
    Ints out = attrs_.ints(name);
    if (is_row_)
      for (size_t k = 0; k < out.size(); k += 2) out.insert(out.begin() + k, of_row);
    return out;
  }

  ValueId product_of_pair() {
    return add_.add(
        "matmul_integers",
        {{"a_zero", int64_t{p_.x.constant_zero}}, {"b_zero", int64_t{p_.b->constant_zero}}},
        {rewriter_.map(p_.x.x), rewriter_.map(p_.b->x)});
  }
  // Gives the image edges that hold the zero point of the run.
  void surround();
  // Adds the product of x - zero with these weights.
  ValueId product(const std::vector<int8_t>& weights, const Shape& shape);
  // The sums of x - zero over the terms of each result.
  ValueId product_with_ones() {
    Shape shape = as_image(p_.shape);
    const bool is_by_channel = p_.is_conv && attrs_.i("group", 1) > 1;
    if (!is_by_channel) shape[p_.is_conv ? 0 : 1] = Dim(1);
    const auto count = static_cast<size_t>(*num_elements(shape));
    return product(std::vector<int8_t>(count, 1), shape);
  }
  // A value per column or channel.
  ValueId constant(const std::vector<int32_t>& values) {
    Shape shape{Dim(static_cast<int64_t>(values.size()))};
    if (p_.is_conv) shape.insert(shape.end(), 2, Dim(1));
    return add_.constant(DType::kI32, shape, values);
  }

  Rewriter& rewriter_;
  const Function& from_;
  Adder add_;
  const Exact& p_;
  Attrs attrs_;
  TypeId result_;
  ValueId x_;
  Shape image_;  // of x
  bool is_row_ = false, is_signed_ = false, is_surrounded_ = false;
  int32_t zero_ = 0;  // the part of the zero point of x_ that is a constant
};

void ExactWriter::surround() {
  const Ints pads = list("pads", 0);
  const int64_t h = image_[2].extent(), w = image_[3].extent();
  const int64_t rows = h + pads[0] + pads[2], columns = w + pads[1] + pads[3];
  std::vector<uint8_t> inside(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < h; ++row) {
    auto first = inside.begin() + (row + pads[0]) * columns + pads[1];
    std::fill(first, first + w, uint8_t{1});
  }
  const ValueId is_inside =
      add_.constant(DType::kBool, make_shape(Ints{1, 1, rows, columns}), inside);
  const ValueId wide =
      add_.add("pad", {{"pads", Ints{0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]}}}, {x_});
  const ValueId zero = as_unsigned(rewriter_.map(*p_.x.zero_bytes));
  x_ = add_.add("where", {}, {is_inside, wide, zero});
  is_surrounded_ = true;
}

ValueId ExactWriter::product(const std::vector<int8_t>& weights, const Shape& shape) {
  const auto columns = static_cast<size_t>(shape[p_.is_conv ? 0 : 1].extent());
  const size_t terms = weights.size() / columns;
  std::vector<int32_t> sums(columns), start(columns);
  for (size_t i = 0; i < weights.size(); ++i)
    sums[p_.is_conv ? i / terms : i % columns] += weights[i];
  for (size_t c = 0; c < columns; ++c)
    start[c] = static_cast<int32_t>(uint32_t{0} -
                                    static_cast<uint32_t>(zero_) * static_cast<uint32_t>(sums[c]));
  Attrs attrs;
  if (p_.is_conv) {
    for (std::string_view name : {"strides", "dilations"}) attrs.set(name, list(name, 1));
    attrs.set("group", attrs_.i("group", 1));
    if (p_.has_pads && !is_surrounded_)
      attrs.set("pads", list("pads", 0)), attrs.set("pad_value", int64_t{zero_});
  }
  set_most_weight(attrs, weights);
  const ValueId w = add_.constant(DType::kI8, shape, weights);
  ValueId y = add_.add(p_.is_conv ? "conv2d_integers" : "matmul_integers", attrs, {x_, w});
  if (zero_ != 0) y = add_.add("add", {}, {y, constant(start)});
  if (!p_.x.zero) return y;
  const ValueId shift = add_.add("multiply", {}, {rewriter_.map(*p_.x.zero), constant(sums)});
  return add_.add("subtract", {}, {y, shift});
}

// Marks the values that are read once the products no longer read their operands in i32.
std::vector<bool> find_read(const Function& from,
                            const std::vector<std::optional<Exact>>& products) {
  std::vector<bool> out(from.nodes.size());
  for (ValueId value : from.results) out[value.node] = true;
  for (size_t node = from.nodes.size(); node-- > 0;) {
    auto* call = std::get_if<Call>(&from.nodes[node].kind);
    const bool may_go =
        call != nullptr && (call->op->name == "cast" || call->op->name == "subtract");
    if (!out[node] && may_go) continue;
    out[node] = true;
    if (const std::optional<Exact>& product = products[node]) {
      const ByteOperand& x = product->x;
      for (const std::optional<ValueId>& value : {std::optional(x.x), x.zero, x.zero_bytes})
        if (value) out[value->node] = true;
      if (product->b) out[product->b->x.node] = true;
      continue;
    }
    for (ValueId value : from.args(from.nodes[node])) out[value.node] = true;
  }
  return out;
}

}  // namespace

Function with_exact_products(IRModule& module, const Function& function, const OpRegistry& ops,
                             const Wanted& wanted) {
  std::vector<std::optional<Exact>> products(function.nodes.size());
  for (uint32_t node = 0; node < function.nodes.size(); ++node)
    products[node] = read_exact(function, node, wanted);
  if (std::ranges::none_of(products, [](const auto& product) { return product.has_value(); }))
    return function;
  const std::vector<bool> is_read = find_read(function, products);
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!is_read[node]) continue;
    if (products[node]) {
      rewriter.set({node, 0}, ExactWriter(module, ops, rewriter, node, *products[node]).write());
    } else {
      rewriter.copy(node);
    }
  }
  return std::move(rewriter).finish();
}

}  // namespace byoc::integers
