// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies in the solver's problem. A value that the host and devices use gets a node of its own,
// whose states are the places where the value is: so that each copy is paid once, however many ops
// read it.
//   %1 = tanh(%0)          the host, or device 1
//   %2 = relu(%1)          the host, or device 1
//   %3 = add(%1, %2)       the host, or device 1
// The node of %1 has the states {host}, {host, copied to 1}, {1}, {1, copied to the host}. The
// edges forbid states that lack the place where an op makes or reads the value.
#include <functional>
#include <span>
#include <vector>

#include "byoc/ir/module.h"
#include "core/placement/copies/link.h"
#include "core/placement/solver/problem.h"

namespace byoc::placement {

/// The host is place 0, device d is place d.
inline constexpr uint32_t kHostPlace = 0, kMostDevices = 4;

/// A node of the problem for a value.
struct CopyNode {
  struct State {
    uint8_t home = 0;    // the place where the value is made
    uint8_t places = 1;  // a bit per place where it is
  };
  ValueId value;
  double bytes = 0;
  std::vector<State> states;
};

/// A copy in a run.
struct CopiedValue {
  ValueId value;
  uint32_t device = 0;
  bool goes_in = false;  // to the device
  double bytes = 0, ns = 0;
};

/// The ops of a function as nodes of a problem.
struct PlacedOps {
  const Function& function;
  std::span<const uint32_t> problem_of;  // per node of the function; UINT32_MAX: on the host
  std::span<const Link> links;           // of devices 1, 2, ...
  /// Returns the place of a state of a node of the problem.
  std::function<uint32_t(uint32_t v, uint32_t state)> place;
};

/// Appends a node per value that the host and a device, or two devices, may use, with edges to the
/// ops that make and read it. Constants cost nothing: they are copied before the first run. Values
/// whose bytes are open have no node. O(nodes + edges).
std::vector<CopyNode> add_copies(const PlacedOps& ops, Problem& problem);

/// Returns the copies of a state of a node, in the order of devices; first those to the host.
std::vector<CopiedValue> copies_of(const CopyNode& node, uint32_t state,
                                   std::span<const Link> links);

}  // namespace byoc::placement
