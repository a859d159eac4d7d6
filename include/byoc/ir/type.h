// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names, dimensions and tensor types. Names and types are interned: they are numbers that compare
// in one instruction. They live as long as the process, or as the InternArena whose scope they were
// made in (byoc/ir/intern.h). All functions here are thread-safe.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "byoc/base/dtype.h"

namespace byoc {

/// An interned string. Symbol{} is the empty string. Order is that of the text, so it is the same
/// in every process.
class Symbol {
 public:
  Symbol() = default;
  /// Interns the text. Cost: O(length).
  Symbol(std::string_view text);  // NOLINT: implicit by design
  /// Interns the text.
  Symbol(const std::string& text) : Symbol(std::string_view(text)) {}  // NOLINT
  /// Interns the text up to the null byte.
  Symbol(const char* text) : Symbol(std::string_view(text)) {}  // NOLINT
  std::string_view text() const;                                ///< lives as long as the symbol
  std::string str() const { return std::string(text()); }       ///< a copy of the text
  bool empty() const { return id_ == 0; }                       ///< true for the empty text
  /// A number that differs for different texts; it depends on the order of interning.
  uint32_t id() const { return id_; }
  /// Compares in one instruction.
  friend bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }
  /// Orders by text, and so in the same way in every process.
  friend bool operator<(Symbol a, Symbol b) { return a.id_ != b.id_ && a.text() < b.text(); }

 private:
  uint32_t id_ = 0;
};
/// Appends the text.
inline void print_to(std::string& out, Symbol symbol) { out.append(symbol.text()); }

/// One extent: a number >= 0, a named size with bounds, an expression of named sizes (ir/dim.h), or
/// a counted size: a named one with an upper bound that each run of a program finds. 8 bytes; equal
/// when name, bounds and kind are.
class Dim {
 public:
  /// A number.
  Dim(int64_t extent = 0);  // NOLINT: implicit by design
  /// Makes a named size with bounds. Equal names have equal bounds within a module.
  static Dim symbol(Symbol name, int64_t min = 0, int64_t max = kUnbounded);
  static constexpr int64_t kUnbounded = INT64_MAX;  ///< the upper bound of a size without one
  /// Makes a size from 0 to `max` that each run counts. Equal names mean equal sizes.
  static Dim counted(Symbol name, int64_t max);

  bool is_static() const { return value_ >= 0; }  ///< true for a number
  bool is_counted() const;                        ///< true for what counted() made
  bool is_expression() const;                     ///< true for what arithmetic with sizes made
  int64_t extent() const;                         ///< only when is_static()
  Symbol name() const;  ///< only when not static; of an expression its text
  int64_t min() const;  ///< the extent itself when static
  int64_t max() const;  ///< the extent itself when static
  friend bool operator==(Dim, Dim) = default;

 private:
  friend class DimMaker;  // core/ir/dim.cc
  int64_t value_;         // >= 0, or ~index of the named size
};
/// Appends "3", "N", "N<=64", "2<=N<=64", counted "?n<=64", or of an expression its text and its
/// sizes, "(B*T : B, 1<=T<=64)".
void print_to(std::string& out, Dim dim);

using Shape = std::vector<Dim>;                       ///< The dims of a tensor.
void print_to(std::string& out, const Shape& shape);  ///< "[1,3,N]"
bool is_static(const Shape& shape);                   ///< true when all dims are numbers
bool has_counted(const Shape& shape);                 ///< true when a dim is counted
/// Returns the shape with numbers for dims that have an upper bound: that bound.
Shape at_bounds(const Shape& shape);
/// Returns the product of the extents. Errors: kInvalidArgument when a dim is symbolic, kOutOfRange
/// when the product, or its size at 8 bytes an element, does not fit in 63 bits.
Result<int64_t> num_elements(const Shape& shape);
Shape make_shape(std::span<const int64_t> extents);       ///< Makes a shape of numbers.
std::vector<int64_t> static_extents(const Shape& shape);  ///< all dims must be static

inline constexpr size_t kMaxRank = 16;  ///< the most dims of a tensor

/// The type of a tensor.
struct TensorType {
  DType dtype = DType::kF32;  ///< element type
  Shape shape;                ///< its dims
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
void print_to(std::string& out, const TensorType& type);  ///< "f32[1,3,32,32]"
/// Returns the bytes of a compact tensor. Errors: as num_elements.
Result<int64_t> size_bytes(const TensorType& type);

/// An interned TensorType.
class TypeId {
 public:
  TypeId() = default;  // f32[]
  /// Interns the type.
  TypeId(const TensorType& type);       // NOLINT: implicit by design
  const TensorType& operator*() const;  ///< the type; lives as long as the TypeId
  const TensorType* operator->() const { return &**this; }  ///< a member of the type
  uint32_t id() const { return id_; }  ///< a number that differs for different types
  friend bool operator==(TypeId, TypeId) = default;

 private:
  friend class TypeIds;
  uint32_t id_ = 0;
};
/// Appends the type.
inline void print_to(std::string& out, TypeId type) { print_to(out, *type); }

/// An interned list of types: the results of one node. 8 bytes.
class TypeIds {
 public:
  TypeIds() = default;  // no results
  /// One result; nothing is interned.
  TypeIds(TypeId single) : id_(single.id_), count_(1) {}  // NOLINT: implicit by design
  /// Interns the list.
  TypeIds(std::span<const TypeId> types);  // NOLINT: implicit by design
  /// Interns the list.
  TypeIds(const std::vector<TypeId>& types) : TypeIds(std::span<const TypeId>(types)) {}  // NOLINT
  size_t size() const { return count_; }  ///< the number of types
  TypeId operator[](size_t k) const;      ///< the type of result `k`; k < size()
  friend bool operator==(TypeIds, TypeIds) = default;

 private:
  uint32_t id_ = 0, count_ = 0;  // count 1: id_ is the type itself
};
void print_to(std::string& out, TypeIds types);  ///< "f32[1,3], i64[]"

}  // namespace byoc

template <>
struct std::hash<byoc::Symbol> {
  size_t operator()(byoc::Symbol s) const noexcept { return s.id() * size_t{0x9e3779b97f4a7c15}; }
};
