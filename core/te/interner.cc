// SPDX-License-Identifier: Apache-2.0
#include "core/te/interner.h"

#include <bit>

#include "byoc/te/rewrite.h"

namespace byoc::te {
namespace {

// The parts of a node that distinguish it from others; operands by address, as they are interned.
using Parts = std::vector<uint64_t>;

uint64_t number(const void* at) { return reinterpret_cast<uintptr_t>(at); }
uint64_t number(const Expr& x) { return number(&*x); }

Parts parts_of(const ExprNode& x) {
  Parts out = {static_cast<uint64_t>(x.dtype), x.kind.index()};
  auto add = [&](auto... parts) { (out.push_back(static_cast<uint64_t>(parts)), ...); };
  std::visit(overloaded{
                 [&](const IntImm& v) { add(v.value); },
                 [&](const FloatImm& v) { add(std::bit_cast<uint64_t>(v.value)); },
                 [&](const VarRef& v) { add(number(v.var.id())); },
                 [&](const Unary& v) { add(v.op, number(v.x)); },
                 [&](const Binary& v) { add(v.op, number(v.a), number(v.b)); },
                 [&](const Select& v) { add(number(v.condition), number(v.yes), number(v.no)); },
                 [&](const Cast& v) { add(number(v.x)); },
                 [&](const Bitcast& v) { add(number(v.x)); },
                 [&](const std::shared_ptr<const Load>& v) {
                   add(number(v->tensor.id()));
                   for (const Expr& index : v->indices) add(number(index));
                 },
             },
             x.kind);
  return out;
}

size_t hash_of(const Parts& parts) {
  uint64_t hash = 0;
  for (uint64_t part : parts) hash = (hash ^ part) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
  return hash;
}

}  // namespace

Expr Interner::operator()(const Expr& x) {
  if (interned_.contains(&*x)) return x;
  if (auto known = others_.find(&*x); known != others_.end()) return known->second.second;
  Expr node = map_operands(x, *this);
  const Parts parts = parts_of(*node);
  const size_t hash = hash_of(parts);
  for (auto [at, end] = nodes_.equal_range(hash); at != end; ++at) {
    if (parts_of(*at->second) != parts) continue;
    others_.emplace(&*x, std::pair(x, at->second));
    return at->second;
  }
  nodes_.emplace(hash, node);
  interned_.insert(&*node);
  if (!node.same_as(x)) others_.emplace(&*x, std::pair(x, node));
  return node;
}

}  // namespace byoc::te
