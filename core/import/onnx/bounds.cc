// SPDX-License-Identifier: Apache-2.0
// The elements of computed sizes: those of Shape and of the ops that compute with them, as far as
// they are known while reading.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "byoc/op/evaluate.h"
#include "core/import/onnx/graph.h"

namespace byoc::onnx_import {
namespace {

constexpr int kMaxDepth = 24;  // ops between a shape and the value
constexpr size_t kMaxElements = 64;

using Entries = std::vector<SizeEntry>;

// Returns true for ops on two operands whose results are known of sizes.
bool is_arithmetic(std::string_view op) {
  return op == "minimum" || op == "maximum" || op == "add" || op == "subtract" ||
         op == "multiply" || op == "divide" || op == "mod" || op == "equal";
}

// Returns true for ops that give the elements of their first operand in their order.
bool keeps_elements(std::string_view op) {
  return op == "squeeze" || op == "unsqueeze" || op == "reshape" || op == "cast" || op == "flatten";
}

SizeEntry number(int64_t value) {
  return {.number = value, .most = value, .is_natural = value >= 0};
}

// Returns the entries of the op shape of a value: of its dims from `start` on, before `end`.
Entries of_shape(const Shape& whole, const Attrs& attrs) {
  const auto rank = static_cast<int64_t>(whole.size());
  auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = placed(attrs.i("start", 0));
  const int64_t end = std::max(begin, placed(attrs.i("end", rank)));
  Entries out;
  for (Dim dim : Shape(whole.begin() + begin, whole.begin() + end)) {
    if (dim.is_static()) out.push_back(number(dim.extent()));
    else out.push_back({.dim = dim, .is_natural = true});
    if (!dim.is_static() && dim.max() != Dim::kUnbounded) out.back().most = dim.max();
  }
  return out;
}

Entries of_numbers(const Ints& values) {
  Entries out;
  for (int64_t value : values) out.push_back(number(value));
  return out;
}

// Returns the entries start, start + step, ... of a slice along axis 0.
std::optional<Entries> sliced(const Entries& from, const Attrs& attrs) {
  const Ints starts = attrs.ints("starts"), ends = attrs.ints("ends"), steps = attrs.ints("steps");
  if (starts.size() != 1 || ends.size() != 1 || (!steps.empty() && steps != Ints{1}))
    return std::nullopt;
  const auto n = static_cast<int64_t>(from.size());
  auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n); };
  const int64_t begin = placed(starts[0]), end = std::max(begin, placed(ends[0]));
  return Entries(from.begin() + begin, from.begin() + end);
}

// Returns the entries of a matrix whose entries are `from` row by row, transposed.
std::optional<Entries> transposed(const Entries& from, const Shape& shape, const Attrs& attrs) {
  if (shape.size() != 2 || attrs.ints("perm") != Ints{1, 0}) return std::nullopt;
  const auto columns = static_cast<size_t>(shape[1].extent());
  Entries out;
  for (size_t column = 0; column < columns; ++column)
    for (size_t at = column; at < from.size(); at += columns) out.push_back(from[at]);
  return out;
}

// Returns the entries of the rows of a matrix from the last one to the first.
std::optional<Entries> reversed_rows(const Entries& from, const Shape& shape, const Attrs& attrs) {
  const Ints ends = attrs.ints("ends");
  const int64_t rows = shape[0].extent();
  if (attrs.ints("axes") != Ints{0} || attrs.ints("steps") != Ints{-1} || rows == 0 ||
      (attrs.ints("starts") != Ints{-1} && attrs.ints("starts") != Ints{rows - 1}) ||
      ends.size() != 1 || ends[0] >= -rows)
    return std::nullopt;
  const auto columns = static_cast<size_t>(shape[1].extent());
  Entries out;
  for (size_t row = static_cast<size_t>(rows); row-- > 0;)
    out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(row * columns),
               from.begin() + static_cast<std::ptrdiff_t>((row + 1) * columns));
  return out;
}

// Returns the chosen entries.
std::optional<Entries> gathered(const Entries& from, const std::optional<Ints>& indices) {
  if (!indices) return std::nullopt;
  const auto n = static_cast<int64_t>(from.size());
  Entries out;
  for (int64_t index : *indices) {
    if (index < -n || index >= n) return std::nullopt;
    out.push_back(from[static_cast<size_t>(index < 0 ? index + n : index)]);
  }
  return out;
}

// Returns the bound of op(a, b). That of a difference and of a product holds for sizes alone.
std::optional<int64_t> bound_of(std::string_view op, const SizeEntry& a, const SizeEntry& b) {
  int64_t out = 0;
  bool wraps = false;
  if (op == "minimum") {
    if (!a.most || !b.most) return a.most ? a.most : b.most;
    return std::min(*a.most, *b.most);
  }
  if (op == "subtract" && b.is_natural && !b.number) return a.most;
  if (!a.most || !b.most) return std::nullopt;
  if (op == "maximum") return std::max(*a.most, *b.most);
  if (op == "add") wraps = __builtin_add_overflow(*a.most, *b.most, &out);
  else if (op == "subtract" && b.number) wraps = __builtin_sub_overflow(*a.most, *b.number, &out);
  else if (op == "multiply" && a.is_natural && b.is_natural)
    wraps = __builtin_mul_overflow(*a.most, *b.most, &out);
  else return std::nullopt;
  return wraps ? std::nullopt : std::optional(out);
}

// Returns true when the element is a number minus a dim that is never larger.
bool is_rest(const SizeEntry& entry) { return entry.minus && entry.minus->max() <= entry.offset; }

// Sets what the sum or difference with a number is, when the other operand is a base or a rest.
void add_offset(SizeEntry& out, const SizeEntry& from, int64_t more, bool subtracts) {
  const bool wraps = subtracts ? __builtin_sub_overflow(from.offset, more, &out.offset)
                               : __builtin_add_overflow(from.offset, more, &out.offset);
  if (wraps) return;
  out.base = from.base;
  out.minus = from.minus;
}

// Returns op(a, b) of numbers; nullopt when it does not fit in 63 bits.
std::optional<int64_t> computed(std::string_view op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool wraps = false;
  if (op == "minimum") return std::min(a, b);
  if (op == "maximum") return std::max(a, b);
  if (op == "add") wraps = __builtin_add_overflow(a, b, &out);
  else if (op == "subtract") wraps = __builtin_sub_overflow(a, b, &out);
  else if (op == "divide" && (b == 0 || b == -1)) return std::nullopt;
  else if (op == "divide") out = a / b;
  else if (op == "mod" && (a < 0 || b < 1)) return std::nullopt;
  else if (op == "mod") out = a % b;
  else wraps = __builtin_mul_overflow(a, b, &out);
  return wraps ? std::nullopt : std::optional(out);
}

// Returns the element as a dim: a number of at least 0, or an open size.
std::optional<Dim> as_open(const SizeEntry& entry) {
  if (entry.number) return *entry.number >= 0 ? std::optional(Dim(*entry.number)) : std::nullopt;
  return entry.dim && is_open(*entry.dim) ? entry.dim : std::nullopt;
}

// Returns a - b where it is at least 0 for all sizes.
std::optional<Dim> open_difference(Dim a, Dim b) {
  const Result<Dim> out = dim_difference(a, b), other = dim_difference(b, a);
  const bool is_least = other.ok() ? other->max() == 0 : other.status().slug() == "size-bounds";
  return out.ok() && (!out->is_expression() || is_least) ? std::optional(*out) : std::nullopt;
}

// Returns a - b * (a / b).
std::optional<Dim> open_remainder(Dim a, int64_t b) {
  const Result<Dim> quotient = dim_quotient(a, b);
  const Result<Dim> whole = quotient.ok() ? dim_product(*quotient, Dim(b)) : quotient;
  return whole.ok() ? open_difference(a, *whole) : std::nullopt;
}

// Returns op(a, b) of open sizes as a dim.
std::optional<Dim> open_result(std::string_view op, const SizeEntry& a, const SizeEntry& b) {
  if (op == "add" && a.number && *a.number < 0) return open_result(op, b, a);
  const std::optional<Dim> x = as_open(a), y = as_open(b);
  if (op == "add" && x && b.number && *b.number < 0 && *b.number != INT64_MIN)
    return open_difference(*x, Dim(-*b.number));
  if (!x || !y) return std::nullopt;
  if (op == "subtract") return open_difference(*x, *y);
  if (op == "divide" && !y->is_static()) return dim_exact_quotient(*x, *y);
  const bool is_division = op == "divide" || op == "mod";
  if (is_division && (!y->is_static() || *y == Dim(0))) return std::nullopt;
  if (op == "mod") return open_remainder(*x, y->extent());
  const Result<Dim> out = op == "add"        ? dim_sum(*x, *y)
                          : op == "multiply" ? dim_product(*x, *y)
                          : op == "minimum"  ? dim_min(*x, *y)
                          : op == "maximum"  ? dim_max(*x, *y)
                                             : dim_quotient(*x, y->extent());
  return out.ok() ? std::optional(*out) : std::nullopt;
}

// Returns the facts about a dim.
SizeEntry of_dim(Dim dim) {
  if (dim.is_static()) return number(dim.extent());
  SizeEntry out{.dim = dim, .is_natural = true};
  if (dim.max() != Dim::kUnbounded) out.most = dim.max();
  return out;
}

// Returns whether two elements are equal, where that holds for all sizes.
SizeEntry compared(const SizeEntry& a, const SizeEntry& b) {
  if (a.number && b.number) return number(*a.number == *b.number);
  const std::optional<Dim> x = as_open(a), y = as_open(b);
  if (x && y && *x == *y) return number(1);
  auto is_below = [](const SizeEntry& one, const std::optional<Dim>& other) {
    return one.number && other && *one.number < other->min();
  };
  if (is_below(a, y) || is_below(b, x)) return number(0);
  return {};
}

// Returns the facts about op(a, b).
SizeEntry combined(std::string_view op, const SizeEntry& a, const SizeEntry& b) {
  if (op == "equal") return compared(a, b);
  if (a.number && b.number) {
    const std::optional<int64_t> value = computed(op, *a.number, *b.number);
    return value ? number(*value) : SizeEntry{};
  }
  if (const std::optional<Dim> dim = open_result(op, a, b)) return of_dim(*dim);
  if (op == "divide" || op == "mod") return {};
  if (op == "minimum" && a.dim && a.most && b.number && *a.most <= *b.number) return a;
  if (op == "maximum" && is_rest(a) && b.number && *b.number <= 0) return a;
  if (op == "maximum" && is_rest(b) && a.number && *a.number <= 0) return b;
  SizeEntry out{.most = bound_of(op, a, b)};
  const bool adds = op == "add", subtracts = op == "subtract";
  out.is_natural = a.is_natural && b.is_natural && !subtracts;
  if (subtracts && a.number && b.dim) {
    out.minus = b.dim;
    out.offset = *a.number;
  }
  const SizeEntry& from = adds && a.number ? b : a;
  const std::optional<int64_t> more = adds && a.number ? a.number : b.number;
  if ((adds || subtracts) && (from.base || from.minus) && more)
    add_offset(out, from, *more, subtracts);
  return out;
}

// Combines entries, of which a single one is repeated.
std::optional<Entries> combined(std::string_view op, const Entries& a, const Entries& b) {
  if (a.empty() || b.empty() || (a.size() != b.size() && a.size() != 1 && b.size() != 1))
    return std::nullopt;
  Entries out;
  for (size_t k = 0; k < std::max(a.size(), b.size()); ++k) {
    out.push_back(combined(op, a[a.size() == 1 ? 0 : k], b[b.size() == 1 ? 0 : k]));
  }
  return out;
}

}  // namespace

// Parameters of a body may have counted dims, with names of the function around it.
std::string GraphBuilder::new_size(std::string_view op) {
  std::string name = cat(op, "_", function_.nodes.size());
  for (size_t k = 0; k < function_.num_params(); ++k) {
    for (Dim dim : function_.nodes[k].types[0]->shape)
      if (!dim.is_static() && dim.name() == name) name += '_';
  }
  return name;
}

std::optional<Ints> GraphBuilder::upper_bounds(ValueId value) {
  Ints out;
  for (const SizeEntry& entry : size_entries(value)) {
    if (!entry.most) return std::nullopt;
    out.push_back(*entry.most);
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<Dim> GraphBuilder::dim_of(ValueId value) {
  const Entries entries = size_entries(value);
  if (entries.size() != 1) return std::nullopt;
  if (entries[0].number && *entries[0].number >= 0) return Dim(*entries[0].number);
  return entries[0].dim;
}

std::vector<SizeEntry> GraphBuilder::size_entries(ValueId value) {
  int budget = 1000;  // values that are looked at
  if (auto known = entries_of(value, 0, budget)) return *std::move(known);
  if (!is_valid(value)) return {};
  const Shape& shape = type(value).shape;
  if (shape.size() != 1 || !shape[0].is_static()) return {};
  return Entries(static_cast<size_t>(std::min<int64_t>(shape[0].extent(), kMaxElements)));
}

// Calls itself for operands, up to kMaxDepth deep.
std::optional<Entries> GraphBuilder::entries_of(ValueId value, int depth, int& budget) {
  if (--budget < 0 || !is_valid(value) || is_float(type(value).dtype)) return std::nullopt;
  if (data(value) != nullptr) {
    if (Result<int64_t> n = num_elements(type(value).shape);
        !n.ok() || *n > static_cast<int64_t>(kMaxElements))
      return std::nullopt;
    return of_numbers(*const_ints(value));
  }
  const auto* call = std::get_if<Call>(&function_.nodes[value.node].kind);
  if (rank(value) > 2) return std::nullopt;
  if (call != nullptr && depth < kMaxDepth) {
    if (auto computed = computed_entries(*call, depth, budget)) return computed;
  }
  return unknown_entry(value);
}

// Returns the entry of a value of one element.
std::optional<Entries> GraphBuilder::unknown_entry(ValueId value) {
  const Shape& shape = type(value).shape;
  if (!shape.empty() && shape != Shape{1}) return std::nullopt;
  SizeEntry entry{.base = value};
  if (value == counter_) {
    entry.is_natural = true;
    if (trips_) entry.most = *trips_ - 1;
  }
  return Entries{entry};
}

std::optional<Entries> GraphBuilder::computed_entries(const Call& node, int depth, int& budget) {
  const Call* call = &node;
  const std::string& op = call->op->name;
  const std::vector<ValueId> args(function_.args(call->args).begin(),
                                  function_.args(call->args).end());
  if (op == "shape") return of_shape(type(args[0]).shape, *call->attrs);
  if (op == "concat") return joined_entries(args, depth, budget);
  if (op == "negative" && rank(args[0]) < 2) {
    auto from = entries_of(args[0], depth + 1, budget);
    return from ? combined("subtract", Entries{number(0)}, *from) : std::nullopt;
  }
  if (op == "where") return chosen_entries(args, depth, budget);
  if (is_arithmetic(op)) {
    if (rank(args[0]) > 1 || rank(args[1]) > 1) return std::nullopt;
    // Values that are not known have entries without bounds.
    auto a = entries_of(args[0], depth + 1, budget), b = entries_of(args[1], depth + 1, budget);
    if (!a && !b) return std::nullopt;
    return combined(op, a.value_or(Entries(1)), b.value_or(Entries(1)));
  }
  const bool is_moved = op == "gather" || op == "slice" || op == "transpose";
  if (!is_moved && !keeps_elements(op)) return std::nullopt;
  auto from = entries_of(args[0], depth + 1, budget);
  if (!from || keeps_elements(op)) return from;
  const Shape& shape = type(args[0]).shape;
  if (op == "transpose") return transposed(*from, shape, *call->attrs);
  if (op == "slice" && shape.size() == 2) return reversed_rows(*from, shape, *call->attrs);
  if (shape.size() != 1) return std::nullopt;
  return op == "slice" ? sliced(*from, *call->attrs) : gathered(*from, const_ints(args[1]));
}

// Returns the entries that a condition chooses.
std::optional<Entries> GraphBuilder::chosen_entries(const std::vector<ValueId>& args, int depth,
                                                    int& budget) {
  std::optional<Entries> of[3];
  size_t n = 1;
  for (size_t k = 0; k < 3; ++k) {
    if (rank(args[k]) > 1) return std::nullopt;
    of[k] = entries_of(args[k], depth + 1, budget);
    if (!of[k] || of[k]->empty() || (n != 1 && of[k]->size() != 1 && of[k]->size() != n))
      return std::nullopt;
    n = std::max(n, of[k]->size());
  }
  Entries out;
  auto at = [&](size_t k, size_t index) { return (*of[k])[of[k]->size() == 1 ? 0 : index]; };
  for (size_t k = 0; k < n; ++k) {
    const SizeEntry condition = at(0, k);
    out.push_back(condition.number ? at(*condition.number != 0 ? 1 : 2, k) : SizeEntry{});
  }
  return out;
}

// Returns the entries of the parts of a concat; those of parts that are not known have no bounds.
std::optional<Entries> GraphBuilder::joined_entries(const std::vector<ValueId>& parts, int depth,
                                                    int& budget) {
  Entries out;
  for (ValueId part : parts) {
    const Shape& shape = type(part).shape;
    if (shape.size() != 1 || !shape[0].is_static()) return std::nullopt;
    const int64_t n = shape[0].extent();
    if (n > static_cast<int64_t>(kMaxElements - out.size())) return std::nullopt;
    auto entries = entries_of(part, depth + 1, budget);
    if (!entries) entries = Entries(static_cast<size_t>(n));
    out.insert(out.end(), entries->begin(), entries->end());
  }
  return out;
}

}  // namespace byoc::onnx_import
