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
  explicit KeptCompiles(const std::string& folder = default_folder());
  /// Returns the result for an equal function, plugin file, processor and options, or compiles.
  /// While another thread or process compiles an equal one, it waits for that. A decline is a
  /// result; other errors are not kept. Errors: those of Plugin::compile.
  CompileResult compile(const Plugin& plugin, const CompileFunction& function,
                        const CompileOptions& options) const;

 private:
  std::optional<CompileResult> find(const std::string& name, const CompileFunction& function) const;
  void put(const std::string& name, const CompileResult& result) const;
  FileStore files_;
};

}  // namespace byoc
