// SPDX-License-Identifier: Apache-2.0
#pragma once
// Caches type inference per (op, attributes, operand types), because large graphs
// repeat themselves.
#include <unordered_map>

#include "byoc/op/op.h"

namespace byoc {

/// A cache for one walk over a module. Not thread-safe.
class InferCache {
 public:
  /// Same as infer_types of op.h; `attrs` must be interned.
  Result<TypeIds> infer(const OpDef& op, const Attrs* attrs, Types inputs);

 private:
  struct Key {
    const OpDef* op;
    const Attrs* attrs;
    TypeIds inputs;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, TypeIds, Hash> known_;
};

}  // namespace byoc
