// SPDX-License-Identifier: Apache-2.0
// Structural equality of modules and functions. Describes the first difference in words.
#include <cstring>

#include "byoc/ir/visit.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

bool differ(std::string* why, std::string reason) {
  if (why != nullptr) *why = std::move(reason);
  return false;
}

bool same_bytes(const Buffer* a, const Buffer* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->key() != b->key() || a->size() != b->size()) return false;
  return a->size() == 0 || std::memcmp(a->data(), b->data(), a->size()) == 0;
}

std::string difference_of(const Control& x, const Control& y) {
  if (x.action != y.action) return "if and loop";
  if (x.carried != y.carried) return cat("carried ", x.carried, " and ", y.carried);
  if (x.body != y.body) return cat("@", x.body, " and @", y.body);
  if (x.otherwise != y.otherwise) return cat("@", x.otherwise, " and @", y.otherwise);
  return "";
}

// Compares two nodes whose kinds are that of `a`.
std::string difference_of_kind(const Node& a, const Node& b) {
  return std::visit(
      overloaded{
          [&](const Param& x) {
            Symbol name = std::get<Param>(b.kind).name;
            return x.name == name ? "" : cat("parameter ", x.name, " and ", name);
          },
          [&](const Constant& x) {
            return std::string(
                same_bytes(x.data, std::get<Constant>(b.kind).data) ? "" : "values differ");
          },
          [&](const Call& x) {
            const Call& y = std::get<Call>(b.kind);
            if (x.op != y.op && x.op->name != y.op->name)
              return cat(x.op->name, " and ", y.op->name);
            if (x.attrs == y.attrs || *x.attrs == *y.attrs) return std::string();
            return cat("attributes ", *x.attrs, " and ", *y.attrs);
          },
          [&](const Invoke& x) {
            Symbol callee = std::get<Invoke>(b.kind).function;
            return x.function == callee ? "" : cat("@", x.function, " and @", callee);
          },
          [&](const Extern& x) {
            Symbol symbol = std::get<Extern>(b.kind).symbol;
            return x.symbol == symbol ? "" : cat("extern @", x.symbol, " and @", symbol);
          },
          [&](const Control& x) { return difference_of(x, std::get<Control>(b.kind)); },
      },
      a.kind);
}

// Returns "" when the nodes are the same.
std::string difference(const Function& f, const Function& g, uint32_t index, bool ignore_loc) {
  const Node &a = f.nodes[index], &b = g.nodes[index];
  if (a.kind.index() != b.kind.index()) return cat(describe(f, index), " and ", describe(g, index));
  std::string kind = difference_of_kind(a, b);
  if (!kind.empty()) return kind;
  auto x = f.args(a), y = g.args(b);
  if (x.size() != y.size()) return cat(x.size(), " and ", y.size(), " operands");
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k] == y[k]) continue;
    return cat("operand ", k, " is output ", x[k].output, " of ", describe(f, x[k].node),
               " and output ", y[k].output, " of ", describe(g, y[k].node));
  }
  if (a.types != b.types) return cat("types ", a.types, " and ", b.types);
  if (!ignore_loc && a.loc != b.loc) return cat("locations \"", a.loc, "\" and \"", b.loc, "\"");
  return "";
}

bool equal_modules_of_plugins(const IRModule& a, const IRModule& b, std::string* why) {
  if (a.external_mods.size() != b.external_mods.size()) {
    return differ(
        why, cat(a.external_mods.size(), " and ", b.external_mods.size(), " external modules"));
  }
  for (size_t k = 0; k < a.external_mods.size(); ++k) {
    if (a.external_mods[k] == b.external_mods[k]) continue;
    return differ(why, cat("external module ", k, " (", a.external_mods[k].plugin, ") differs"));
  }
  return true;
}

}  // namespace

bool equal(const Function& a, const Function& b, std::string* why, bool ignore_loc) {
  if (!(a.attrs == b.attrs))
    return differ(why, cat("function attributes ", a.attrs, " and ", b.attrs));
  size_t common = std::min(a.nodes.size(), b.nodes.size());
  for (uint32_t k = 0; k < common; ++k) {
    std::string reason = difference(a, b, k, ignore_loc);
    if (!reason.empty()) return differ(why, cat("node ", describe(a, k), ": ", reason));
  }
  if (a.nodes.size() != b.nodes.size()) {
    return differ(why, cat(a.nodes.size(), " and ", b.nodes.size(), " nodes"));
  }
  if (a.results != b.results) return differ(why, "the returned values differ");
  return true;
}

bool equal(const IRModule& a, const IRModule& b, std::string* why, bool ignore_loc) {
  if (a.entry != b.entry) return differ(why, cat("entry @", a.entry, " and @", b.entry));
  if (!(a.attrs == b.attrs))
    return differ(why, cat("module attributes ", a.attrs, " and ", b.attrs));
  for (const auto& [name, function] : a.functions) {
    const Function* other = b.find(name);
    if (other == nullptr) return differ(why, cat("only the first module has @", name));
    if (equal(function, *other, why, ignore_loc)) continue;
    if (why != nullptr) *why = cat("@", name, ": ", *why);
    return false;
  }
  for (const auto& [name, function] : b.functions) {
    if (a.find(name) == nullptr) return differ(why, cat("only the second module has @", name));
  }
  return equal_modules_of_plugins(a, b, why);
}

}  // namespace byoc
