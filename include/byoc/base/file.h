// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files in and out: whole files mapped or read, and files that are written entirely or not at all.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc {

/// A regular file's bytes, mapped read-only for as long as somebody holds the pointer. Replacing
/// the file by a rename, as write_file does, leaves the mapping as it was.
class MappedFile {
 public:
  /// Errors: kNotFound or what the system says, kInvalidArgument for what is no regular file; slug
  /// "file".
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile() = default;
  std::span<const std::byte> bytes_;
};

/// The whole of a file, also of a pipe. Errors: as open; kOutOfRange when it is larger than
/// `max_bytes`.
Result<std::string> read_file(const std::string& path, size_t max_bytes = size_t{1} << 31);

/// Writes the pieces one after another: to a new file beside `path`, synced, then renamed to it, so
/// that a failure leaves nothing. Symbolic links are followed; what exists and is no regular file
/// (/dev/null) is written in place. Errors: name the path and the system's reason; slug "file".
Status write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);
Status write_file(const std::string& path, std::string_view text);

/// Writes all of `bytes` to `fd`, in as many writes as that takes. Returns false when one of them
/// fails; errno has the reason then.
[[nodiscard]] bool write_all(int fd, std::span<const std::byte> bytes);
[[nodiscard]] bool write_all(int fd, std::string_view text);

/// "cannot open a.npy: No such file or directory", with the code that fits `error` (an errno).
Status system_error(std::string_view what, std::string_view path, int error);

}  // namespace byoc
