// SPDX-License-Identifier: Apache-2.0
// (x - z) w = x w - z (sums of the columns of w), and for signed bytes x = u - 128:
//   before: %1 = cast(%x) {to=i32}
//           %2 = subtract(%1, %z)               %z: i32[], of each run
//           %3 = matmul(%2, %w)                 %w: i32 constants that fit in i8
//   after:  %1 = matmul_integers(%x, %bytes)
//           %2 = multiply(%z, %sums)
//           %3 = subtract(%1, %2)
#include "core/codegen/integers/exact.h"

#include <algorithm>
#include <cstring>

#include "core/codegen/integers/constants.h"

namespace byoc::integers {
namespace {

/// A product to rewrite, in values of the original function.
struct Exact {
  ValueId x;                    // of bytes
  std::optional<ValueId> zero;  // one i32
  int64_t k = 0, n = 0;
  std::vector<int8_t> weights;  // [k, n]
};

const Call* call_of(const Function& from, ValueId value, std::string_view op) {
  auto* call = std::get_if<Call>(&from.nodes[value.node].kind);
  return call != nullptr && call->op->name == op ? call : nullptr;
}

ValueId arg(const Function& from, ValueId value, size_t k) {
  return from.args(from.nodes[value.node])[k];
}

bool is_single(TypeId type) {
  return is_static(type->shape) &&
         std::ranges::all_of(type->shape, [](const Dim& dim) { return dim == Dim(1); });
}

// Returns the bytes that a value of i32 was made of; nullopt: it was not.
std::optional<ValueId> bytes_of(const Function& from, ValueId value) {
  if (call_of(from, value, "cast") == nullptr) return std::nullopt;
  const ValueId x = arg(from, value, 0);
  return is_byte(from.type(x)->dtype) ? std::optional(x) : std::nullopt;
}

// Reads constants of i32, or of bytes before a cast, if all fit in i8.
bool read_weights(const Function& from, ValueId value, Exact& out) {
  const std::optional<ValueId> bytes = bytes_of(from, value);
  auto* constant = std::get_if<Constant>(&from.nodes[bytes.value_or(value).node].kind);
  if (constant == nullptr) return false;
  const DType dtype = from.type(bytes.value_or(value))->dtype;
  const size_t size = dtype_size(dtype), count = constant->data->size() / size;
  if (count != static_cast<size_t>(out.k * out.n)) return false;
  out.weights.resize(count);
  for (size_t i = 0; i < count; ++i) {
    int32_t number = 0;
    std::memcpy(&number, constant->data->data() + i * size, size);
    if (dtype == DType::kI8) number = static_cast<int8_t>(number);
    if (number < -128 || number > 127) return false;
    out.weights[i] = static_cast<int8_t>(number);
  }
  return true;
}

std::optional<Exact> read_product(const Function& from, uint32_t node) {
  const ValueId root{node, 0};
  if (call_of(from, root, "matmul") == nullptr || from.type(root)->dtype != DType::kI32)
    return std::nullopt;
  ValueId a = arg(from, root, 0);
  const ValueId w = arg(from, root, 1);
  Exact out;
  if (call_of(from, a, "subtract") != nullptr && is_single(from.type(arg(from, a, 1))) &&
      from.type(arg(from, a, 1))->shape.size() <= from.type(root)->shape.size()) {
    out.zero = arg(from, a, 1);
    a = arg(from, a, 0);
  }
  const std::optional<ValueId> x = bytes_of(from, a);
  const Shape& shape = from.type(w)->shape;
  if (!x || shape.size() != 2 || !is_static(shape) || from.type(*x)->shape.size() < 2 ||
      !is_static(from.type(*x)->shape) || !is_static(from.type(root)->shape))
    return std::nullopt;
  out.x = *x, out.k = shape[0].extent(), out.n = shape[1].extent();
  if (out.k * out.n == 0 || !read_weights(from, w, out)) return std::nullopt;
  return out;
}

// Adds the product. Signed bytes move up by 128, and their zero point does.
ValueId write_product(IRModule& module, const OpRegistry& ops, Rewriter& rewriter, uint32_t node,
                      const Exact& p) {
  const Function& from = rewriter.from();
  Adder add(module, ops, rewriter.to(), from.nodes[node].loc);
  std::vector<int32_t> sums(static_cast<size_t>(p.n)), start(sums.size());
  for (size_t i = 0; i < p.weights.size(); ++i) sums[i % sums.size()] += p.weights[i];
  for (size_t c = 0; c < sums.size(); ++c)
    start[c] = static_cast<int32_t>(uint32_t{0} - 128 * static_cast<uint32_t>(sums[c]));
  ValueId x = rewriter.map(p.x);
  const bool is_signed = from.type(p.x)->dtype == DType::kI8;
  if (is_signed) {
    const ValueId bits = add.add("cast", {{"to", DType::kU8}}, {x});
    x = add.add("add", {}, {bits, add.constant(DType::kU8, {}, std::vector<uint8_t>{128})});
  }
  const ValueId w = add.constant(DType::kI8, {p.k, p.n}, p.weights);
  ValueId y = add.add("matmul_integers", {}, {x, w});
  if (is_signed) y = add.add("add", {}, {y, add.constant(DType::kI32, {p.n}, start)});
  if (!p.zero) return y;
  const ValueId columns = add.constant(DType::kI32, {p.n}, sums);
  return add.add("subtract", {}, {y, add.add("multiply", {}, {rewriter.map(*p.zero), columns})});
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
      out[product->x.node] = true;
      if (product->zero) out[product->zero->node] = true;
      continue;
    }
    for (ValueId value : from.args(from.nodes[node])) out[value.node] = true;
  }
  return out;
}

}  // namespace

Function with_exact_products(IRModule& module, const Function& function, const OpRegistry& ops) {
  std::vector<std::optional<Exact>> products(function.nodes.size());
  for (uint32_t node = 0; node < function.nodes.size(); ++node)
    products[node] = read_product(function, node);
  if (std::ranges::none_of(products, [](const auto& product) { return product.has_value(); }))
    return function;
  const std::vector<bool> is_read = find_read(function, products);
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!is_read[node]) continue;
    if (products[node]) {
      rewriter.set({node, 0}, write_product(module, ops, rewriter, node, *products[node]));
    } else {
      rewriter.copy(node);
    }
  }
  return std::move(rewriter).finish();
}

}  // namespace byoc::integers
