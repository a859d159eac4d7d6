// SPDX-License-Identifier: Apache-2.0
#pragma once
// The log that comes with byoc for a kind of processor.
#include <optional>
#include <string>

namespace byoc::tune {

/// Returns the kind of this machine's processor, such as "amd-family26",
/// "intel-family6-model143" or "arm-41-d40"; "" when it cannot be read. Processors of AMD's
/// families have one micro-architecture; those of other makers need the model as well.
std::string processor_kind();

/// Returns the file KIND.jsonl of the first folder that has it. The folders are those of
/// BYOC_TUNING_PATH; when that variable is unset, share/byoc/tuning beside the folder `bin` of this
/// program, and beside the folder `lib` of libbyoc.so. Nothing else of the machine or the user has
/// an influence.
std::optional<std::string> shipped_log();

}  // namespace byoc::tune
