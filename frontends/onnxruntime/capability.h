// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which nodes of a graph byoc runs, in which groups, and why it leaves the others.
#include "frontends/onnxruntime/program/part.h"

namespace byoc::ort {

struct Capability {
  std::vector<std::string> reasons;          ///< per node: why it is left; "": byoc runs it
  std::vector<Group> groups;                 ///< of the nodes that byoc runs
  std::vector<std::shared_ptr<Part>> parts;  ///< per group
};

/// Tries the options on a model of one node, and the places of files, so that a wrong one is an
/// error of the session: with a model, all nodes would be left for it. Errors: those of
/// byoc_partition; slug "file".
Status check_settings(const Settings& settings);

/// Finds the nodes that byoc's import reads and its plugins compile. A node that fails is left, and
/// the groups are made again without it. Errors: the system's, of temporary files.
Result<Capability> find_capability(const Graph& graph, const Settings& settings);

/// Returns the capability, the groups and byoc's own reasons as JSON. Costs a compile per group.
std::string explain_capability(const Calls& calls, const Graph& graph, const Settings& settings,
                               const Capability& capability);

}  // namespace byoc::ort
