// SPDX-License-Identifier: Apache-2.0
#include "core/text/infer_cache.h"

namespace byoc {

size_t InferCache::Hash::operator()(const Key& key) const {
  size_t hash = std::hash<const void*>()(key.op);
  hash = hash * 31 + std::hash<const void*>()(key.attrs);
  for (size_t k = 0; k < key.inputs.size(); ++k) hash = hash * 31 + key.inputs[k].id();
  return hash * size_t{0x9e3779b97f4a7c15};
}

Result<TypeIds> InferCache::infer(const OpDef& op, const Attrs* attrs, Types inputs) {
  Key key{&op, attrs, TypeIds(inputs)};
  auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  BYOC_TRY(std::vector<TypeId> types, infer_types(op, inputs, *attrs));
  return known_.emplace(key, TypeIds(types)).first->second;
}

}  // namespace byoc
