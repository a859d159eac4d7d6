// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <tuple>

#include "byoc/base/buffer.h"
#include "byoc/base/check.h"
#include "byoc/base/folder.h"
#include "byoc/base/status.h"

namespace byoc {
namespace {

constexpr std::string_view kMagic = "byoc-kept/1\n";
constexpr size_t kHash = 32;           // digits
constexpr uint64_t kFileBlock = 4096;  // a file takes this much of the disk at least
// A byte for each block that processes put since one last trimmed the folder.
constexpr const char* kGrowth = "growth";
constexpr std::string_view kLock = ".lock";
// The time between two attempts to get a lock that another process has.
constexpr std::chrono::milliseconds kLockPoll{10};

uint64_t blocks_of(uint64_t bytes) { return (bytes + kFileBlock - 1) / kFileBlock; }

/// Returns magic, hash of the rest, name, '\n', bytes.
std::string pack(const std::string& name, std::string_view bytes) {
  const std::string rest = cat(name, "\n", bytes);
  const std::string hash = content_key(std::as_bytes(std::span(rest))).hex();
  BYOC_CHECK(hash.size() == kHash, "a hash of ", hash.size(), " digits, read as ", kHash);
  return cat(kMagic, hash, rest);
}

std::optional<std::string> unpack(std::string_view bytes, const std::string& name) {
  const size_t head = kMagic.size() + kHash;
  if (bytes.size() < head || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string_view hash = bytes.substr(kMagic.size(), kHash), rest = bytes.substr(head);
  if (!rest.starts_with(name + "\n")) return std::nullopt;
  if (content_key(std::as_bytes(std::span(rest))).hex() != hash) return std::nullopt;
  return std::string(rest.substr(name.size() + 1));
}

bool is_ours_alone(const struct stat& info) {
  return info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> read_ours(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  struct stat info;
  std::optional<std::string> out;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_ours_alone(info)) {
    out.emplace(static_cast<size_t>(info.st_size), '\0');
    if (::read(fd, out->data(), out->size()) != info.st_size) out.reset();
    ::futimens(fd, nullptr);  // marks the file as used now
  }
  ::close(fd);
  return out;
}

/// Writes to a name of its own, then renames, so that no process reads half a file. Not synced: a
/// file that a crash cut short has the wrong hash.
void write_ours(const std::string& path, std::string_view bytes) {
  static std::atomic<uint64_t> counter{0};
  std::string temporary = cat(path, ".", ::getpid(), ".", counter++);
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  bool written = ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  written = ::close(fd) == 0 && written;
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
}

}  // namespace

std::string FileStore::path_of(const std::string& name) const {
  BYOC_CHECK(!folder_.empty(), "a store without a folder has no file of ", name);
  return cat(folder_, "/", name, "-", maker_);
}

FileStore::FileStore(std::string folder, std::string maker, uint64_t max_bytes)
    : folder_(std::move(folder)), maker_(std::move(maker)), max_bytes_(max_bytes) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::path path(folder_);
  if (!std::filesystem::exists(path, error)) {
    std::filesystem::create_directories(path.parent_path(), error);
    ::mkdir(folder_.c_str(), 0700);
  }
  struct stat info;
  bool fits = ::lstat(folder_.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && is_ours_alone(info);
  if (!fits) folder_.clear();
}

std::optional<std::string> FileStore::find(const std::string& name) const {
  if (!is_usable()) return std::nullopt;
  auto bytes = read_ours(path_of(name));
  return bytes ? unpack(*bytes, name) : std::nullopt;
}

void FileStore::put(const std::string& name, std::string_view bytes) const {
  if (!is_usable()) return;
  BYOC_CHECK(!name.empty() && name.find_first_of("/\n") == std::string::npos, "the name ", name,
             " is no name of a file");
  const std::string packed = pack(name, bytes);
  write_ours(path_of(name), packed);
  const std::string growth(blocks_of(packed.size()), '.');
  const int fd = ::open(cat(folder_, "/", kGrowth).c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  has_new_ = ::write(fd, growth.data(), growth.size()) > 0;
  ::close(fd);
}

bool FileStore::has_grown() const {
  struct stat info;
  const std::string path = cat(folder_, "/", kGrowth);
  if (::lstat(path.c_str(), &info) != 0) return true;
  if (static_cast<uint64_t>(info.st_size) * kFileBlock <= max_bytes_ / 16) return false;
  ::unlink(path.c_str());
  return true;
}

std::vector<FileStore::File> FileStore::files_of(const std::string& folder) {
  std::vector<File> out;
  const auto names = names_in(folder);
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    const size_t end = name.rfind('-');
    if (end == name.npos || name.ends_with(kLock)) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code gone;  // another process may trim at the same time
    if (!std::filesystem::is_regular_file(path, gone)) continue;
    File file{path.string(), name.substr(0, end), std::filesystem::file_size(path, gone), {}};
    if (gone) continue;
    file.used = std::filesystem::last_write_time(path, gone);
    if (!gone) out.push_back(std::move(file));
  }
  std::ranges::sort(out, [](const File& a, const File& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  return out;
}

void FileStore::trim() const {
  if (!is_usable() || !has_new_.exchange(false) || !has_grown()) return;
  const std::vector<File> files = files_of(folder_);
  uint64_t total = 0;
  for (const File& file : files) total += file.bytes;
  if (total <= max_bytes_) return;
  std::error_code error;
  for (const File& file : files) {
    if (total <= max_bytes_ / 4 * 3) return;  // leaves room, so that not every compile trims
    BYOC_CHECK(file.bytes <= total, "a file of ", file.bytes, " bytes is among ", total);
    if (std::filesystem::remove(file.path, error)) total -= file.bytes;
  }
}

// The file is deleted while it is locked. A process that opened it before, and gets the lock then,
// sees that its file has no name any more, and opens another one.
FileStore::Lock::~Lock() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());
  ::close(file_);
}

std::optional<FileStore::Lock> FileStore::lock(const std::string& name,
                                               const std::function<bool()>& is_cancelled) const {
  if (!is_usable()) return std::nullopt;
  const std::string path = cat(path_of(name), kLock);
  while (!is_cancelled || !is_cancelled()) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return std::nullopt;
    struct stat ours, named;
    const bool is_locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (is_locked && ::fstat(fd, &ours) == 0 && ::lstat(path.c_str(), &named) == 0 &&
        ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
      return Lock(fd, path);
    ::close(fd);
    if (is_locked) continue;
    if (error != EWOULDBLOCK && error != EINTR) return std::nullopt;  // a file system without locks
    std::this_thread::sleep_for(kLockPoll);
  }
  return std::nullopt;
}

std::string name_in_store(char prefix, std::string_view text) {
  return prefix + content_key(std::as_bytes(std::span(text))).hex();
}

}  // namespace byoc
