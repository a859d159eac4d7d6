// SPDX-License-Identifier: Apache-2.0
#pragma once
// Native modules: shared objects inside an artifact, which run without a plugin.
#include "byoc/base/external.h"
#include "byoc/base/shared_library.h"
#include "byoc/plugin/abi.h"

namespace byoc {

/// Checks a native module's compat string, "cpu=avx2,fma" among words of the form
/// name=value. Errors: kStaleArtifact, slug "stale-artifact", when it requires a feature
/// that this processor lacks.
Status check_cpu(std::string_view compat);

/// A loaded native module; closed when destroyed. Its functions may run at the same time.
class NativeModule {
 public:
  /// Opens the object by SharedLibrary::open_bytes. Errors: kFailedPrecondition, slug
  /// "native-module", when it is no shared object for this machine or its table does not
  /// follow the ABI; slug "code-place" when code can be loaded from nowhere.
  static Result<NativeModule> load(const ExternalModule& module);
  const byoc_native_fn& function(size_t k) const { return *table_->fns[k]; }
  /// Returns the types of byoc_native_call.data, "" when the module does not give them.
  std::string_view signature(size_t k) const;
  /// Returns the bytes of the workspace as an expression of sizes, "" when they are fixed.
  std::string_view open_workspace(size_t k) const;

 private:
  NativeModule(SharedLibrary library, const byoc_native_table* table)
      : library_(std::move(library)), table_(table) {}
  SharedLibrary library_;
  const byoc_native_table* table_;
};

}  // namespace byoc
