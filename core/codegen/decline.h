// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// The answer of a plugin that does not compile a function which its judge accepted.
struct Decline {
  const Plugin& plugin;
  const Status& why;
  int64_t node = -1;  ///< in the graph JSON's "nodes": the first one that does not fit; -1: none
};

/// Cuts the function `name` before the node of the decline: the parts are the plugin's again, but
/// for a first node, which goes elsewhere. A function that cannot be cut becomes a plain one,
/// without composites, and goes elsewhere as a whole; one with loops goes to the next plugin that
/// takes loops. All but loops get the attribute kDeclinedAttr. Errors: slug "strict" when ops go
/// elsewhere and the context is strict; those of reassign_loops.
Status apply(const Decline& decline, IRModule& module, Symbol name, const PassContext& context);

}  // namespace byoc
