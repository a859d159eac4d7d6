// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers in the user's cache folder how trials of files ended, so that each is tried once.
#include <optional>
#include <string>

#include "runtime/plugin_file/byte_source.h"
#include "runtime/plugin_file/trial.h"

namespace byoc {

/// The file that was tried, and what else a trial depends on.
struct TrialSubject {
  std::string path;
  FileStamp stamp;
  std::string options;  // of the plugin, as JSON
};

/// Used by any number of processes at a time. Without a folder that the user alone can write,
/// nothing is found and nothing is put; so it is when the process is set-user-id.
class TrialMemory {
 public:
  TrialMemory();
  /// Returns kSound or kUnsound, for a file that has not been written to since.
  std::optional<TrialResult> find(const TrialSubject& subject) const;
  /// Keeps a result that is kSound or kUnsound.
  void put(const TrialSubject& subject, const TrialResult& result) const;

 private:
  std::string folder_;  // "": none
};

}  // namespace byoc
