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
/// A list of floats; an empty literal fits a list of any type.
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;  ///< a list of texts
using Bools = std::vector<bool>;           ///< a list of bools
/// A typed constant of the module's pool.
struct ConstantRef {
  ContentKey key;  ///< the hash of its bytes
  TypeId type;     ///< dtype and shape
  friend bool operator==(const ConstantRef&, const ConstantRef&) = default;
};
/// The value of an attribute.
using AttrValue = std::variant<int64_t, double, bool, std::string, DType, Ints, Floats, Strings,
                               Bools, ConstantRef>;
void print_to(std::string& out, const AttrValue& value);  ///< as the text form writes it
bool attr_equal(const AttrValue& a, const AttrValue& b);  ///< NaN equals NaN
std::string_view attr_kind(const AttrValue& value);       ///< "integer", "list of integers", ...

/// A map ordered by name. A copy costs O(entries); nodes share one through `intern`.
class Attrs {
 public:
  using Entry = std::pair<Symbol, AttrValue>;  ///< a name and its value
  Attrs() = default;
  /// Sets all entries; of equal names the last one counts.
  Attrs(std::initializer_list<Entry> entries);
  void set(Symbol name, AttrValue value);    ///< Adds the attribute or replaces its value.
  void erase(Symbol name);                   ///< no-op when it is absent
  const AttrValue* find(Symbol name) const;  ///< nullptr when absent
  bool has(Symbol name) const { return find(name) != nullptr; }  ///< true when it is present
  /// Typed access. The op's schema has checked kinds, so a wrong kind or a missing name aborts; the
  /// forms with a fallback permit absence alone.
  int64_t i(Symbol name) const;
  int64_t i(Symbol name, int64_t fallback) const;                    ///< the fallback when absent
  double f(Symbol name) const;                                       ///< aborts when absent
  double f(Symbol name, double fallback) const;                      ///< the fallback when absent
  bool b(Symbol name, bool fallback) const;                          ///< the fallback when absent
  std::string s(Symbol name, std::string_view fallback = "") const;  ///< the fallback when absent
  Ints ints(Symbol name) const;                                      ///< absent: empty
  Floats floats(Symbol name) const;                                  ///< absent: empty
  Strings strings(Symbol name) const;                                ///< absent: empty
  DType dtype(Symbol name) const;                                    ///< aborts when absent
  bool empty() const { return entries_.empty(); }                    ///< true without attributes
  size_t size() const { return entries_.size(); }                    ///< the number of attributes
  auto begin() const { return entries_.begin(); }                    ///< the entries, by name
  auto end() const { return entries_.end(); }                        ///< after the last entry
  /// Compares names, kinds and values; NaN equals NaN.
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  std::vector<Entry> entries_;
};
void print_to(std::string& out, const Attrs& attrs);  ///< "{a=1, b=[2,3]}", nothing when empty

/// Returns the one shared copy of `attrs`, which lives as long as a Symbol made here would
/// (type.h). Equal attributes give equal pointers. Thread-safe.
const Attrs* intern(Attrs attrs);

}  // namespace byoc
