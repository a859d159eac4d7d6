#include "byoc/ir/module.h"

#include <cstring>

#include "byoc/base/check.h"

namespace byoc {

const Buffer* IRModule::add_constant(std::shared_ptr<const Buffer> buffer) {
  auto [at, is_new] = constants.try_emplace(buffer->key(), buffer);
  if (!is_new && at->second != buffer) {
    const Buffer& known = *at->second;
    bool same = known.size() == buffer->size() &&
                (known.size() == 0 || std::memcmp(known.data(), buffer->data(), known.size()) == 0);
    BYOC_CHECK(same, "two different constants have the key ", buffer->key());
  }
  return at->second.get();
}

Function* IRModule::find(Symbol name) {
  auto at = functions.find(name);
  return at == functions.end() ? nullptr : &at->second;
}

const Function* IRModule::find(Symbol name) const {
  auto at = functions.find(name);
  return at == functions.end() ? nullptr : &at->second;
}

Function& IRModule::function(Symbol name) {
  Function* found = find(name);
  BYOC_CHECK(found, "no function ", name);
  return *found;
}

const Function& IRModule::function(Symbol name) const {
  const Function* found = find(name);
  BYOC_CHECK(found, "no function ", name);
  return *found;
}

const ExternalFunction* IRModule::find_external(std::string_view symbol) const {
  for (const ExternalModule& module : external_mods) {
    for (const ExternalFunction& function : module.functions) {
      if (function.symbol == symbol) return &function;
    }
  }
  return nullptr;
}

Symbol IRModule::unique_name(std::string_view base) const {
  auto taken = [&](Symbol name) {
    return find(name) != nullptr || find_external(name.text()) != nullptr;
  };
  Symbol name = base;
  for (int k = 1; taken(name); ++k) name = cat(base, "_", k);
  return name;
}

}  // namespace byoc
