// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of ops, passed as an argument; it outlives every module that points into it.
#include <map>
#include <memory>

#include "byoc/op/op.h"

namespace byoc {

/// All ops, by name.
class OpRegistry {
 public:
  /// Adds an op. Aborts on a second op of the same name: that is a bug in the table.
  void add(OpDef op);
  const OpDef* find(std::string_view name) const;  ///< nullptr when absent
  /// Errors: kNotFound, slug "unknown-op", with the nearest name.
  Result<const OpDef*> get(std::string_view name) const;
  std::vector<const OpDef*> all() const;  ///< by name

 private:
  std::map<std::string, std::unique_ptr<OpDef>, std::less<>> ops_;
};

/// Returns every op of byoc, in a table made once. Immutable, thread-safe.
const OpRegistry& all_ops();

}  // namespace byoc
