// SPDX-License-Identifier: Apache-2.0
#include "runtime/plugin_file/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "byoc/base/file.h"

namespace byoc {
namespace {

int64_t ns_of(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileStamp stamp_from(const struct stat& info) {
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), ns_of(info.st_mtim),
          ns_of(info.st_ctim)};
}

}  // namespace

Result<ByteSource> ByteSource::open(const std::string& path) {
  // without O_NONBLOCK, a FIFO that replaced the file would keep this process waiting
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_error("cannot open", path, errno);
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return invalid("not a regular file");
  }
  return ByteSource(fd, stamp_from(info));
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : bytes_(other.bytes_), fd_(std::exchange(other.fd_, -1)), stamp_(other.stamp_) {}

ByteSource::~ByteSource() {
  if (fd_ >= 0) ::close(fd_);
}

bool ByteSource::read(uint64_t offset, std::span<std::byte> to) const {
  if (offset > size() || size() - offset < to.size()) return false;
  if (fd_ < 0) {
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), to.size(), to.begin());
    return true;
  }
  while (!to.empty()) {
    const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to = to.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

Result<FileStamp> stamp_of(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return system_error("cannot read", path, errno);
  return stamp_from(info);
}

bool is_open_for_writing(const std::string& path) {
  std::signal(SIGIO, SIG_IGN);  // comes to the holder of a lease when a writer opens the file
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const bool is_open = ::fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
  ::close(fd);
  return is_open;
}

}  // namespace byoc
