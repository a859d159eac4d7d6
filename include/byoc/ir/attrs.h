// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes: small ordered maps from names to plain values, interned so that equal maps are one.
#include <initializer_list>
#include <variant>
#include <vector>

#include "byoc/base/buffer.h"
#include "byoc/ir/type.h"

namespace byoc {

/// A list written [] has no element type; it is kept as an empty list of integers and reads as an
/// empty list of any type.
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;
using Bools = std::vector<bool>;
struct ConstantRef {  // a constant of the module's pool, typed
  ContentKey key;
  TypeId type;
  friend bool operator==(const ConstantRef&, const ConstantRef&) = default;
};
using AttrValue = std::variant<int64_t, double, bool, std::string, DType, Ints, Floats, Strings,
                               Bools, ConstantRef>;
void print_to(std::string& out, const AttrValue& value);  // as the text form writes it
bool attr_equal(const AttrValue& a, const AttrValue& b);  // NaN equals NaN
std::string_view attr_kind(const AttrValue& value);       // "integer", "list of integers", ...

/// A map ordered by name. A copy costs O(entries); nodes share one through `intern`.
class Attrs {
 public:
  using Entry = std::pair<Symbol, AttrValue>;
  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries);
  void set(Symbol name, AttrValue value);
  void erase(Symbol name);
  const AttrValue* find(Symbol name) const;  // nullptr when absent
  bool has(Symbol name) const { return find(name) != nullptr; }
  /// Typed access. The op's schema has checked kinds, so a wrong kind or a missing name aborts; the
  /// forms with a fallback permit absence alone.
  int64_t i(Symbol name) const;
  int64_t i(Symbol name, int64_t fallback) const;
  double f(Symbol name) const;
  double f(Symbol name, double fallback) const;
  bool b(Symbol name, bool fallback) const;
  std::string s(Symbol name, std::string_view fallback = "") const;
  Ints ints(Symbol name) const;  // absent: empty
  Floats floats(Symbol name) const;
  Strings strings(Symbol name) const;
  DType dtype(Symbol name) const;
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  std::vector<Entry> entries_;
};
void print_to(std::string& out, const Attrs& attrs);  // "{a=1, b=[2,3]}", nothing when empty

/// Returns the one shared copy of `attrs`, which lives as long as a Symbol made here would
/// (type.h). Equal attributes give equal pointers. Thread-safe.
const Attrs* intern(Attrs attrs);

}  // namespace byoc
