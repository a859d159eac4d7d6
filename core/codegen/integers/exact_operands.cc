// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/integers/exact_operands.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/codegen/integers/constants.h"

namespace byoc::integers {
namespace {

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

// Returns constants of i32, or of bytes before a cast.
std::optional<std::vector<int32_t>> constants_of(const Function& from, ValueId value) {
  const ValueId stored = bytes_of(from, value).value_or(value);
  auto* constant = std::get_if<Constant>(&from.nodes[stored.node].kind);
  const DType dtype = from.type(stored)->dtype;
  if (constant == nullptr || (dtype != DType::kI32 && !is_byte(dtype))) return std::nullopt;
  const size_t size = dtype_size(dtype);
  std::vector<int32_t> out(constant->data->size() / size);
  for (size_t i = 0; i < out.size(); ++i) {
    std::memcpy(&out[i], constant->data->data() + i * size, size);
    if (dtype == DType::kI8) out[i] = static_cast<int8_t>(out[i]);
  }
  return out;
}

}  // namespace

const Call* call_of(const Function& from, ValueId value, std::string_view op) {
  auto* call = std::get_if<Call>(&from.nodes[value.node].kind);
  return call != nullptr && call->op->name == op ? call : nullptr;
}

std::optional<ByteOperand> byte_operand_of(const Function& from, ValueId value) {
  ByteOperand out;
  if (call_of(from, value, "subtract") != nullptr) {
    const ValueId zero = arg(from, value, 1), rest = arg(from, value, 0);
    const TypeId type = from.type(zero);
    if (!is_single(type) || type->shape.size() > from.type(rest)->shape.size()) return std::nullopt;
    const std::optional<std::vector<int32_t>> known = constants_of(from, zero);
    if (known && known->size() == 1) out.constant_zero = known->front();
    else out.zero = zero, out.zero_bytes = bytes_of(from, zero);
    value = rest;
  }
  const std::optional<ValueId> x = bytes_of(from, value);
  if (!x) return std::nullopt;
  out.x = *x;
  return out;
}

std::optional<ByteWeights> byte_weights_of(const Function& from, ValueId value) {
  int32_t zero = 0;
  if (call_of(from, value, "subtract") != nullptr) {
    const std::optional<std::vector<int32_t>> known = constants_of(from, arg(from, value, 1));
    if (!known || known->size() != 1 || std::abs(known->front()) > 255) return std::nullopt;
    zero = known->front();
    value = arg(from, value, 0);
  }
  const std::optional<std::vector<int32_t>> all = constants_of(from, value);
  if (!all || all->empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(*all);
  if (int64_t{most} - least > 255 || least < -1024 || most > 1024) return std::nullopt;
  ByteWeights out;
  if (least - zero < -128 || most - zero > 127) out.offset = most - zero - 127;
  for (int32_t weight : *all) out.bytes.push_back(static_cast<int8_t>(weight - zero - out.offset));
  return out;
}

bool are_large_matrices(const Shape& x, const Shape& b) {
  constexpr int64_t kLeastRows = 8, kLeast = 16;  // terms and columns
  if (!is_static(x) || !is_static(b) || x.size() < 2 || b.size() < 2) return false;
  const bool is_shared = b.size() == 2;
  if (!is_shared && (b.size() != x.size() || !std::equal(b.begin(), b.end() - 2, x.begin())))
    return false;
  return x[x.size() - 2].extent() >= kLeastRows && x.back().extent() >= kLeast &&
         b.back().extent() >= kLeast && x.back() == b[b.size() - 2];
}

}  // namespace byoc::integers
