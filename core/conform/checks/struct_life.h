// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls a plugin from its entry to a run, with structs and strings that all have a certain form.
#include "core/conform/context/loaded_plugin.h"

namespace byoc::conform {

enum class StructForm {
  kGuarded,   // a page that cannot be accessed follows every struct and every string
  kLonger,    // structs of a newer host: longer, with fields that are unknown to the plugin
  kOptional,  // structs have an unknown extension that may be ignored
  kRequired   // structs have an unknown extension with MUST_UNDERSTAND: every call has to refuse it
};
/// Loads the plugin and calls every slot of its table. Returns the findings. Call it in a child.
std::vector<std::string> check_struct_life(const CheckContext& context, StructForm form);

}  // namespace byoc::conform
