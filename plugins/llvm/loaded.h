// SPDX-License-Identifier: Apache-2.0
#pragma once
// A native module, loaded into this process so that the plugin's own kernels can run it.
#include <memory>
#include <string_view>

#include "byoc/base/shared_library.h"
#include "byoc/plugin/abi.h"

namespace byoc::llvm_plugin {

/// Unloaded when destroyed. Functions may run at the same time.
class LoadedObject {
 public:
  /// Loads a module. Errors: kFailedPrecondition with the loader's reason.
  static Result<std::unique_ptr<LoadedObject>> load(std::string_view object, const byoc_host* host);
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  size_t size() const { return table_->n; }
  const byoc_native_fn& function(size_t k) const { return *table_->fns[k]; }

 private:
  LoadedObject(SharedLibrary library, const byoc_native_table* table)
      : library_(std::move(library)), table_(table) {}
  SharedLibrary library_;
  const byoc_native_table* table_;
};

}  // namespace byoc::llvm_plugin
