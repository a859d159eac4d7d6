#include "plugins/llvm/loaded.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "byoc/base/file.h"

namespace byoc::llvm_plugin {
namespace {

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// From a file that is gone afterwards; its name is new, because the loader gives an earlier
/// library for an equal name.
Result<void*> open_in(const std::string& folder, std::string_view object) {
  static std::atomic<uint64_t> counter{0};
  std::string path = cat(folder, "/byoc-llvm-", ::getpid(), "-", counter++, "-XXXXXX");
  int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return system_error("cannot create", path, errno);
  bool written = write_all(fd, object);
  int error = errno;
  ::close(fd);
  void* handle = written ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const char* reason = handle || !written ? nullptr : ::dlerror();
  ::unlink(path.c_str());
  if (handle) return handle;
  if (!written) return system_error("cannot write", path, error);
  return failed(cat("generated code cannot be loaded: ", reason ? reason : "no reason given"));
}

}  // namespace

Result<std::unique_ptr<LoadedObject>> LoadedObject::load(std::string_view object,
                                                         const byoc_host* host) {
  const char* chosen = ::secure_getenv("TMPDIR");
  Status first;
  std::unique_ptr<LoadedObject> out(new LoadedObject);
  for (std::string folder : {chosen ? chosen : "", "/tmp", "/dev/shm"}) {
    if (folder.empty() || folder[0] != '/') continue;
    Result<void*> handle = open_in(folder, object);
    if (!handle.ok()) {
      if (first.ok()) first = std::move(handle.status());
      continue;
    }
    out->handle_ = *handle;
    auto entry =
        reinterpret_cast<byoc_native_entry_fn>(::dlsym(out->handle_, BYOC_NATIVE_ENTRY_SYMBOL));
    if (entry == nullptr) return failed("generated code has no symbol " BYOC_NATIVE_ENTRY_SYMBOL);
    out->table_ = entry(host);
    return out;
  }
  return first;
}

LoadedObject::~LoadedObject() {
  if (handle_) ::dlclose(handle_);
}

}  // namespace byoc::llvm_plugin
