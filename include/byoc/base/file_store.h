// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps computed results on disk, so that they are computed only once. A file is named by all that
// its contents depend on, and by the program that makes them, and holds a hash of itself.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace byoc {

/// Used by any number of threads and processes at a time. A failure has the same effect
/// as a missing file.
class FileStore {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;  ///< the room of most stores

  /// The right to make one result, which others wait for. Movable; released when it is destroyed
  /// or the process ends.
  class Lock {
   public:
    Lock(int file, std::string path) : file_(file), path_(std::move(path)) {}  ///< Owns the file.
    Lock(Lock&& other) noexcept
        : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}
    Lock& operator=(Lock&&) = delete;
    ~Lock();

   private:
    int file_;
    std::string path_;
  };
  /// A result that is kept.
  struct File {
    std::string path, name;                ///< the file; the name that it was put under
    uint64_t bytes = 0;                    ///< its size
    std::filesystem::file_time_type used;  ///< when it was put or found last
  };

  /// Makes the folder (mode 0700) when it does not exist. A folder that other users own or may
  /// write to is not used: nothing is found or put then. `maker` is a text that differs when the
  /// same name would get other contents.
  FileStore(std::string folder, std::string maker, uint64_t max_bytes = kMaxBytes);
  bool is_usable() const { return !folder_.empty(); }              ///< has a folder
  std::optional<std::string> find(const std::string& name) const;  ///< nullopt: not kept
  /// Keeps the bytes under a name without `/` and newline.
  void put(const std::string& name, std::string_view bytes) const;
  /// Waits until no thread of any process has the lock of that name. Returns nullopt when
  /// `is_cancelled` becomes true, and where files cannot be locked.
  std::optional<Lock> lock(const std::string& name,
                           const std::function<bool()>& is_cancelled = {}) const;
  /// Deletes the least recently used files until the rest fits. Does nothing until a sixteenth of
  /// the room was put since a process last did so: it reads the size of every file of the folder.
  void trim() const;
  /// Returns all files of a folder of results, the least recently used first, by name when equal.
  static std::vector<File> files_of(const std::string& folder);

 private:
  std::string path_of(const std::string& name) const;
  bool has_grown() const;
  std::string folder_, maker_;  // folder "": none
  uint64_t max_bytes_;
  mutable std::atomic<bool> has_new_ = false;  // a file was put
};

/// Returns a name for results that depend on `text` alone: the prefix and a hash.
std::string name_in_store(char prefix, std::string_view text);

}  // namespace byoc
