// SPDX-License-Identifier: Apache-2.0
// Upper bounds of computed sizes: the elements of Shape, and what is computed of them.
#include <algorithm>

#include "byoc/base/check.h"
#include "core/import/onnx/graph.h"

namespace byoc::onnx_import {
namespace {

constexpr int kMaxDepth = 12;  // ops between a shape and the value; each has at most two operands
constexpr size_t kMaxElements = 64;

using Bounds = std::optional<Ints>;

// Returns true for ops that give the elements of their first operand in their order.
bool keeps_elements(std::string_view op) {
  return op == "squeeze" || op == "unsqueeze" || op == "reshape" || op == "cast" || op == "flatten";
}

Bounds of_shape(const Shape& shape) {
  Ints out;
  for (Dim dim : shape) {
    if (dim.max() == Dim::kUnbounded) return std::nullopt;
    out.push_back(dim.max());
  }
  return out;
}

// Returns the chosen entries.
Bounds gathered(const Bounds& from, const std::optional<Ints>& indices) {
  if (!from || !indices) return std::nullopt;
  const auto n = static_cast<int64_t>(from->size());
  Ints out;
  for (int64_t index : *indices) {
    if (index < -n || index >= n) return std::nullopt;
    out.push_back((*from)[static_cast<size_t>(index < 0 ? index + n : index)]);
  }
  return out;
}

// Combines entries, of which a single one is repeated.
template <class F>
Bounds combined(const Bounds& a, const Bounds& b, F f) {
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  Ints out;
  for (size_t k = 0; k < std::max(a->size(), b->size()); ++k) {
    int64_t value = 0;
    if (!f((*a)[a->size() == 1 ? 0 : k], (*b)[b->size() == 1 ? 0 : k], value)) return std::nullopt;
    out.push_back(value);
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

std::optional<Ints> GraphBuilder::upper_bounds(ValueId value) { return bounds_of(value, 0); }

std::optional<Dim> GraphBuilder::dim_of(ValueId value) {
  std::optional<int64_t> entry;
  while (is_valid(value)) {
    const auto* call = std::get_if<Call>(&function_.nodes[value.node].kind);
    if (call == nullptr) return std::nullopt;
    const ValueId from = function_.args(call->args)[0];
    if (call->op->name == "shape") {
      const Shape& shape = type(from).shape;
      const auto rank = static_cast<int64_t>(shape.size());
      const int64_t at = entry.value_or(0);
      if ((!entry && rank != 1) || at < -rank || at >= rank) return std::nullopt;
      return shape[static_cast<size_t>(at < 0 ? at + rank : at)];
    }
    if (call->op->name == "gather" && !entry && rank(from) == 1) {
      auto indices = const_ints(function_.args(call->args)[1]);
      if (!indices || indices->size() != 1) return std::nullopt;
      entry = indices->front();
    } else if (!keeps_elements(call->op->name) || is_float(type(from).dtype)) {
      return std::nullopt;
    }
    value = from;
  }
  return std::nullopt;
}

// Calls itself for operands, up to kMaxDepth deep.
std::optional<Ints> GraphBuilder::bounds_of(ValueId value, int depth) {
  if (auto known = const_ints(value)) {
    if (known->size() <= kMaxElements) return known;
    return std::nullopt;
  }
  if (!is_valid(value) || depth == kMaxDepth) return std::nullopt;
  const auto* call = std::get_if<Call>(&function_.nodes[value.node].kind);
  if (call == nullptr || is_float(type(value).dtype)) return std::nullopt;
  const std::string& op = call->op->name;
  const std::vector<ValueId> args(function_.args(call->args).begin(),
                                  function_.args(call->args).end());
  auto operand = [&](size_t k) { return bounds_of(args[k], depth + 1); };
  if (op == "shape") return of_shape(type(args[0]).shape);
  if (op == "gather" && rank(args[0]) == 1) return gathered(operand(0), const_ints(args[1]));
  if (keeps_elements(op)) return is_float(type(args[0]).dtype) ? std::nullopt : operand(0);
  if (args.size() != 2) return std::nullopt;
  if (op == "minimum") {
    Bounds a = operand(0), b = operand(1);
    if (!a || !b) return a ? a : b;
    return combined(a, b, [](int64_t x, int64_t y, int64_t& z) {
      z = std::min(x, y);
      return true;
    });
  }
  if (op == "add" || op == "maximum") {
    return combined(operand(0), operand(1), [&](int64_t x, int64_t y, int64_t& z) {
      if (op == "add") return !__builtin_add_overflow(x, y, &z);
      z = std::max(x, y);
      return true;
    });
  }
  const std::optional<Ints> constant = const_ints(args[1]);
  if (op != "subtract" || !constant) return std::nullopt;
  return combined(operand(0), constant, [](int64_t x, int64_t y, int64_t& z) {
    return !__builtin_sub_overflow(x, y, &z);
  });
}

}  // namespace byoc::onnx_import
