// SPDX-License-Identifier: Apache-2.0
#pragma once
// The function that a plugin judges or compiles, as plain data. Indices have been checked: operands
// name earlier nodes, existing inputs, constants, outputs and types.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "byoc/plugin/sdk/error.h"

namespace byoc::sdk {

/// In the order of the names below. bool is one byte, 0 or 1; f16 and bf16 are 16-bit patterns.
enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool
};

namespace detail {
struct DTypeRow {
  std::string_view name;
  uint8_t code, bits;
};
inline constexpr DTypeRow kDTypes[] = {
    {"f32", kDLFloat, 32}, {"f64", kDLFloat, 64}, {"f16", kDLFloat, 16}, {"bf16", kDLBfloat, 16},
    {"i8", kDLInt, 8},     {"u8", kDLUInt, 8},    {"i16", kDLInt, 16},   {"u16", kDLUInt, 16},
    {"i32", kDLInt, 32},   {"u32", kDLUInt, 32},  {"i64", kDLInt, 64},   {"u64", kDLUInt, 64},
    {"bool", kDLUInt, 8}};
}  // namespace detail

inline std::string_view dtype_name(DType d) { return detail::kDTypes[static_cast<int>(d)].name; }
inline size_t dtype_size(DType d) { return detail::kDTypes[static_cast<int>(d)].bits / 8; }
inline DLDataType to_dlpack(DType d) {
  const detail::DTypeRow& row = detail::kDTypes[static_cast<int>(d)];
  return {row.code, row.bits, 1};
}

/// A dim that is not a number yet; its place in `dims` is kSymbolic.
struct SymbolicDim {
  size_t axis;
  std::string name;
  int64_t min, max;
};
struct Type {
  static constexpr int64_t kSymbolic = -1;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<SymbolicDim> symbols;
  size_t rank() const { return dims.size(); }
  bool is_static() const { return symbols.empty(); }
  int64_t elements() const {  // of a static type; the host has checked it
    int64_t n = 1;
    for (int64_t dim : dims) n *= dim;
    return n;
  }
  int64_t bytes() const { return elements() * static_cast<int64_t>(dtype_size(dtype)); }
  std::string text() const {  // "f32[1,3,N]"
    std::string out = std::string(dtype_name(dtype)) + "[";
    for (size_t k = 0, s = 0; k < dims.size(); ++k) {
      out += (k ? "," : "") + (dims[k] == kSymbolic ? symbols[s++].name : std::to_string(dims[k]));
    }
    return out + "]";
  }
};

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;
using Bools = std::vector<bool>;
struct ConstantKey {  // an attribute that names a constant
  std::string hex;
};
/// A list written [] is an empty Ints and reads as an empty list of any type.
using Attr = std::variant<int64_t, double, bool, std::string, DType, Ints, Floats, Strings, Bools,
                          ConstantKey>;

class Attrs {
 public:
  void set(std::string name, Attr value) { values_[std::move(name)] = std::move(value); }
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  const Attr* find(std::string_view name) const {  // nullptr when absent
    auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  const auto& all() const { return values_; }
  /// Returns the first attribute that is none of `known`, or "". An attribute may change the
  /// meaning of an op: decline a node with one that the plugin does not handle.
  std::string_view unknown(std::initializer_list<std::string_view> known) const {
    for (const auto& [name, value] : values_) {
      if (std::find(known.begin(), known.end(), name) == known.end()) return name;
    }
    return "";
  }
  /// Return an attribute's value. The forms without a fallback throw when the attribute is absent;
  /// all throw when it is of another kind.
  int64_t i(std::string_view n) const { return as<int64_t>(n, must_have(n)); }
  int64_t i(std::string_view n, int64_t fallback) const { return value_or<int64_t>(n, fallback); }
  double f(std::string_view n) const { return number(n, must_have(n)); }
  double f(std::string_view n, double fallback) const { return has(n) ? f(n) : fallback; }
  bool b(std::string_view n, bool fallback) const { return value_or<bool>(n, fallback); }
  std::string s(std::string_view n, std::string fallback = "") const {
    return value_or<std::string>(n, std::move(fallback));
  }
  DType dtype(std::string_view n) const { return as<DType>(n, must_have(n)); }
  Ints ints(std::string_view n, Ints fallback = {}) const {
    return value_or<Ints>(n, std::move(fallback));
  }
  Floats floats(std::string_view n, Floats fallback = {}) const {
    if (const Ints* whole = list_of_integers(n)) return {whole->begin(), whole->end()};
    return value_or<Floats>(n, std::move(fallback));
  }
  Strings strings(std::string_view n, Strings fallback = {}) const {
    if (const Ints* none = list_of_integers(n); none && none->empty()) return {};
    return value_or<Strings>(n, std::move(fallback));
  }

 private:
  const Attr& must_have(std::string_view name) const {
    if (const Attr* value = find(name)) return *value;
    throw Error(BYOC_INVALID_ARGUMENT, "attribute \"" + std::string(name) + "\" is missing");
  }
  template <class T>
  static const T& as(std::string_view name, const Attr& value) {
    if (auto* typed = std::get_if<T>(&value)) return *typed;
    throw Error(BYOC_INVALID_ARGUMENT,
                "attribute \"" + std::string(name) + "\" is not of the type requested");
  }
  static double number(std::string_view name, const Attr& value) {
    if (auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
    return as<double>(name, value);
  }
  template <class T>
  T value_or(std::string_view name, T fallback) const {
    const Attr* value = find(name);
    return value ? as<T>(name, *value) : std::move(fallback);
  }
  const Ints* list_of_integers(std::string_view name) const {
    const Attr* value = find(name);
    return value ? std::get_if<Ints>(value) : nullptr;
  }
  std::map<std::string, Attr, std::less<>> values_;
};

struct Operand {
  enum Kind : uint8_t { kInput, kConstant, kNode };
  Kind kind = kInput;
  uint32_t index = 0, output = 0;  // output: of a node
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Input {
  std::string name;
  uint32_t type = 0;
};
struct Constant {
  std::string name;
  uint32_t type = 0;
  std::string key;            // 32 hex digits; equal keys, equal bytes
  std::optional<Attr> value;  // Ints, Floats or Bools; up to 64 elements
};
struct Node {
  std::string op;                  // empty: it calls a composite
  int64_t version = 1, call = -1;  // call: index in Graph::functions
  std::vector<Operand> args;
  std::vector<uint32_t> types;  // one per output
  Attrs attrs;
  std::string loc;  // the user's name for it
  bool is_call() const { return call >= 0; }
};

/// The nodes of the graph itself, or of a composite; a composite has no constants of its own.
struct Body {
  std::string name, pattern;  // of a composite
  std::map<std::string, std::vector<Operand>, std::less<>> captures;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Operand> outputs;
  /// The first node captured under `name`, or nullptr.
  const Node* captured(std::string_view name) const {
    auto found = captures.find(name);
    if (found == captures.end() || found->second.empty()) return nullptr;
    const Operand& first = found->second.front();
    return first.kind == Operand::kNode ? &nodes[first.index] : nullptr;
  }
};

struct Graph : Body {
  std::string_view json;  // the JSON of this graph: the host's, borrowed for the call
  std::string symbol;
  std::vector<Type> types;
  std::vector<Constant> constants;
  std::vector<Body> functions;  // composites, called by nodes

  const Type& type(const Body& body, const Operand& operand) const {
    switch (operand.kind) {
      case Operand::kInput:
        return types[body.inputs[operand.index].type];
      case Operand::kConstant:
        return types[constants[operand.index].type];
      default:
        return types[body.nodes[operand.index].types[operand.output]];
    }
  }
  const Type& type(const Operand& operand) const { return type(*this, operand); }
  const Type& type(const Node& node, size_t output = 0) const { return types[node.types[output]]; }
  const Type& input_type(size_t k) const { return types[inputs[k].type]; }
  const Type& output_type(size_t k) const { return type(outputs[k]); }
  /// Returns "f32[1,8] f32[8] -> f32[1,8]": inputs and outputs, as byoc_kernel_info.
  std::string signature() const { return signature_with({}); }
  /// Returns the same with the types of `more` after the inputs, as byoc_native_fn has constants.
  std::string signature_with(const std::vector<Type>& more) const {
    std::string out;
    for (const Input& input : inputs) out += types[input.type].text() + " ";
    for (const Type& one : more) out += one.text() + " ";
    out += "->";
    for (const Operand& output : outputs) out += " " + type(output).text();
    return out;
  }
  const Body* callee(const Node& node) const {
    return node.is_call() ? &functions[node.call] : nullptr;
  }
};

}  // namespace byoc::sdk
