// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/loaded.h"

namespace byoc::llvm_plugin {

Result<std::unique_ptr<LoadedObject>> LoadedObject::load(std::string_view object,
                                                         const byoc_host* host) {
  auto library =
      SharedLibrary::open_bytes(std::as_bytes(std::span(object.data(), object.size())), "llvm");
  if (!library.ok()) {
    const Status& why = library.status();
    return failed(
        cat("generated code: ", why.message(), why.help().empty() ? "" : "; ", why.help()));
  }
  auto entry = reinterpret_cast<byoc_native_entry_fn>(library->symbol(BYOC_NATIVE_ENTRY_SYMBOL));
  if (entry == nullptr) return failed("generated code has no symbol " BYOC_NATIVE_ENTRY_SYMBOL);
  const byoc_native_table* table = entry(host);
  return std::unique_ptr<LoadedObject>(new LoadedObject(*std::move(library), table));
}

}  // namespace byoc::llvm_plugin
