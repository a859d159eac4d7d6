// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that plugins compiled, as files of the user's cache folder, shared by all commands and
// processes. Kept are the functions of plugins whose manifest has `kept_compiles`.
#include "byoc/base/file_store.h"
#include "byoc/host/plugins.h"

namespace byoc {

/// Used by any number of threads at a time.
class KeptCompiles {
 public:
  /// Returns `compiled` in the user's cache folder; "" without one, and with BYOC_KEEP_COMPILES=0.
  static std::string default_folder();
  explicit KeptCompiles(std::string folder = default_folder()) : folder_(std::move(folder)) {}
  /// Returns the result for an equal function, plugin file, processor and options, or compiles.
  /// While another thread or process compiles an equal one, it waits for that. A decline is a
  /// result; other errors are not kept. Errors: those of Plugin::compile.
  CompileResult compile(const Plugin& plugin, const CompileFunction& function,
                        const CompileOptions& options) const;

 private:
  std::string folder_;  // made for the first function of such a plugin
};

}  // namespace byoc
