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
  Symbol(std::string_view text);                                       // NOLINT: implicit by design
  Symbol(const std::string& text) : Symbol(std::string_view(text)) {}  // NOLINT
  Symbol(const char* text) : Symbol(std::string_view(text)) {}         // NOLINT
  std::string_view text() const;
  std::string str() const { return std::string(text()); }
  bool empty() const { return id_ == 0; }
  uint32_t id() const { return id_; }
  friend bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }
  friend bool operator<(Symbol a, Symbol b) { return a.id_ != b.id_ && a.text() < b.text(); }

 private:
  uint32_t id_ = 0;
};
inline void print_to(std::string& out, Symbol symbol) { out.append(symbol.text()); }

/// One extent: a number >= 0, or a named size with bounds. 8 bytes; equal when name and bounds are.
class Dim {
 public:
  Dim(int64_t extent = 0);  // NOLINT: implicit by design
  static Dim symbol(Symbol name, int64_t min = 0, int64_t max = kUnbounded);
  static constexpr int64_t kUnbounded = INT64_MAX;

  bool is_static() const { return value_ >= 0; }
  int64_t extent() const;  // only when is_static()
  Symbol name() const;     // only when not
  int64_t min() const;     // the extent itself when static
  int64_t max() const;
  friend bool operator==(Dim, Dim) = default;

 private:
  int64_t value_;  // >= 0, or ~index of the named size
};
void print_to(std::string& out, Dim dim);  // "3", "N", "N<=64", "2<=N<=64"

using Shape = std::vector<Dim>;
void print_to(std::string& out, const Shape& shape);  // "[1,3,N]"
bool is_static(const Shape& shape);
/// Returns the product of the extents. Errors: kInvalidArgument when a dim is symbolic, kOutOfRange
/// when the product, or its size at 8 bytes an element, does not fit in 63 bits.
Result<int64_t> num_elements(const Shape& shape);
Shape make_shape(std::span<const int64_t> extents);
std::vector<int64_t> static_extents(const Shape& shape);  // all dims must be static

inline constexpr size_t kMaxRank = 16;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
void print_to(std::string& out, const TensorType& type);  // "f32[1,3,32,32]"
/// Returns the bytes of a compact tensor. Errors: as num_elements.
Result<int64_t> size_bytes(const TensorType& type);

/// An interned TensorType.
class TypeId {
 public:
  TypeId() = default;              // f32[]
  TypeId(const TensorType& type);  // NOLINT: implicit by design
  const TensorType& operator*() const;
  const TensorType* operator->() const { return &**this; }
  uint32_t id() const { return id_; }
  friend bool operator==(TypeId, TypeId) = default;

 private:
  friend class TypeIds;
  uint32_t id_ = 0;
};
inline void print_to(std::string& out, TypeId type) { print_to(out, *type); }

/// An interned list of types: the results of one node. 8 bytes.
class TypeIds {
 public:
  TypeIds() = default;                                    // no results
  TypeIds(TypeId single) : id_(single.id_), count_(1) {}  // NOLINT: implicit by design
  TypeIds(std::span<const TypeId> types);                 // NOLINT: implicit by design
  TypeIds(const std::vector<TypeId>& types) : TypeIds(std::span<const TypeId>(types)) {}  // NOLINT
  size_t size() const { return count_; }
  TypeId operator[](size_t k) const;
  friend bool operator==(TypeIds, TypeIds) = default;

 private:
  uint32_t id_ = 0, count_ = 0;  // count 1: id_ is the type itself
};
void print_to(std::string& out, TypeIds types);  // "f32[1,3], i64[]"

}  // namespace byoc

template <>
struct std::hash<byoc::Symbol> {
  size_t operator()(byoc::Symbol s) const noexcept { return s.id() * size_t{0x9e3779b97f4a7c15}; }
};
