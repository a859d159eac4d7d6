// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks as replay folders, which workers read.
#include "byoc/compile.h"
#include "byoc/tune/task.h"
#include "core/tools/replay/replay_case.h"

namespace byoc {
class TemporaryPath;
}

namespace byoc::tune {

/// Returns the case of a task: random inputs of `seed`, and outputs that are all 0 until a worker
/// has computed the right ones. Errors: those of the graph; memory.
Result<driver::ReplayCase> case_of(const Task& task, const BuildOptions& build,
                                   const std::string& reference, uint64_t seed);
/// Returns true when a run takes its time to read weights that are not cached, because each is used
/// once or twice, as in a product of a vector and a matrix.
bool is_bound_by_weights(const Task& task);

/// A temporary folder, deleted with this object. Folders of tuners that were killed are deleted
/// when one is made.
class ScratchFolder {
 public:
  /// Errors: the system's.
  static Result<std::unique_ptr<ScratchFolder>> make();
  /// Makes one in memory, where writing a file does not wait for a disk. nullptr: memory is short,
  /// or TMPDIR names another place.
  static std::unique_ptr<ScratchFolder> make_in_memory();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  std::string file(std::string_view name) const { return cat(path_, "/", name); }

 private:
  static Result<std::unique_ptr<ScratchFolder>> make_in(const std::string& folder);
  ScratchFolder(std::string path, int lock);
  std::string path_;
  std::shared_ptr<TemporaryPath> removed_on_signals_;
  int lock_;  // of the folder, which this process holds as long as it lives; -1: there is none
};

}  // namespace byoc::tune
