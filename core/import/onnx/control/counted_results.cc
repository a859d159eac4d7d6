// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/control/counted_results.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace byoc::onnx_import {
namespace {

// Calls f(word) for the names that the name of a computed dim holds: n and m of "n*4+m".
template <class F>
void for_words(std::string_view name, F f) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; at < name.size();) {
    if (!in_word(name[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < name.size() && in_word(name[at])) ++at;
    if (!std::isdigit(static_cast<unsigned char>(name[begin]))) f(name.substr(begin, at - begin));
  }
}

}  // namespace

bool is_known_outside(Dim dim, std::span<const TypeId> captured) {
  if (!dim.is_counted()) return true;
  std::set<std::string, std::less<>> known;
  for (TypeId type : captured) {
    for (Dim outside : type->shape) {
      if (!outside.is_counted()) continue;
      if (outside.name() == dim.name()) return true;
      known.emplace(outside.name().text());
    }
  }
  bool all = true;
  for_words(dim.name().text(), [&](std::string_view word) { all = all && known.contains(word); });
  return all;
}

std::optional<TensorType> common_type(const TensorType& a, const TensorType& b,
                                      std::span<const TypeId> captured, const std::string& name) {
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size()) return std::nullopt;
  TensorType out = a;
  for (size_t d = 0; d < a.shape.size(); ++d) {
    const Dim one = a.shape[d], other = b.shape[d];
    if (one == other && is_known_outside(one, captured)) continue;
    for (Dim dim : {one, other})
      if (!dim.is_static() && !dim.is_counted()) return std::nullopt;
    out.shape[d] = Dim::counted(cat(name, "_", d), std::max(one.max(), other.max()));
  }
  return out;
}

Attrs as_counted_attrs(const Shape& shape) {
  Strings names;
  Ints most;
  for (Dim dim : shape) {
    names.push_back(dim.is_counted() ? dim.name().str() : std::string());
    most.push_back(dim.max());
  }
  return {{"dims", std::move(names)}, {"most", std::move(most)}};
}

Status convert_result(Function& body, size_t k, TypeId to, const OpRegistry& ops) {
  const ValueId from = body.results[k];
  if (body.type(from) == to) return {};
  BYOC_TRY(const OpDef* op, ops.get("as_counted"));
  BYOC_TRY(Attrs attrs, complete_attrs(*op, as_counted_attrs(to->shape)));
  body.results[k] = {body.add_call(op, intern(std::move(attrs)), std::vector{from}, to), 0};
  return {};
}

}  // namespace byoc::onnx_import
