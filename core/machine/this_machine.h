// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of this machine: given, known, or measured.
#include "core/machine/machine.h"

namespace byoc::machine {

/// Returns this machine's description, the first that is there:
///   1. the file that BYOC_MACHINE names;
///   2. a row of share/byoc/machines, for the same processor with as many cores;
///   3. a file in the user's cache folder, of the same processor, cores and version of byoc;
///   4. what measure_machine() returns, which is put there.
/// A file of 2 or 3 that is damaged or of another machine is passed over. Once found, it is kept
/// for the process, per value of BYOC_MACHINE. Thread-safe.
/// Errors: slug "machine", for the file of BYOC_MACHINE.
Result<std::shared_ptr<const Machine>> this_machine();

/// Returns the file in a cache folder that is for this processor, its cores and this byoc.
std::string cached_path(const std::string& folder);
/// Returns 2 of the above from a folder of rows, nothing without one.
std::optional<Machine> shipped_in(const std::string& folder);
/// Returns 3 or 4 of the above for a cache folder; "" has none.
Machine known_or_measured(const std::string& folder);

}  // namespace byoc::machine
