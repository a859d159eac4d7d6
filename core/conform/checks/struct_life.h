#pragma once
// One whole life of a plugin, from the entry to a run, with every struct that the host gives
// dressed in a certain way.
#include "core/conform/context/loaded_plugin.h"

namespace byoc::conform {

enum class Dress {
  kWalled,    // a wall behind every struct and every string
  kLonger,    // as a newer host would give them: longer, with fields nobody knows
  kOptional,  // with an extension that may be ignored
  kRequired   // with one that must be understood: every call has to refuse
};
/// For a child. The findings.
std::vector<std::string> live_in(const Kit& kit, Dress dress);

}  // namespace byoc::conform
