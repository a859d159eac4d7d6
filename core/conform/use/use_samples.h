// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models as programs have them: ops on large tensors, and several ops that read each other.
#include "core/conform/context/loaded_plugin.h"

namespace byoc::conform {

/// A module whose `main` has ops and constants alone.
struct UseSample {
  std::string label;
  IRModule module;
  std::vector<Domain> domains;  // per parameter
  bool is_chain = false;        // of several ops, with a small result of larger values
};

/// Returns programs of one op each, on tensors of some ten thousand elements whose extents are
/// multiples of no power of two.
std::vector<Program> large_programs();

/// Returns graphs of two ops that the plugin takes alone: one reads the other's result, also twice,
/// and that result is also one of the graph. At most `count`, chosen by `seed`.
std::vector<UseSample> linked_samples(const std::vector<Program>& taken, uint64_t seed,
                                      size_t count);

/// Returns one model of all samples, which share nothing.
UseSample joined(const std::vector<UseSample>& samples);

}  // namespace byoc::conform
