// SPDX-License-Identifier: Apache-2.0
#pragma once
// Type inference remembered per (op, attributes, operand types): large graphs repeat themselves.
#include <unordered_map>

#include "byoc/op/op.h"

namespace byoc {

/// For one walk over a module. Not thread-safe.
class InferCache {
 public:
  /// As infer_types of op.h; `attrs` must be interned.
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
