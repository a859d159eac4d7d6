// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels on disk, so that what was compiled once is not compiled again. A file is named by the
// kernel's symbol, which is made of all that decides about its code, and by who compiled it, and
// holds a hash of itself.
#include <cstdint>
#include <optional>
#include <string>

#include "plugins/llvm/native.h"

namespace byoc::llvm_plugin {

/// Any number of threads and processes at a time. What goes wrong is the same as not being there.
class KernelCache {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
  /// $XDG_CACHE_HOME/byoc/llvm, or that under ~/.cache; "" when neither is known.
  static std::string default_folder();
  /// Makes the folder (mode 0700) when it is not there. One that others own or may write to is not
  /// used: then nothing is ever found, and nothing is put.
  /// `compiler`: what differs when the same function would get other code.
  KernelCache(std::string folder, std::string compiler, uint64_t max_bytes = kMaxBytes);
  bool is_usable() const { return !folder_.empty(); }
  std::optional<Kernel> find(const std::string& symbol) const;
  void put(const Kernel& kernel) const;
  /// Deletes what has not been used for longest until all fits again.
  void trim() const;

 private:
  std::string path_of(const std::string& symbol) const;
  std::string folder_, compiler_;  // folder "": none
  uint64_t max_bytes_;
};

}  // namespace byoc::llvm_plugin
