// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps results of the compiler on disk, so that they are computed only once. A file is named by
// everything that its contents depend on, and by the compiler, and holds a hash of itself.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace byoc::llvm_plugin {

/// Used by any number of threads and processes at a time. A failure has the same effect
/// as a missing file.
class FileStore {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
  /// Returns $XDG_CACHE_HOME/byoc/llvm, or that under ~/.cache; "" when neither is known.
  static std::string default_folder();
  /// Makes the folder (mode 0700) when it does not exist. A folder that other users own or may
  /// write to is not used: nothing is found or put then. `compiler` is a text that differs when the
  /// same name would get other contents.
  FileStore(std::string folder, std::string compiler, uint64_t max_bytes = kMaxBytes);
  bool is_usable() const { return !folder_.empty(); }
  std::optional<std::string> find(const std::string& name) const;
  void put(const std::string& name, std::string_view bytes) const;
  /// Deletes the least recently used files until the rest fits. Does nothing until a sixteenth of
  /// the room was put since a process last did so: it reads the size of every file of the folder.
  void trim() const;

 private:
  std::string path_of(const std::string& name) const;
  bool has_grown() const;
  std::string folder_, compiler_;  // folder "": none
  uint64_t max_bytes_;
  mutable std::atomic<bool> has_new_ = false;  // a file was put
};

/// Returns a name for results that depend on `text` alone: the prefix and a hash.
std::string name_in_store(char prefix, std::string_view text);

}  // namespace byoc::llvm_plugin
