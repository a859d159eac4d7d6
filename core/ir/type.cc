// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/type.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "core/ir/dim_maker.h"
#include "core/ir/interner.h"
#include "core/ir/quote.h"

namespace byoc {
namespace {

struct HashNamedSize {
  size_t operator()(const NamedSize& s) const {
    return mixed_hash(mixed_hash(s.name.id(), static_cast<size_t>(s.min)),
                      static_cast<size_t>(s.max));
  }
};
struct HashType {
  size_t operator()(const TensorType& t) const {
    size_t hash = static_cast<size_t>(t.dtype) + 1;
    for (Dim d : t.shape) {
      hash = mixed_hash(hash, d.is_static() ? static_cast<size_t>(d.extent())
                                            : ~static_cast<size_t>(d.name().id()));
    }
    return hash;
  }
};
struct HashList {
  size_t operator()(const std::vector<uint32_t>& list) const {
    size_t hash = list.size();
    for (uint32_t id : list) hash = mixed_hash(hash, id);
    return hash;
  }
};

// Never destroyed, on purpose: values are read until the end of the process.
auto& symbols() {
  static auto* table = [] {
    auto* t = new Interner<std::string, std::string_view, std::hash<std::string_view>>(
        InternTable::kSymbols);
    WithoutScope pinned;
    t->intern(
        "", [] { return std::string(); }, [] {});
    return t;
  }();
  return *table;
}
auto& named_sizes() {
  static auto* table = new Interner<NamedSize, NamedSize, HashNamedSize>(InternTable::kNamedSizes);
  return *table;
}
auto& types() {
  static auto* table = [] {
    auto* t = new Interner<TensorType, TensorType, HashType>(InternTable::kTypes);
    WithoutScope pinned;
    t->intern(
        TensorType{}, [] { return TensorType{}; }, [] {});
    return t;
  }();
  return *table;
}
auto& type_lists() {
  static auto* table =
      new Interner<std::vector<uint32_t>, std::vector<uint32_t>, HashList>(InternTable::kTypeLists);
  return *table;
}

const NamedSize& size_of(Dim dim) { return DimMaker::size_of(dim); }

// Adds the current owner by interning the sizes again.
void own_named_sizes(const Shape& shape) {
  for (Dim dim : shape) {
    if (!dim.is_static()) intern_size(size_of(dim));
  }
}

}  // namespace

int64_t intern_size(const NamedSize& size) {
  return ~static_cast<int64_t>(named_sizes().intern(
      size, [&] { return size; },
      [&] {
        own(size.name);
        own_named_sizes(size.sizes);
      }));
}

const NamedSize& DimMaker::size_of(Dim dim) {
  BYOC_CHECK(!dim.is_static(), "the size of dim ", dim);
  return named_sizes()[static_cast<uint32_t>(~dim.value_)];
}

Dim DimMaker::make(const NamedSize& size) {
  Dim dim;
  dim.value_ = intern_size(size);
  return dim;
}

void own(Symbol symbol) { symbols().add_owner(symbol.id()); }

void own(TypeId type) {
  types().add_owner(type.id(), [&] { own_named_sizes(type->shape); });
}

void release_type_lists(std::span<const uint32_t> numbers) { type_lists().release(numbers); }
void release_types(std::span<const uint32_t> numbers) { types().release(numbers); }
void release_named_sizes(std::span<const uint32_t> numbers) { named_sizes().release(numbers); }
void release_symbols(std::span<const uint32_t> numbers) { symbols().release(numbers); }

InternCounts intern_counts() {
  return {symbols().size(), named_sizes().size(), types().size(), type_lists().size(),
          count_attrs()};
}

Symbol::Symbol(std::string_view text)
    : id_(text.empty() ? 0
                       : symbols().intern(
                             text, [&] { return std::string(text); }, [] {})) {}

std::string_view Symbol::text() const { return id_ == 0 ? std::string_view() : symbols()[id_]; }

Dim::Dim(int64_t extent) : value_(extent) { BYOC_CHECK(extent >= 0, "a dim cannot be ", extent); }

Dim Dim::symbol(Symbol name, int64_t min, int64_t max) {
  BYOC_CHECK(!name.empty() && min >= 0 && min <= max, "bad bounds of dim ", name);
  return DimMaker::make({name, min, max, NamedSize::kNamed, {}});
}

Dim Dim::counted(Symbol name, int64_t max) {
  BYOC_CHECK(!name.empty() && max >= 0 && max != kUnbounded, "bad bound of counted dim ", name);
  return DimMaker::make({name, 0, max, NamedSize::kCounted, {}});
}

bool Dim::is_counted() const { return !is_static() && size_of(*this).kind == NamedSize::kCounted; }

bool Dim::is_expression() const {
  return !is_static() && size_of(*this).kind == NamedSize::kExpression;
}

int64_t Dim::extent() const {
  BYOC_CHECK(is_static(), "extent of symbolic dim ", *this);
  return value_;
}

Symbol Dim::name() const {
  BYOC_CHECK(!is_static(), "name of dim ", *this);
  return size_of(*this).name;
}

int64_t Dim::min() const { return is_static() ? value_ : size_of(*this).min; }

int64_t Dim::max() const { return is_static() ? value_ : size_of(*this).max; }

void print_to(std::string& out, Dim dim) {
  if (dim.is_static()) {
    out += std::to_string(dim.extent());
    return;
  }
  if (dim.is_expression()) {
    out += cat("(", dim.name());
    const char* separator = " : ";
    for (Dim size : size_of(dim).sizes) {
      out += separator;
      print_to(out, size);
      separator = ", ";
    }
    out += ')';
    return;
  }
  if (dim.is_counted()) out += '?';
  if (dim.min() > 0) out += cat(dim.min(), "<=");
  print_name(out, dim.name().text());
  if (dim.max() != Dim::kUnbounded) out += cat("<=", dim.max());
}

void print_to(std::string& out, const Shape& shape) {
  out += '[';
  for (size_t k = 0; k < shape.size(); ++k) {
    if (k) out += ',';
    print_to(out, shape[k]);
  }
  out += ']';
}

bool has_counted(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_counted(); });
}

Shape at_bounds(const Shape& shape) {
  Shape out = shape;
  for (Dim& dim : out) {
    if (dim.max() != Dim::kUnbounded) dim = Dim(dim.max());
  }
  return out;
}

bool is_static(const Shape& shape) {
  for (Dim dim : shape) {
    if (!dim.is_static()) return false;
  }
  return true;
}

Result<int64_t> num_elements(const Shape& shape) {
  for (Dim dim : shape) {
    if (!dim.is_static())
      return invalid(cat("shape ", shape, " is not known: dim ", dim, " is symbolic"))
          .with_slug("symbolic-shape");
  }
  for (Dim dim : shape) {
    if (dim.extent() == 0) return int64_t{0};
  }
  int64_t bytes = 8;
  for (Dim dim : shape) {
    if (__builtin_mul_overflow(bytes, dim.extent(), &bytes)) {
      return Status(Code::kOutOfRange,
                    cat("the size of a tensor of shape ", shape, " does not fit in 63 bits"))
          .with_slug("tensor-size");
    }
  }
  return bytes / 8;
}

Shape make_shape(std::span<const int64_t> extents) { return {extents.begin(), extents.end()}; }

std::vector<int64_t> static_extents(const Shape& shape) {
  std::vector<int64_t> extents;
  extents.reserve(shape.size());
  for (Dim dim : shape) extents.push_back(dim.extent());
  return extents;
}

void print_to(std::string& out, const TensorType& type) {
  print_to(out, type.dtype);
  print_to(out, type.shape);
}

Result<int64_t> size_bytes(const TensorType& type) {
  BYOC_TRY(int64_t n, num_elements(type.shape));
  return n * static_cast<int64_t>(dtype_size(type.dtype));
}

TypeId::TypeId(const TensorType& type)
    : id_(types().intern(
          type, [&] { return type; }, [&] { own_named_sizes(type.shape); })) {}
const TensorType& TypeId::operator*() const { return types()[id_]; }

TypeIds::TypeIds(std::span<const TypeId> list) : count_(static_cast<uint32_t>(list.size())) {
  if (count_ == 1) id_ = list[0].id_;
  if (count_ < 2) return;
  std::vector<uint32_t> ids;
  ids.reserve(count_);
  for (TypeId type : list) ids.push_back(type.id_);
  auto own_all = [&] {
    for (TypeId type : list) own(type);
  };
  id_ = type_lists().intern(
      ids, [&] { return ids; }, own_all);
}

TypeId TypeIds::operator[](size_t k) const {
  BYOC_CHECK(k < count_, "result ", k, " of ", count_);
  TypeId type;
  type.id_ = count_ == 1 ? id_ : type_lists()[id_][k];
  return type;
}

void print_to(std::string& out, TypeIds types) {
  for (size_t k = 0; k < types.size(); ++k) out += cat(k ? ", " : "", types[k]);
}

}  // namespace byoc
