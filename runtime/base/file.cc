// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "byoc/base/folder.h"
#include "byoc/base/memory.h"
#include "runtime/base/temporary.h"

namespace byoc {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  /// Returns the error of close: some file systems report a full disk only there.
  int close() {
    int fd = std::exchange(fd_, -1);
    return ::close(fd);
  }

 private:
  int fd_;
};

int open_retrying(const char* path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    case EISDIR:
      return Code::kInvalidArgument;
    default:
      return Code::kUnavailable;
  }
}

/// Writes large pieces in parts, so that spilled ones are in memory a part at a time.
bool write_pieces(int fd, std::span<const std::span<const std::byte>> pieces) {
  constexpr size_t kPart = size_t{32} << 20;
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const auto part = piece.first(std::min(piece.size(), kPart));
      if (!write_all(fd, part)) return false;
      release_spilled(part);
      piece = piece.subspan(part.size());
    }
  }
  return true;
}

/// Writes into the existing file. A rename would replace a device or a pipe by a regular file.
Status write_in_place(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  File file(open_retrying(path.c_str(), O_WRONLY));
  if (file.get() < 0) return system_error("cannot open", path, errno);
  if (!write_pieces(file.get(), pieces)) return system_error("cannot write", path, errno);
  if (file.close() != 0) return system_error("cannot write", path, errno);
  return {};
}

/// Returns an empty name when no file could be created; errno has the reason.
std::string make_neighbour(const std::string& path, int& fd) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = cat(path, ".tmp-", ::getpid(), "-", counter++);
    fd = open_retrying(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd >= 0) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

void sync_folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  File file(open_retrying(folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (file.get() >= 0) ::fsync(file.get());  // the data is safe already; the name may come later
}

Status replace_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  int fd = -1;
  std::string temporary = make_neighbour(path, fd);
  if (temporary.empty()) {
    const int error = errno;
    Status status = system_error("cannot create", path, error);
    if (error != ENOENT) return status;
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return std::move(status).with_help(cat("there is no folder ", folder, ": mkdir -p ", folder));
  }
  const TemporaryPath removed_on_signals(temporary);
  File file(fd);
  bool written = write_pieces(fd, pieces) && ::fsync(fd) == 0 && file.close() == 0 &&
                 ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) {
    int error = errno;
    ::unlink(temporary.c_str());
    return system_error("cannot write", path, error);
  }
  sync_folder_of(path);
  return {};
}

/// Opens for reading and refuses folders.
Result<int> open_for_reading(const std::string& path, struct stat& info) {
  int fd = open_retrying(path.c_str(), O_RDONLY);
  if (fd < 0) return system_error("cannot open", path, errno);
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
    ::close(fd);
    return system_error("cannot read", path, error);
  }
  return fd;
}

}  // namespace

bool write_all(int fd, std::span<const std::byte> bytes) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // Linux writes at most some 2 GiB per call
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

bool write_all(int fd, std::string_view text) {
  return write_all(fd, std::as_bytes(std::span(text.data(), text.size())));
}

Status system_error(std::string_view what, std::string_view path, int error) {
  return Status(code_of(error), cat(what, " ", path, ": ", std::strerror(error))).with_slug("file");
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  struct stat info {};
  BYOC_TRY(int fd, open_for_reading(path, info));
  File file(fd);
  if (!S_ISREG(info.st_mode)) return invalid(cat(path, " is not a regular file")).with_slug("file");
  return map(fd, static_cast<size_t>(info.st_size), path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::copy_of(std::span<const std::byte> bytes) {
  const std::string name = "a file in memory";
  const int fd = ::memfd_create("byoc", MFD_CLOEXEC);
  if (fd < 0) return system_error("cannot make", name, errno);
  File file(fd);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot write", name, errno);
    at += static_cast<size_t>(n);
  }
  return map(fd, bytes.size(), name);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int file, size_t size,
                                                          const std::string& name) {
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (size == 0) return std::shared_ptr<const MappedFile>(mapped);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) return system_error("cannot map", name, errno);
  mapped->bytes_ = {static_cast<const std::byte*>(memory), size};
  return std::shared_ptr<const MappedFile>(mapped);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  struct stat info {};
  BYOC_TRY(int fd, open_for_reading(path, info));
  File file(fd);
  std::string text;
  size_t used = 0;
  while (true) {
    size_t room = std::max<size_t>(static_cast<size_t>(info.st_size) + 1, used + (size_t{1} << 16));
    if (text.size() < room) text.resize(std::min(room, max_bytes + 1));
    ssize_t n = ::read(fd, text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", path, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
    if (used > max_bytes) {
      return Status(Code::kOutOfRange,
                    cat(path, " has more than the ", max_bytes, " bytes that are accepted"))
          .with_slug("file");
    }
  }
  text.resize(used);
  return text;
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  struct Closer {
    void operator()(DIR* opened) const { ::closedir(opened); }
  };
  const std::unique_ptr<DIR, Closer> opened(::opendir(folder.c_str()));
  if (opened == nullptr) return system_error("cannot read the folder", folder, errno);
  std::vector<std::string> out;
  while (const dirent* entry = ::readdir(opened.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Status write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return replace_file(path, pieces);
  if (S_ISDIR(info.st_mode)) return system_error("cannot write", path, EISDIR);
  if (!S_ISREG(info.st_mode)) return write_in_place(path, pieces);
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr)
    return system_error("cannot write", path, errno);
  return replace_file(resolved, pieces);
}

Status write_file(const std::string& path, std::string_view text) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(text.data(), text.size()));
  return write_file(path, {&bytes, 1});
}

namespace {

constexpr int kSlots = 32, kDeepest = 4;

struct Slot {
  std::atomic<bool> is_taken{false};
  std::atomic<pid_t> owner{0};  // 0: `path` is not complete; a forked child removes nothing
  char path[1024] = {};
};
constinit Slot slots[kSlots];

void remove_files_of(int folder, int depth) noexcept;

/// Removes an entry of a folder with all that it holds.
void remove_entry(int parent, const char* name, int depth) noexcept {
  if (::unlinkat(parent, name, 0) == 0 || depth == 0) return;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  remove_files_of(folder, depth - 1);
  ::close(folder);
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

/// readdir allocates, which a signal handler must not.
void remove_files_of(int folder, int depth) noexcept {
  alignas(dirent64) char buffer[2048];
  for (;;) {
    const long n = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (n <= 0) return;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") remove_entry(folder, entry->d_name, depth);
      at += entry->d_reclen;
    }
  }
}

}  // namespace

TemporaryPath::TemporaryPath(const std::string& path) {
  if (path.size() >= sizeof slots[0].path) return;
  for (int k = 0; k < kSlots && slot_ < 0; ++k) {
    if (!slots[k].is_taken.exchange(true)) slot_ = k;
  }
  if (slot_ < 0) return;
  std::memcpy(slots[slot_].path, path.c_str(), path.size() + 1);
  slots[slot_].owner = ::getpid();
}

TemporaryPath::~TemporaryPath() {
  if (slot_ < 0) return;
  slots[slot_].owner = 0;
  slots[slot_].is_taken = false;
}

void remove_temporaries() noexcept {
  for (Slot& slot : slots) {
    if (slot.owner == ::getpid()) remove_entry(AT_FDCWD, slot.path, kDeepest);
  }
}

}  // namespace byoc
