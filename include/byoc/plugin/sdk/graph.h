// SPDX-License-Identifier: Apache-2.0
#pragma once
// The function that a plugin judges or compiles, as plain data. Indices have been checked: operands
// name earlier nodes, existing inputs, constants, outputs and types.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
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

/// Returns "f32" and the like.
inline std::string_view dtype_name(DType d) { return detail::kDTypes[static_cast<int>(d)].name; }
/// Returns the size of an element in bytes.
inline size_t dtype_size(DType d) { return detail::kDTypes[static_cast<int>(d)].bits / 8; }
/// Returns the type that DLPack has for it; bool crosses as 8-bit unsigned.
inline DLDataType to_dlpack(DType d) {
  const detail::DTypeRow& row = detail::kDTypes[static_cast<int>(d)];
  return {row.code, row.bits, 1};
}

/// A dim that is not a number yet; its place in `dims` is kSymbolic.
struct SymbolicDim {
  size_t axis;           ///< its place in Type::dims
  std::string name;      ///< such as "N"
  int64_t min, max;      ///< its bounds
  bool counted = false;  ///< each run finds it out anew; plugins with BYOC_PLUGIN_COUNTED get some
  bool expression = false;  ///< `name` is the text of an expression of sizes, as in "B*T"
};
/// The type of a value.
struct Type {
  static constexpr int64_t kSymbolic = -1;            ///< in `dims`: not a number yet
  DType dtype = DType::kF32;                          ///< element type
  std::vector<int64_t> dims;                          ///< the extents
  std::vector<SymbolicDim> symbols;                   ///< the dims that are kSymbolic
  size_t rank() const { return dims.size(); }         ///< the number of dims
  bool is_static() const { return symbols.empty(); }  ///< true when all dims are numbers
  /// The number of elements of a static type; the host has checked that it fits.
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t dim : dims) n *= dim;
    return n;
  }
  /// The size of a static type.
  int64_t bytes() const { return elements() * static_cast<int64_t>(dtype_size(dtype)); }
  /// Returns true when each run finds out some dim anew.
  bool is_counted() const {
    return std::any_of(symbols.begin(), symbols.end(), [](const auto& s) { return s.counted; });
  }
  /// "f32[1,3,N]"; dims with bounds have them, as in "f32[<=100,T<=64]"
  std::string text() const {
    std::string out = std::string(dtype_name(dtype)) + "[";
    for (size_t k = 0, s = 0; k < dims.size(); ++k) {
      out += (k ? "," : "") +
             (dims[k] == kSymbolic ? dim_text(symbols[s++]) : std::to_string(dims[k]));
    }
    return out + "]";
  }
  /// Returns true when a dim is an open size or an expression of some.
  bool is_open() const {
    return std::any_of(symbols.begin(), symbols.end(), [](const auto& s) { return !s.counted; });
  }
  /// "N", with its bound as in "N<=64" when it has one; "<=100" for a counted one
  static std::string dim_text(const SymbolicDim& dim) {
    const bool is_bounded = dim.max != std::numeric_limits<int64_t>::max();
    return (dim.counted ? "" : dim.name) + (is_bounded ? "<=" + std::to_string(dim.max) : "");
  }
};

using Ints = std::vector<int64_t>;         ///< a list of integers; an empty list of any type
using Floats = std::vector<double>;        ///< a list of floats
using Strings = std::vector<std::string>;  ///< a list of texts
using Bools = std::vector<bool>;           ///< a list of bools
/// An attribute that names a constant.
struct ConstantKey {
  std::string hex;  ///< the key, 32 digits
};
/// A list written [] is an empty Ints and reads as an empty list of any type.
using Attr = std::variant<int64_t, double, bool, std::string, DType, Ints, Floats, Strings, Bools,
                          ConstantKey>;

/// The attributes of a node, by name.
class Attrs {
 public:
  /// Adds the attribute or replaces its value.
  void set(std::string name, Attr value) { values_[std::move(name)] = std::move(value); }
  /// Removes the attribute; absent ones are ignored.
  void erase(std::string_view name) {
    if (auto found = values_.find(name); found != values_.end()) values_.erase(found);
  }
  /// True when it is present.
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// The value; nullptr when absent.
  const Attr* find(std::string_view name) const {
    auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  const auto& all() const { return values_; }  ///< a map from names to values
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
  /// throws when absent
  int64_t i(std::string_view n) const { return as<int64_t>(n, must_have(n)); }
  /// The fallback when absent.
  int64_t i(std::string_view n, int64_t fallback) const { return value_or<int64_t>(n, fallback); }
  double f(std::string_view n) const { return number(n, must_have(n)); }  ///< throws when absent
  /// The fallback when absent.
  double f(std::string_view n, double fallback) const { return has(n) ? f(n) : fallback; }
  /// The fallback when absent.
  bool b(std::string_view n, bool fallback) const { return value_or<bool>(n, fallback); }
  /// The fallback when absent.
  std::string s(std::string_view n, std::string fallback = "") const {
    return value_or<std::string>(n, std::move(fallback));
  }
  /// Throws when absent.
  DType dtype(std::string_view n) const { return as<DType>(n, must_have(n)); }
  /// The fallback when absent.
  Ints ints(std::string_view n, Ints fallback = {}) const {
    return value_or<Ints>(n, std::move(fallback));
  }
  /// The fallback when absent; integers become floats.
  Floats floats(std::string_view n, Floats fallback = {}) const {
    if (const Ints* whole = list_of_integers(n)) return {whole->begin(), whole->end()};
    return value_or<Floats>(n, std::move(fallback));
  }
  /// The fallback when absent.
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

/// An operand of a node, or an output of the graph.
struct Operand {
  /// An input or constant of the graph, or a result of a node.
  enum Kind : uint8_t { kInput, kConstant, kNode };
  Kind kind = kInput;              ///< the kind of operand
  uint32_t index = 0, output = 0;  ///< output: of a node
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// An input.
struct Input {
  std::string name;   ///< as in the JSON
  uint32_t type = 0;  ///< index in Graph::types
};
/// A constant.
struct Constant {
  std::string name;           ///< as in the JSON, "c0"
  uint32_t type = 0;          ///< index in Graph::types
  std::string key;            ///< 32 hex digits; equal keys, equal bytes
  std::optional<Attr> value;  ///< Ints, Floats or Bools; up to 64 elements
};
/// An op, or the call of a composite.
struct Node {
  std::string op;                             ///< empty: it calls a composite
  int64_t version = 1, call = -1;             ///< call: index in Graph::functions
  std::vector<Operand> args;                  ///< the operands, in order
  std::vector<uint32_t> types;                ///< one per output
  Attrs attrs;                                ///< those of the op, defaults filled in
  std::string loc;                            ///< the user's name for it
  bool is_call() const { return call >= 0; }  ///< true for the call of a composite
};

/// The nodes of the graph itself, or of a composite; a composite has no constants of its own.
struct Body {
  std::string name, pattern;  ///< the names of a composite and of its pattern
  /// The captured operands, by the pattern's names.
  std::map<std::string, std::vector<Operand>, std::less<>> captures;
  std::vector<Input> inputs;     ///< in order
  std::vector<Node> nodes;       ///< operands come before their readers
  std::vector<Operand> outputs;  ///< in order
  /// The first node captured under `name`, or nullptr.
  const Node* captured(std::string_view name) const {
    auto found = captures.find(name);
    if (found == captures.end() || found->second.empty()) return nullptr;
    const Operand& first = found->second.front();
    return first.kind == Operand::kNode ? &nodes[first.index] : nullptr;
  }
};

/// An open size: each run has a number from `min` to `max`.
struct SizeRange {
  std::string name;          ///< as in SymbolicDim::name
  int64_t min = 0, max = 0;  ///< both included
};

/// A function as it crosses the ABI: its body, types, constants and composites.
struct Graph : Body {
  std::string_view json;  ///< the JSON of this graph: the host's, borrowed for the call
  std::string symbol;     ///< the name of the function
  /// The loops that the function is, as text without its name; else empty. Plugins with the flag
  /// BYOC_PLUGIN_LOOPS alone get some. The only node is a call that gives the results their types.
  std::string loops;
  /// The open sizes in the types, which plugins with BYOC_PLUGIN_OPEN_SIZES alone get: each run
  /// gives their values in this order (Call::size).
  std::vector<std::string> sizes;
  std::vector<SizeRange> size_ranges;  ///< the same with their bounds; at_sizes puts numbers there
  std::vector<Type> types;             ///< the types of all values; equal types once
  std::vector<Constant> constants;     ///< in order
  std::vector<Body> functions;         ///< composites, called by nodes

  /// The type of an operand in a body of this graph.
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
  /// The type of an operand of the graph itself.
  const Type& type(const Operand& operand) const { return type(*this, operand); }
  /// The type of one result.
  const Type& type(const Node& node, size_t output = 0) const { return types[node.types[output]]; }
  /// The type of input `k`.
  const Type& input_type(size_t k) const { return types[inputs[k].type]; }
  /// The type of output `k`.
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
  /// The body of the composite that a node calls; nullptr for an op.
  const Body* callee(const Node& node) const {
    return node.is_call() ? &functions[node.call] : nullptr;
  }
};

}  // namespace byoc::sdk
