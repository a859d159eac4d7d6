// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chains of post-ops: what may follow an op inside its primitive, and how exact oneDNN is there.
#include <span>

#include "region/region.h"

namespace byoc::onednn {

/// The distance of a function as a post-op from the op's definition.
enum class Exactness {
  kAsDefined,      // no more than `byoc check-plugin` allows
  kNearOne,        // the error is relative to 1, not to a result near 0
  kWrongNearZero,  // results near 0 have no right digit: the op needs a primitive of its own
};

struct ChainOp {
  std::string_view op;
  bool is_binary = false;  // reads an operand and the value so far
  Exactness exactness = Exactness::kAsDefined;
  /// Writes the functions that replace the op in a chain into `made`; null where oneDNN has it as
  /// one function.
  std::vector<const Node*> (*replace)(const Node& node, std::list<Node>& made) = nullptr;
  bool has_primitive = true;  // false: runs as a post-op alone
  bool loses_nan = false;     // as a post-op: NaN becomes a number
};

/// Returns the table. Each of these may follow each anchor of patterns.cc.
std::span<const ChainOp> chain_ops();
/// Returns null where the table has no such op.
const ChainOp* find_chain_op(std::string_view op);

struct Chain {
  std::vector<Post> fused;  // run by the anchor's primitive
  std::vector<Post> rest;   // each a unit of its own, in this order
};
/// Reads a composite's chain by the table. It is cut before the first op that is wrong near 0, that
/// the rules forbid, or that makes the anchor's result larger; ops before the cut are replaced, ops
/// after it are not, as their own primitives are exact. Throws Refusal for an op without a row in
/// the table.
Chain read_chain(const std::vector<Post>& posts, std::list<Node>& made,
                 const ChainRules& rules = {});

}  // namespace byoc::onednn
