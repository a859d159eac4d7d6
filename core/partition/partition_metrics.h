#pragma once
// How a partition is measured: its regions and its border tensors.
//
// A place is a region, the call of a compiled function, an extern, or the rest: all ops of a
// function that stand in none of those, together. A border tensor is a distinct value that an op
// of one place makes and an op of another place reads, counted once however many places read it.
// Inputs of the model and constants are no border tensors, and that a value is an output of the
// model does not make it one: those are the same in every partition, and are stated apart.
#include "byoc/pass/pass.h"
#include "core/region/annotations.h"

namespace byoc {

struct BorderCount {
  uint64_t regions = 0;  // and calls of compiled functions, and externs
  uint64_t tensors = 0;  // border tensors
  uint64_t bytes = 0;    // of those whose size is known
  BorderCount& operator+=(const BorderCount& other);
};

BorderCount count_borders(const IRModule& module, const Function& function,
                          const Annotations& annotations);
/// All functions of a module, as annotated and as cut. Errors: those of the annotations.
Result<BorderCount> count_borders(const IRModule& module);
/// What the baseline (waves.h) would make of the open regions of an annotated module. A group of
/// one wave may be in several pieces with no edge between them. kApart: each is a region, as ours
/// are, unless the plugin has the flag HORIZONTAL; kTogether: the group is one region whatever the
/// plugin says.
enum class WavePieces { kApart, kTogether };
Result<BorderCount> count_waves(const IRModule& annotated, const PassContext& context,
                                WavePieces pieces);

}  // namespace byoc
