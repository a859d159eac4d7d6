// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "byoc/ir/visit.h"
#include "core/conform/samples/pattern_instances.h"
#include "core/region/pattern_tree.h"

namespace byoc::conform {
namespace {

struct Contents {
  std::set<std::string> ops;
  bool has_constants = false;
};

void collect(const PatternNode& p, Contents& out) {
  const auto all = [&out](const std::vector<PatternNode>& parts) {
    for (const PatternNode& part : parts) collect(part, out);
  };
  std::visit(overloaded{[&](const PatternNode::Op& op) {
                          out.ops.insert(op.op);
                          all(op.args);
                        },
                        [&](const PatternNode::OneOf& one) { all(one.choices); },
                        [&](const PatternNode::Optional& chain) { all(chain.parts); },
                        [&](const PatternNode::Repeat& chain) { all(chain.parts); },
                        [&](const PatternNode::Const&) { out.has_constants = true; },
                        [](const PatternNode::Any&) {}, [](const PatternNode::Dollar&) {},
                        [](const PatternNode::Same&) {}},
             p.kind);
}

Contents contents_of(const Pattern& pattern) {
  Contents out;
  collect(pattern.tree().root, out);
  return out;
}

}  // namespace

std::vector<std::string> unknown_ops(const Pattern& pattern) {
  std::set<std::string> ops = contents_of(pattern).ops;
  std::erase_if(ops, [](const std::string& op) { return all_ops().find(op) != nullptr; });
  return {ops.begin(), ops.end()};
}

bool has_constants(const Pattern& pattern) { return contents_of(pattern).has_constants; }

}  // namespace byoc::conform
