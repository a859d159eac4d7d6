// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder in which byoc and its peer exchange models, inputs and outputs.
#include <memory>
#include <string>

#include "byoc/base/status.h"
#include "runtime/base/temporary.h"

namespace byoc::driver {

/// A folder below TMPDIR, deleted with this object, and when a signal ends the process.
class WorkFolder {
 public:
  /// Errors: the system's.
  static Result<std::unique_ptr<WorkFolder>> make();
  explicit WorkFolder(std::string path) : path_(std::move(path)), removed_(path_) {}
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  TemporaryPath removed_;
};

}  // namespace byoc::driver
