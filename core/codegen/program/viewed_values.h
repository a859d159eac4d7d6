// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that are the elements of another value in the same order, as those of a reshape between
// two regions: they have its memory, and no step.
#include <vector>

#include "core/codegen/program/joined_places.h"

namespace byoc {

/// Returns per value the value that it is a view of, which is no view itself, or its own number.
/// Views are results of externs of one operand in the attribute `joins`, of a known type, in memory
/// of the host, and no part of a concat. A view that is a result of the function is the only one of
/// its value, which an extern makes and which is no result. `first` has, per node, the number of
/// its first value; `joined` the places of parts. Cost: linear.
std::vector<uint32_t> viewed_values(const Function& function, const std::vector<uint32_t>& first,
                                    const ValueDevices& devices,
                                    const std::vector<JoinedPlace>& joined);

}  // namespace byoc
