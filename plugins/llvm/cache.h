// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps kernels on disk, named by everything that their code depends on. Functions and knob spaces
// are kept as well, named by the graph before it is lowered: a function that was compiled before
// needs neither a schedule nor loops.
#include "byoc/base/file_store.h"
#include "byoc/plugin/sdk/plugin.h"
#include "plugins/llvm/compiled.h"

namespace byoc::llvm_plugin {

/// Used by any number of threads and processes at a time. A failure has the same effect
/// as a missing file.
class KernelCache {
 public:
  /// Errors: those of FileStore, which are none.
  KernelCache(std::string folder, std::string compiler, uint64_t max_bytes = FileStore::kMaxBytes)
      : files_(std::move(folder), std::move(compiler), max_bytes) {}
  bool is_usable() const { return files_.is_usable(); }
  std::optional<Kernel> find(const std::string& symbol) const;
  void put(const Kernel& kernel) const;
  /// Returns nullopt also when one of its kernels is missing.
  std::optional<CompiledFunction> find_function(const std::string& name) const;
  /// Keeps the function without its kernels, which are put by themselves.
  void put_function(const std::string& name, const CompiledFunction& function) const;
  std::optional<sdk::KnobSpace> find_space(const std::string& name) const;
  void put_space(const std::string& name, const sdk::KnobSpace& space) const;
  void trim() const { files_.trim(); }

 private:
  std::shared_ptr<const Kernel> shared(std::string_view symbol) const;
  FileStore files_;
};

}  // namespace byoc::llvm_plugin
