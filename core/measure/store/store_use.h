// SPDX-License-Identifier: Apache-2.0
#pragma once
// The use of the store by one command, as its output has it.
#include <nlohmann/json_fwd.hpp>

#include "core/measure/store/store.h"

namespace byoc::measure {

struct StoreUse {
  std::string path;                        ///< of the store; "": none is used
  size_t usable = 0;                       ///< observations of this machine, threads and plugins
  size_t known = 0;                        ///< subjects of the command that needed no measurement
  size_t measured = 0;                     ///< subjects that were measured now
  std::map<std::string, size_t> unusable;  ///< observations by the reason
  std::map<std::string, size_t> known_by;  ///< `known` by the command that measured them
  /// Counts a subject whose observation was found.
  void add_known(const Observation& one);
};

/// Returns the use before any subject: counts what the store has for the scope.
StoreUse use_of(const Store& store, const Scope& scope);
/// Returns the line "observations: 12 usable, 4 known (3 by tune, 1 by place), 2 measured now;
/// unusable: 3 another machine", ended; "" without a store.
std::string text_of(const StoreUse& use);
nlohmann::ordered_json json_of(const StoreUse& use);

}  // namespace byoc::measure
