#pragma once
// Boost.DLL behind one class: how byoc loads any shared object.
#include <memory>
#include <string>

#include "byoc/base/status.h"

namespace byoc {

/// Loaded with all symbols bound, and visible to nobody else. Closed when destroyed, unless kept.
class SharedLibrary {
 public:
  /// path: absolute. Errors: kFailedPrecondition that names the missing library or symbol, with the
  /// cure as help.
  static Result<SharedLibrary> open(const std::string& path);
  SharedLibrary(SharedLibrary&&) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) noexcept;
  ~SharedLibrary();
  /// nullptr when there is no such symbol.
  void* symbol(const char* name) const;
  /// Leaves the library mapped until the process ends; this object is empty then.
  void keep();

 private:
  struct Impl;
  explicit SharedLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace byoc
