// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps kernels on disk, so that a kernel is compiled only once. A file is named by the
// kernel's symbol, which is made of everything its code depends on, and by its compiler, and
// holds a hash of itself.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "plugins/llvm/native.h"

namespace byoc::llvm_plugin {

/// Used by any number of threads and processes at a time. A failure has the same effect
/// as a missing file.
class KernelCache {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
  /// Returns $XDG_CACHE_HOME/byoc/llvm, or that under ~/.cache; "" when neither is known.
  static std::string default_folder();
  /// Makes the folder (mode 0700) when it does not exist. A folder that other users own or may
  /// write to is not used: nothing is found or put then. `compiler` is a text that differs when the
  /// same function would get other code.
  KernelCache(std::string folder, std::string compiler, uint64_t max_bytes = kMaxBytes);
  bool is_usable() const { return !folder_.empty(); }
  std::optional<Kernel> find(const std::string& symbol) const;
  void put(const Kernel& kernel) const;
  /// Deletes the least recently used files until the rest fits. Does nothing when no kernel was put
  /// since the last call: it reads the size of every file of the folder.
  void trim() const;

 private:
  std::string path_of(const std::string& symbol) const;
  std::string folder_, compiler_;  // folder "": none
  uint64_t max_bytes_;
  mutable std::atomic<bool> has_new_ = false;  // a kernel was put
};

}  // namespace byoc::llvm_plugin
