// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/base/memory.h"
#include "core/import/onnx/file/large_data.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace fs = std::filesystem;
namespace {

Status refused(std::string message) {
  return invalid(std::move(message)).with_slug("external-data");
}

bool is_inside(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

/// Copies the bytes of a mapped file a piece at a time, so that few of its pages are in memory.
void copy_and_release(std::span<const std::byte> from, std::byte* out) {
  constexpr size_t kPiece = size_t{4} << 20;
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), kPiece));
    std::memcpy(out, piece.data(), piece.size());
    release_pages(piece);
    out += piece.size();
    from = from.subspan(piece.size());
  }
}

}  // namespace

ExternalFolder::ExternalFolder(const std::string& model_path,
                               std::shared_ptr<const MappedFile> model)
    : model_(std::move(model)) {
  std::error_code error;
  fs::path parent = fs::absolute(model_path, error).parent_path();
  if (!error) folder_ = fs::canonical(parent, error);
  if (error) folder_.clear();
}

Result<ExternalFolder::Slice> ExternalFolder::find_in_model(uint64_t offset, uint64_t size) const {
  const auto bytes = model_->bytes();
  if (offset > bytes.size() || size > bytes.size() - offset) {
    return refused(cat("expected ", size, " bytes at offset ", offset, " of the model, it has ",
                       bytes.size()));
  }
  return Slice{{}, offset, size, bytes.subspan(offset, size)};
}

Result<ExternalFolder::Slice> ExternalFolder::find(const std::string& location, uint64_t offset,
                                                   uint64_t size) const {
  std::string name = cat("external data ", in_quotes(location));
  if (model_ && location == kModelFile) return find_in_model(offset, size);
  fs::path relative = location;
  if (location.empty() || location.find('\0') != std::string::npos) {
    return refused(cat(name, ": no file name"));
  }
  if (folder_.empty()) return refused(cat(name, ": this file has no folder to read from"));
  if (relative.is_absolute())
    return refused(cat(name, " is an absolute path; only files in the model's folder are read"));
  if (std::find(relative.begin(), relative.end(), "..") != relative.end()) {
    return refused(cat(name, " contains \"..\"; only files in the model's folder are read"));
  }
  std::error_code error;
  fs::path path = fs::canonical(folder_ / relative, error);
  if (error) return refused(cat(name, " cannot be read: ", error.message()));
  if (!is_inside(folder_, path)) {
    return refused(cat(name, " leaves the model's folder through a symbolic link"));
  }
  if (!fs::is_regular_file(path, error)) return refused(cat(name, " is not a file"));
  uint64_t file_size = fs::file_size(path, error);
  if (error) return refused(cat(name, " cannot be read: ", error.message()));
  if (offset > file_size || size > file_size - offset) {
    return refused(
        cat(name, ": expected ", size, " bytes at offset ", offset, ", the file has ", file_size));
  }
  return Slice{std::move(path), offset, size};
}

Status ExternalFolder::read(const Slice& slice, std::byte* out) {
  if (slice.path.empty()) {
    copy_and_release(slice.mapped, out);
    return {};
  }
  BYOC_CHECK(slice.path.is_absolute(), slice.path.string(), " was not found by find()");
  // O_NOFOLLOW refuses a link that replaced the file after find() checked its path.
  int fd = open(slice.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return refused(
        cat("external data ", in_quotes(slice.path.string()), ": ", std::strerror(errno)));
  uint64_t done = 0;
  while (done < slice.size) {
    ssize_t n = pread(fd, out + done, slice.size - done, static_cast<off_t>(slice.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<uint64_t>(n);
  }
  close(fd);
  if (done < slice.size)
    return refused(cat("external data ", in_quotes(slice.path.string()), " ended early"));
  return {};
}

}  // namespace byoc::onnx_import
