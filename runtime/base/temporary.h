// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files and folders that a program removes even when a signal ends it.
#include <string>

namespace byoc {

/// While it lives, remove_temporaries() removes the file or the folder at `path`. At most 32 live
/// at a time; further ones, and paths of more than 1023 bytes, have no effect.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& path);
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  ~TemporaryPath();

 private:
  int slot_ = -1;
};

/// Removes what the living TemporaryPaths of this process name; of a folder also its files, four
/// levels deep. May be called in a signal handler.
void remove_temporaries() noexcept;

}  // namespace byoc
