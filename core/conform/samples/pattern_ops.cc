// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "byoc/ir/visit.h"
#include "core/conform/samples/pattern_instances.h"
#include "core/region/pattern_tree.h"

namespace byoc::conform {
namespace {

void collect_ops(const PatternNode& p, std::set<std::string>& out) {
  std::visit(overloaded{[&](const PatternNode::Op& op) {
                          out.insert(op.op);
                          for (const PatternNode& arg : op.args) collect_ops(arg, out);
                        },
                        [&](const PatternNode::OneOf& one) {
                          for (const PatternNode& choice : one.choices) collect_ops(choice, out);
                        },
                        [&](const PatternNode::Optional& chain) {
                          for (const PatternNode& part : chain.parts) collect_ops(part, out);
                        },
                        [&](const PatternNode::Repeat& chain) {
                          for (const PatternNode& part : chain.parts) collect_ops(part, out);
                        },
                        [](const PatternNode::Any&) {}, [](const PatternNode::Const&) {},
                        [](const PatternNode::Dollar&) {}, [](const PatternNode::Same&) {}},
             p.kind);
}

}  // namespace

std::vector<std::string> unknown_ops(const Pattern& pattern) {
  std::set<std::string> ops;
  collect_ops(pattern.tree().root, ops);
  std::erase_if(ops, [](const std::string& op) { return all_ops().find(op) != nullptr; });
  return {ops.begin(), ops.end()};
}

}  // namespace byoc::conform
