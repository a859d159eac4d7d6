// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/integers/constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "byoc/base/check.h"

namespace byoc::integers {
namespace {

template <class T>
std::vector<float> floats_of(const Buffer& data) {
  std::vector<float> out(data.size() / sizeof(T));
  for (size_t k = 0; k < out.size(); ++k) {
    T element;
    std::memcpy(&element, data.data() + k * sizeof(T), sizeof(T));
    out[k] = static_cast<float>(element);
  }
  return out;
}

}  // namespace

std::string dequantized(std::string_view name, std::string_view kind) {
  const std::string x = cat("{\"", kind, "\": true, \"as\": \"", name, "\"}");
  const std::string scale = cat("{\"const\": true, \"as\": \"", name, "_scale\"}");
  const std::string zero = cat("{\"const\": true, \"as\": \"", name, "_zero\"}");
  return cat("{\"one_of\": [{\"op\": \"dequantize\", \"args\": [", x, ", ", scale, "], \"as\": \"",
             name, "_floats\"}, {\"op\": \"dequantize\", \"args\": [", x, ", ", scale, ", ", zero,
             "], \"as\": \"", name, "_floats\"}]}");
}

std::optional<ValueId> captured(const Match& match, std::string_view name) {
  auto found = match.captures.find(std::string(name));
  if (found == match.captures.end() || found->second.empty()) return std::nullopt;
  return found->second[0];
}

std::optional<std::vector<float>> numbers_of(const Function& function, ValueId value) {
  auto* constant = std::get_if<Constant>(&function.nodes[value.node].kind);
  if (constant == nullptr) return std::nullopt;
  const DType dtype = function.type(value)->dtype;
  if (dtype == DType::kF32) return floats_of<float>(*constant->data);
  if (dtype == DType::kU8) return floats_of<uint8_t>(*constant->data);
  if (dtype == DType::kI8) return floats_of<int8_t>(*constant->data);
  return std::nullopt;
}

std::optional<Scale> scale_of(const Function& function, const Match& match, std::string_view name) {
  const std::optional<ValueId> scale = captured(match, cat(name, "_scale"));
  const std::optional<ValueId> zero = captured(match, cat(name, "_zero"));
  if (!scale) return std::nullopt;
  std::optional<std::vector<float>> factors = numbers_of(function, *scale);
  std::optional<std::vector<float>> zero_points{{0.0f}};
  if (zero) zero_points = numbers_of(function, *zero);
  if (!factors || !zero_points || factors->empty() || zero_points->empty()) return std::nullopt;
  const bool is_usable = std::ranges::all_of(
      *factors, [](float factor) { return factor > 0 && std::isfinite(factor); });
  if (!is_usable) return std::nullopt;
  return Scale{*std::move(factors), *std::move(zero_points)};
}

void set_most_weight(Attrs& attrs, std::span<const int8_t> weights) {
  constexpr int kSmall = 64;
  const bool are_small = std::ranges::all_of(
      weights, [](int weight) { return -kSmall <= weight && weight <= kSmall; });
  if (are_small) attrs.set("most_weight", int64_t{kSmall});
}

ValueId Adder::add(std::string_view op, Attrs attrs, std::vector<ValueId> args) {
  const OpDef* def = ops_.find(op);
  BYOC_CHECK(def != nullptr, "no op ", op);
  std::vector<TypeId> in;
  for (ValueId arg : args) in.push_back(to_.type(arg));
  Result<Attrs> complete = complete_attrs(*def, std::move(attrs));
  BYOC_CHECK(complete.ok(), complete.status().to_string());
  Result<std::vector<TypeId>> types = infer_types(*def, in, *complete);
  BYOC_CHECK(types.ok(), types.status().to_string());
  return {to_.add_call(def, intern(*std::move(complete)), args, *types, loc_), 0};
}

ValueId Adder::constant(TypeId type, std::span<const std::byte> bytes) {
  return {to_.add_constant(module_.add_constant(Buffer::copy(bytes)), type, loc_), 0};
}

}  // namespace byoc::integers
