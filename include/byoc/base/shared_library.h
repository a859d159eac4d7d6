// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads shared objects. All uses of Boost.DLL are in this class.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "byoc/base/status.h"

namespace byoc {

/// A library loaded with all symbols bound, and visible to no other library. Closed when destroyed,
/// unless kept.
class SharedLibrary {
 public:
  /// Opens the library at `path`, which is absolute. Errors: kFailedPrecondition that names the
  /// missing library or symbol, with the remedy as help.
  static Result<SharedLibrary> open(const std::string& path);
  /// Opens a shared object that is in memory: from a file in memory, or where that is not possible
  /// (/proc is not mounted) from a private temporary file in $TMPDIR, /tmp or /dev/shm, which is
  /// unlinked. Folders may be full, read-only or mounted noexec, so the first place that works is
  /// used. Each call opens a library of its own. `label` is a part of the file's name; callers that
  /// have separate copies of this code in one process need different labels. Errors: those of open;
  /// slug "code-place" with the reason of each place when none works.
  static Result<SharedLibrary> open_bytes(std::span<const std::byte> object,
                                          std::string_view label);
  /// Returns whether this process has loaded a library from that path: opening it again then gives
  /// the loaded one, also when the file is another by now.
  static bool is_loaded(const std::string& path);
  SharedLibrary(SharedLibrary&&) noexcept;             ///< Moves; the source then has no library.
  SharedLibrary& operator=(SharedLibrary&&) noexcept;  ///< Closes its own library, then moves.
  ~SharedLibrary();
  /// Returns nullptr when there is no such symbol.
  void* symbol(const char* name) const;
  /// Leaves the library mapped until the process ends; this object is empty then.
  void keep();

 private:
  struct Impl;
  explicit SharedLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace byoc
