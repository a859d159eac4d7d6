// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes that are read in pieces.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "byoc/base/status.h"

namespace byoc {

/// The state of a file as the file system shows it. Writing to the file changes it.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since 1970
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Bytes in memory or in a file. A file is read and not mapped: a mapping of a file that another
/// process cuts short ends this process with SIGBUS.
class ByteSource {
 public:
  /// Borrows the bytes.
  explicit ByteSource(std::span<const std::byte> bytes)
      : bytes_(bytes), stamp_{.size = bytes.size()} {}
  /// Opens a regular file. Errors: those of the system, kInvalidArgument for another kind of file.
  static Result<ByteSource> open(const std::string& path);
  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&&) = delete;
  ~ByteSource();

  uint64_t size() const { return stamp_.size; }
  const FileStamp& stamp() const { return stamp_; }  // when it was opened
  /// Returns false when the source ends before the bytes do, or cannot be read.
  bool read(uint64_t offset, std::span<std::byte> to) const;
  /// Returns a struct at `offset`; nullopt when the source ends before the struct does.
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    T value;
    if (!read(offset, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }

 private:
  ByteSource(int fd, const FileStamp& stamp) : fd_(fd), stamp_(stamp) {}
  std::span<const std::byte> bytes_;
  int fd_ = -1;
  FileStamp stamp_;
};

/// Returns the state of the file now. Errors: those of the system.
Result<FileStamp> stamp_of(const std::string& path);
/// Returns whether a process has the file open for writing, as far as the file system shows it.
/// For child processes only: it changes how SIGIO is handled.
bool is_open_for_writing(const std::string& path);

}  // namespace byoc
