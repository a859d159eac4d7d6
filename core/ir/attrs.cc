// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/attrs.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "core/ir/interner.h"
#include "core/ir/quote.h"

namespace byoc {
namespace {

// Prints a float so that it differs from an integer: "1.0", never "1".
void print_float(std::string& out, double value) {
  size_t from = out.size();
  print_to(out, value);
  if (out.find_first_of(".einf", from) == std::string::npos) out += ".0";
}

bool same(double a, double b) {
  return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
}

bool is_empty_list(const AttrValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (requires { v.size(); } &&
                      !std::is_same_v<std::decay_t<decltype(v)>, std::string>)
          return v.empty();
        else return false;
      },
      value);
}

AttrValue normal(AttrValue value) { return is_empty_list(value) ? AttrValue(Ints{}) : value; }

size_t hash_value(const AttrValue& value) {
  if (auto* text = std::get_if<std::string>(&value)) return std::hash<std::string>()(*text);
  std::string text;
  print_to(text, value);
  return std::hash<std::string>()(text) + value.index();
}

// Adds integers at the end: regions, which are numbered upwards, get neighbouring hashes.
size_t hash_attrs(const Attrs& attrs) {
  size_t hash = attrs.size(), sum = 0;
  for (const auto& [name, value] : attrs) {
    hash = mixed_hash(hash, name.id());
    if (auto* integer = std::get_if<int64_t>(&value)) sum += static_cast<size_t>(*integer);
    else if (auto* flag = std::get_if<bool>(&value)) hash = mixed_hash(hash, *flag);
    else hash = mixed_hash(hash, hash_value(value));
  }
  return (hash >> 32) + sum;
}

}  // namespace

void print_to(std::string& out, const AttrValue& value) {
  struct {
    std::string& out;
    void operator()(int64_t v) { out += std::to_string(v); }
    void operator()(double v) { print_float(out, v); }
    void operator()(bool v) { out += v ? "true" : "false"; }
    void operator()(const std::string& v) { print_quoted(out, v); }
    void operator()(DType v) { out += dtype_name(v); }
    void operator()(const Ints& v) { print_list(out, v, *this); }
    void operator()(const Floats& v) { print_list(out, v, *this); }
    void operator()(const Strings& v) { print_list(out, v, *this); }
    void operator()(const Bools& v) {
      print_list(out, v, [&](bool b) { (*this)(b); });
    }
    void operator()(const ConstantRef& v) { out += cat("const<", v.key, "> : ", v.type); }
  } printer{out};
  std::visit(printer, value);
}

bool attr_equal(const AttrValue& a, const AttrValue& b) {
  if (is_empty_list(a) && is_empty_list(b)) return true;  // it has no element type
  if (a.index() != b.index()) return false;
  if (auto* x = std::get_if<double>(&a)) return same(*x, std::get<double>(b));
  if (auto* x = std::get_if<Floats>(&a)) {
    const Floats& y = std::get<Floats>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(), same);
  }
  return a == b;
}

std::string_view attr_kind(const AttrValue& value) {
  static constexpr std::string_view kKinds[] = {
      "integer",        "float",           "bool",          "string",  "dtype", "list of integers",
      "list of floats", "list of strings", "list of bools", "constant"};
  return kKinds[value.index()];
}

Attrs::Attrs(std::initializer_list<Entry> entries) {
  entries_.reserve(entries.size());
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

void Attrs::set(Symbol name, AttrValue value) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, Symbol n) { return e.first < n; });
  if (at != entries_.end() && at->first == name) at->second = normal(std::move(value));
  else entries_.insert(at, {name, normal(std::move(value))});
}

void Attrs::erase(Symbol name) {
  std::erase_if(entries_, [&](const Entry& e) { return e.first == name; });
}

const AttrValue* Attrs::find(Symbol name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

namespace {
template <class T>
const T& as(const AttrValue& value, Symbol name) {
  const T* typed = std::get_if<T>(&value);
  BYOC_CHECK(typed, "attribute ", name, " is a ", attr_kind(value));
  return *typed;
}
template <class T>
T list(const AttrValue* value, Symbol name) {
  if (value == nullptr || is_empty_list(*value)) return {};
  return as<T>(*value, name);
}
}  // namespace

int64_t Attrs::i(Symbol name) const {
  const AttrValue* value = find(name);
  BYOC_CHECK(value, "no attribute ", name);
  return as<int64_t>(*value, name);
}
int64_t Attrs::i(Symbol name, int64_t fallback) const { return has(name) ? i(name) : fallback; }
double Attrs::f(Symbol name) const {
  const AttrValue* value = find(name);
  BYOC_CHECK(value, "no attribute ", name);
  if (auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  return as<double>(*value, name);
}
double Attrs::f(Symbol name, double fallback) const { return has(name) ? f(name) : fallback; }
bool Attrs::b(Symbol name, bool fallback) const {
  const AttrValue* value = find(name);
  return value ? as<bool>(*value, name) : fallback;
}
std::string Attrs::s(Symbol name, std::string_view fallback) const {
  const AttrValue* value = find(name);
  return value ? as<std::string>(*value, name) : std::string(fallback);
}
Ints Attrs::ints(Symbol name) const { return list<Ints>(find(name), name); }
Floats Attrs::floats(Symbol name) const {
  const AttrValue* value = find(name);
  if (value != nullptr) {
    if (auto* integers = std::get_if<Ints>(value)) return {integers->begin(), integers->end()};
  }
  return list<Floats>(value, name);
}
Strings Attrs::strings(Symbol name) const { return list<Strings>(find(name), name); }
DType Attrs::dtype(Symbol name) const {
  const AttrValue* value = find(name);
  BYOC_CHECK(value, "no attribute ", name);
  return as<DType>(*value, name);
}

bool operator==(const Attrs& a, const Attrs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Attrs::Entry& x, const Attrs::Entry& y) {
                      return x.first == y.first && attr_equal(x.second, y.second);
                    });
}

void print_to(std::string& out, const Attrs& attrs) {
  if (attrs.empty()) return;
  out += '{';
  bool first = true;
  for (const auto& [name, value] : attrs) {
    if (!first) out += ", ";
    print_name(out, name.text());
    out += '=';
    print_to(out, value);
    first = false;
  }
  out += '}';
}

namespace {

struct HashAttrs {
  size_t operator()(const Attrs& attrs) const { return hash_attrs(attrs); }
};
auto& attrs_table() {
  static auto* table = new Interner<Attrs, Attrs, HashAttrs>(InternTable::kAttrs);
  return *table;
}

void own_parts(const Attrs& attrs) {
  for (const auto& [name, value] : attrs) {
    own(name);
    if (auto* constant = std::get_if<ConstantRef>(&value)) own(constant->type);
  }
}

}  // namespace

const Attrs* intern(Attrs attrs) {
  auto& table = attrs_table();
  return &table[table.intern(
      attrs, [&] { return attrs; }, [&] { own_parts(attrs); })];
}

void release_attrs(std::span<const uint32_t> numbers) { attrs_table().release(numbers); }
size_t count_attrs() { return attrs_table().size(); }

}  // namespace byoc
