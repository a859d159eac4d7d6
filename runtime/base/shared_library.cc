// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/shared_library.h"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "byoc/base/file.h"

namespace byoc {
namespace {

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, text.find(mark));
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
  return failed(cat("cannot be loaded: ", words))
      .with_help("build it again on this machine with byoc_add_plugin()");
}

/// Opens `object` from a file in `folder` that no other user may read or write. Its name has a
/// number, because the loader returns an earlier library for an equal name. A /proc/self/fd number
/// would be reused in the same way, so the object needs a file.
Result<SharedLibrary> open_in(const std::string& folder, std::span<const std::byte> object,
                              std::string_view label) {
  static std::atomic<uint64_t> counter{0};
  std::string path = cat(folder, "/byoc-", label, "-", ::getpid(), "-", counter++, "-XXXXXX");
  int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return system_error("cannot create", path, errno);
  bool written = write_all(fd, object);
  int error = errno;
  if (::close(fd) != 0 && written) written = false, error = errno;
  Result<SharedLibrary> library =
      written ? SharedLibrary::open(path) : system_error("cannot write", path, error);
  ::unlink(path.c_str());
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
  Status first;
  for (std::string folder : {chosen ? chosen : "", "/tmp", "/dev/shm"}) {
    if (folder.empty() || folder[0] != '/') continue;
    Result<SharedLibrary> library = open_in(folder, object, label);
    if (library.ok()) return library;
    if (first.ok()) first = std::move(library.status());
  }
  return first;
}

void* SharedLibrary::symbol(const char* name) const {
  return impl_ ? ::dlsym(impl_->library.native(), name) : nullptr;
}

void SharedLibrary::keep() {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::unique_ptr<Impl>>;  // never destroyed, so never closed
  std::lock_guard lock(mutex);
  kept.push_back(std::move(impl_));
}

}  // namespace byoc
