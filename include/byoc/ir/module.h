// SPDX-License-Identifier: Apache-2.0
#pragma once
// A module: functions by name, the constants they share, and the external modules that plugins made
// of some of them.
#include <map>
#include <memory>

#include "byoc/base/external.h"
#include "byoc/ir/node.h"

namespace byoc {

struct FunctionSignature {
  std::vector<TypeId> params, results;
};

/// Value semantics: a copy shares the constants and nothing else.
class IRModule {
 public:
  std::map<Symbol, Function> functions;
  Attrs attrs;
  Symbol entry = "main";
  std::vector<ExternalModule> external_mods;
  std::map<ContentKey, std::shared_ptr<const Buffer>> constants;

  /// Puts `buffer` into the pool, or finds the equal one that is there. The pointer lives as long
  /// as this module or any copy of it. Bytes are compared when keys are equal.
  const Buffer* add_constant(std::shared_ptr<const Buffer> buffer);
  Function* find(Symbol name);
  const Function* find(Symbol name) const;
  Function& function(Symbol name);  // aborts when absent
  const Function& function(Symbol name) const;
  /// Returns the first of `base`, `base_1`, `base_2`, ... that is neither a function nor an
  /// external symbol.
  Symbol unique_name(std::string_view base) const;
  const ExternalFunction* find_external(std::string_view symbol) const;
};

FunctionSignature signature(const Function& function);

}  // namespace byoc
