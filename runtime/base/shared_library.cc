// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/shared_library.h"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "byoc/base/file.h"
#include "runtime/base/temporary.h"

namespace byoc {
namespace {

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, text.find(mark));
}

/// glibc adds a reason to the message of a mapping that the machine does not permit, and none when
/// memory is short.
bool is_short_of_memory(std::string_view words) {
  return words.ends_with("failed to map segment from shared object") ||
         words.find("Cannot allocate memory") != words.npos;
}

/// Turns glibc's message, "libx.so.3: cannot open shared object file: ..." or "/p/liba.so:
/// undefined symbol: f", into a reason and a cure.
Status refused(const std::string& path, std::string_view words) {
  constexpr std::string_view kCannotOpen = ": cannot open shared object file",
                             kUndefined = "undefined symbol: ";
  if (words.find(kCannotOpen) != words.npos && before(words, kCannotOpen) != path) {
    return failed(cat("missing ", before(words, kCannotOpen)))
        .with_help(
            "install that library, or put it into the folder of the plugin, linked with RUNPATH "
            "$ORIGIN");
  }
  if (size_t at = words.find(kUndefined); at != words.npos) {
    return failed(cat("unresolved symbol ", before(words.substr(at + kUndefined.size()), ",")))
        .with_help(
            "link the library that defines it; -z defs finds this when the plugin is linked");
  }
  if (is_short_of_memory(words)) {
    return failed(cat("there is too little memory to load it: ", words))
        .with_help("raise the limit of the address space (ulimit -v), or free memory");
  }
  return failed(cat("cannot be loaded: ", words))
      .with_help("build it again on this machine with byoc_add_plugin()");
}

constexpr std::string_view kNoPlace = "code-place";

/// Makes an error of the place: the object may be loaded from another one.
Status no_place(std::string message) {
  return failed(std::move(message)).with_slug(std::string(kNoPlace));
}

/// Returns the error of mapping code of the file; 0: it may be mapped. Files of a file system that
/// is mounted noexec may not, and policies of the machine may forbid it.
int error_of_mapping(const std::string& path) {
  constexpr size_t kBytes = 1;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  void* code = ::mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  int error = code == MAP_FAILED ? errno : 0;
  if (code != MAP_FAILED) ::munmap(code, kBytes);
  ::close(fd);
  return error;
}

/// Opens a file that holds the object.
Result<SharedLibrary> open_object(const std::string& path, std::string_view place) {
  Result<SharedLibrary> library = SharedLibrary::open(path);
  if (library.ok()) return library;
  int error = error_of_mapping(path);
  if (error == 0) return library;
  return no_place(cat(place, ": code may not be executed there: ", std::strerror(error)));
}

/// Opens `object` from a file in `folder` that no other user may read or write. Its name has a
/// number, because the loader returns an earlier library for an equal name.
Result<SharedLibrary> open_in(const std::string& folder, std::span<const std::byte> object,
                              std::string_view label) {
  static std::atomic<uint64_t> counter{0};
  std::string path = cat(folder, "/byoc-", label, "-", ::getpid(), "-", counter++, "-XXXXXX");
  int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return no_place(cat(folder, ": ", std::strerror(errno)));
  const TemporaryPath removed_on_signals(path);
  bool written = write_all(fd, object);
  int error = errno;
  if (::close(fd) != 0 && written) written = false, error = errno;
  Result<SharedLibrary> library =
      written ? open_object(path, folder) : no_place(cat(folder, ": ", std::strerror(error)));
  ::unlink(path.c_str());
  return library;
}

/// Returns a name of the file `fd` that no other loaded library has. The loader returns an earlier
/// library for an equal name, and numbers of files are reused; the inode belongs to the library as
/// long as it is loaded. "/." is a bit of it that is set, and "/" one that is not.
std::string own_name(int fd, uint64_t inode) {
  std::string path = "/proc/self/fd";
  for (; inode != 0; inode >>= 1) path += inode & 1 ? "/." : "/";
  return cat(path, "/", fd);
}

/// Makes a file in memory. Its code may be mapped whatever the file's mode is; machines may refuse
/// files with a mode that has x, and older kernels have no flag for one without.
int make_memory_file(const std::string& name) {
  constexpr unsigned kNoexecSeal = 8;  // MFD_NOEXEC_SEAL of Linux 6.3
  int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC | kNoexecSeal);
  return fd < 0 && errno == EINVAL ? ::memfd_create(name.c_str(), MFD_CLOEXEC) : fd;
}

/// Opens `object` from memory, which requires no folder, only /proc.
Result<SharedLibrary> open_in_memory(std::span<const std::byte> object, std::string_view label) {
  constexpr std::string_view kPlace = "memory";
  int fd = make_memory_file(cat("byoc-", label));
  if (fd < 0) return no_place(cat(kPlace, ": ", std::strerror(errno)));
  auto load = [&]() -> Result<SharedLibrary> {
    struct stat file, named;
    if (!write_all(fd, object) || ::fstat(fd, &file) != 0)
      return no_place(cat(kPlace, ": ", std::strerror(errno)));
    std::string path = own_name(fd, file.st_ino);
    if (::stat(path.c_str(), &named) != 0 || named.st_ino != file.st_ino)
      return no_place(cat(kPlace, ": /proc is not mounted"));
    return open_object(path, kPlace);
  };
  Result<SharedLibrary> library = load();
  ::close(fd);
  return library;
}

}  // namespace

struct SharedLibrary::Impl {
  boost::dll::shared_library library;
};

SharedLibrary::SharedLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SharedLibrary::SharedLibrary(SharedLibrary&&) noexcept = default;
SharedLibrary& SharedLibrary::operator=(SharedLibrary&&) noexcept = default;
SharedLibrary::~SharedLibrary() = default;

Result<SharedLibrary> SharedLibrary::open(const std::string& path) {
  if (path.empty() || path[0] != '/') return invalid(cat("not an absolute path: ", path));
  auto impl = std::make_unique<Impl>();
  std::error_code error;
  try {
    impl->library.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local,
                       error);
  } catch (const std::exception& e) {  // out of a static constructor of the library
    return failed(cat("cannot be loaded: a static constructor threw: ", e.what()));
  }
  if (error) {  // its text is poor; the loader's own is still there
    const char* words = ::dlerror();
    return refused(path, words ? words : error.message());
  }
  return SharedLibrary(std::move(impl));
}

Result<SharedLibrary> SharedLibrary::open_bytes(std::span<const std::byte> object,
                                                std::string_view label) {
  const char* chosen = ::secure_getenv("TMPDIR");
  std::string reasons;
  for (std::string folder : {"", chosen ? chosen : "", "/tmp", "/dev/shm"}) {
    const bool is_memory = reasons.empty();
    if (!is_memory && (folder.empty() || folder[0] != '/')) continue;
    Result<SharedLibrary> library =
        is_memory ? open_in_memory(object, label) : open_in(folder, object, label);
    if (library.ok() || library.status().slug() != kNoPlace) return library;
    reasons += cat(is_memory ? "" : "; ", library.status().message());
  }
  return no_place(cat("there is no place to load code from (", reasons, ")"))
      .with_help(
          "mount /proc, or set TMPDIR to a folder whose files may be written and executed (mounted "
          "without noexec)");
}

bool SharedLibrary::is_loaded(const std::string& path) {
  void* loaded = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != nullptr) ::dlclose(loaded);
  return loaded != nullptr;
}

void* SharedLibrary::symbol(const char* name) const {
  return impl_ ? ::dlsym(impl_->library.native(), name) : nullptr;
}

void SharedLibrary::keep() {
  static std::mutex& mutex = *new std::mutex;
  // By the loader's handle, which is equal for equal libraries: each is kept once. Never destroyed,
  // so never closed.
  static auto& kept = *new std::map<void*, std::unique_ptr<Impl>>;
  std::lock_guard lock(mutex);
  if (impl_ != nullptr) kept.try_emplace(impl_->library.native(), std::move(impl_));
  impl_.reset();
}

}  // namespace byoc
