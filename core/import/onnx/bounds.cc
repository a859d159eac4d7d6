// SPDX-License-Identifier: Apache-2.0
// The elements of computed sizes: those of Shape and of the ops that compute with them, as far as
// they are known while reading.
#include <algorithm>

#include "byoc/base/check.h"
#include "core/import/onnx/graph.h"

namespace byoc::onnx_import {
namespace {

constexpr int kMaxDepth = 12;  // ops between a shape and the value
constexpr size_t kMaxElements = 64;

using Entries = std::vector<SizeEntry>;

// Returns true for ops that give the elements of their first operand in their order.
bool keeps_elements(std::string_view op) {
  return op == "squeeze" || op == "unsqueeze" || op == "reshape" || op == "cast" || op == "flatten";
}

SizeEntry number(int64_t value) {
  return {.number = value, .most = value, .is_natural = value >= 0};
}

Entries of_shape(const Shape& shape) {
  Entries out;
  for (Dim dim : shape) {
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
  if (!a.most || !b.most) return std::nullopt;
  if (op == "maximum") return std::max(*a.most, *b.most);
  if (op == "add") wraps = __builtin_add_overflow(*a.most, *b.most, &out);
  else if (op == "subtract" && b.number) wraps = __builtin_sub_overflow(*a.most, *b.number, &out);
  else if (op == "multiply" && a.is_natural && b.is_natural)
    wraps = __builtin_mul_overflow(*a.most, *b.most, &out);
  else return std::nullopt;
  return wraps ? std::nullopt : std::optional(out);
}

// Returns the facts about op(a, b).
SizeEntry combined(std::string_view op, const SizeEntry& a, const SizeEntry& b) {
  if (op == "minimum" && a.dim && a.most && b.number && *a.most <= *b.number) return a;
  SizeEntry out{.most = bound_of(op, a, b)};
  const bool adds = op == "add", subtracts = op == "subtract";
  out.is_natural = a.is_natural && b.is_natural && !subtracts;
  const SizeEntry& from = adds && a.number ? b : a;
  const std::optional<int64_t> more = adds && a.number ? a.number : b.number;
  if ((!adds && !subtracts) || !from.base || !more) return out;
  const bool wraps = subtracts ? __builtin_sub_overflow(from.offset, *more, &out.offset)
                               : __builtin_add_overflow(from.offset, *more, &out.offset);
  if (!wraps) out.base = from.base;
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
  if (rank(value) > 1) return std::nullopt;
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
  if (op == "shape") return of_shape(type(args[0]).shape);
  if (op == "concat") return joined_entries(args, depth, budget);
  if (op == "minimum" || op == "maximum" || op == "add" || op == "subtract" || op == "multiply") {
    // Entries without bounds are those of values that are not known.
    auto a = entries_of(args[0], depth + 1, budget), b = entries_of(args[1], depth + 1, budget);
    if (!a && !b) return std::nullopt;
    return combined(op, a.value_or(Entries(1)), b.value_or(Entries(1)));
  }
  const bool is_moved = op == "gather" || op == "slice";
  if ((!is_moved && !keeps_elements(op)) || (is_moved && rank(args[0]) != 1)) return std::nullopt;
  auto from = entries_of(args[0], depth + 1, budget);
  if (!from || keeps_elements(op)) return from;
  return op == "slice" ? sliced(*from, *call->attrs) : gathered(*from, const_ints(args[1]));
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
