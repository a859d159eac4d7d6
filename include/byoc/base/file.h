// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading and writing files: whole files are mapped or read, and a file is written entirely or not
// at all.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc {

/// A regular file's bytes, mapped read-only for as long as a pointer to it exists. Replacing the
/// file by a rename, as write_file does, leaves the mapping as it was.
class MappedFile {
 public:
  /// Errors: kNotFound or the code of the system's error, kInvalidArgument for a path that is no
  /// regular file; slug "file".
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// Copies `bytes` to a file in memory. Errors: the system's, slug "file".
  static Result<std::shared_ptr<const MappedFile>> copy_of(std::span<const std::byte> bytes);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  /// The file's contents; they live as long as the MappedFile.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile() = default;
  static Result<std::shared_ptr<const MappedFile>> map(int file, size_t size,
                                                       const std::string& name);
  std::span<const std::byte> bytes_;
};

/// Reads a whole file or pipe. Errors: as open; kOutOfRange when it is larger than `max_bytes`.
Result<std::string> read_file(const std::string& path, size_t max_bytes = size_t{1} << 31);

/// Writes the pieces one after another to a new file beside `path`, syncs it and renames it to
/// `path`, so that a failure leaves nothing. Symbolic links are followed; a path that exists and is
/// no regular file (/dev/null) is written in place. Errors: name the path and the system's reason;
/// slug "file".
Status write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);
/// Writes a text. Errors: as for pieces.
Status write_file(const std::string& path, std::string_view text);

/// Writes all of `bytes` to `fd`, in as many writes as that takes. Returns false when one of them
/// fails; errno then has the reason.
[[nodiscard]] bool write_all(int fd, std::span<const std::byte> bytes);
[[nodiscard]] bool write_all(int fd, std::string_view text);  ///< Writes a text, as for bytes.

/// Returns "cannot open a.npy: No such file or directory", with the code that fits `error`
/// (an errno).
Status system_error(std::string_view what, std::string_view path, int error);

}  // namespace byoc
