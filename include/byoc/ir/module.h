// SPDX-License-Identifier: Apache-2.0
#pragma once
// A module: functions by name, the constants they share, and the external modules that plugins made
// of some of them.
#include <map>
#include <memory>

#include "byoc/base/external.h"
#include "byoc/ir/node.h"

namespace byoc {

/// The types of a function.
struct FunctionSignature {
  std::vector<TypeId> params, results;  ///< the types of parameters and of results
};

/// Value semantics: a copy shares the constants and nothing else.
class IRModule {
 public:
  std::map<Symbol, Function> functions;       ///< by name
  Attrs attrs;                                ///< attributes of the whole module
  Symbol entry = "main";                      ///< the function that a run executes
  std::vector<ExternalModule> external_mods;  ///< the results of the plugins' compile
  std::map<ContentKey, std::shared_ptr<const Buffer>> constants;  ///< the pool: each content once

  /// Puts `buffer` into the pool, or finds the equal one that is there. The pointer lives as long
  /// as this module or any copy of it. Bytes are compared when keys are equal.
  const Buffer* add_constant(std::shared_ptr<const Buffer> buffer);
  Function* find(Symbol name);                  ///< null when absent
  const Function* find(Symbol name) const;      ///< null when absent
  Function& function(Symbol name);              ///< aborts when absent
  const Function& function(Symbol name) const;  ///< aborts when absent
  /// Returns the first of `base`, `base_1`, `base_2`, ... that is neither a function nor an
  /// external symbol.
  Symbol unique_name(std::string_view base) const;
  /// The compiled function of that symbol, or null.
  const ExternalFunction* find_external(std::string_view symbol) const;
};

/// Returns the types of parameters and results. Cost: O(params + results).
FunctionSignature signature(const Function& function);

}  // namespace byoc
