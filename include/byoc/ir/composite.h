// SPDX-License-Identifier: Apache-2.0
#pragma once
// Composite functions: the nodes that a pattern matched, as a function with the attributes
// `composite` (the pattern's name, "onednn.conv2d_relu") and `captures` (the nodes and inputs that
// the pattern named). In text: captures=["conv=n0", "post=n2,n3", "w=i1"].
#include <map>

#include "byoc/ir/node.h"

namespace byoc {

/// A node or an input of the body. Nodes are counted as the graph JSON counts them: Call, Invoke
/// and Extern nodes alone, parameters and constants left out.
struct Capture {
  /// A node of the composite, or one of its inputs.
  enum Kind { kNode, kInput };
  Kind kind = kNode;   ///< the kind of the captured thing
  uint32_t index = 0;  ///< the index of the node or the input
  friend bool operator==(const Capture&, const Capture&) = default;
};
/// Maps the pattern's name of a capture to the captured nodes and inputs.
using Captures = std::map<std::string, std::vector<Capture>>;

/// Sets the attribute; removes it when `captures` is empty.
void set_captures(Function& function, const Captures& captures);
/// Reads the attribute. Errors: kInvalidArgument, slug "captures", when the attribute is malformed
/// or names a node or an input that the body does not have.
Result<Captures> captures(const Function& function);
/// Returns the indices of the Call, Invoke and Extern nodes: node `k` of them is
/// nodes[graph_nodes(f)[k]].
std::vector<uint32_t> graph_nodes(const Function& function);

}  // namespace byoc
