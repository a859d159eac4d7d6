// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one store of observations: what `byoc tune`, `place` and `bench` have measured, a line each.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/base/buffer.h"
#include "byoc/base/status.h"

namespace byoc::measure {

/// The files of a folder of observations. `kOldCosts` was written by earlier versions; it is read.
inline constexpr std::string_view kStoreFile = "observations-1.jsonl";
inline constexpr std::string_view kOldCosts = "costs-2.jsonl";

/// Everything that a time depends on.
struct Key {
  std::string plugin, build;  ///< id; version_and_options
  std::string machine;        ///< machine_name
  std::string text;           ///< of the task, or of the candidate; without names of the model
  uint32_t threads = 1;
  std::string point = {};  ///< tune::print of the point that was compiled; "": there is no choice
  std::string code = {};   ///< code_options; "": for this machine, with any order of sums
  friend bool operator==(const Key&, const Key&) = default;
};

/// The time of a key when it runs again and again, or the reason why it has none.
struct Observation {
  double ns = 0;                        ///< time_of the samples, without `reorder_ns`
  std::string error = {};               ///< "": measured
  double reorder_ns = 0;                ///< of changes of layout, which may be left out in a model
  std::vector<double> samples_ns = {};  ///< may be empty
  std::string by = {};                  ///< the command that measured: "tune", "place", "bench"
};

/// The part of the keys that is the same for all subjects of a command.
struct Scope {
  std::string machine;
  uint32_t threads = 1;
  std::map<std::string, std::string> builds;  ///< by plugin
  std::string code = {};                      ///< as in Key
};

/// Returns "" when keys of the scope include this one; otherwise the reason why its observation
/// cannot be used, such as "another build of llvm".
std::string unusable_reason(const Key& key, const Scope& scope);

/// The last one of several observations with equal keys counts. A hit compares the whole stored
/// key, so a collision of hashes is no hit. Not thread-safe; any number of processes may append to
/// one file.
class Store {
 public:
  /// Reads kOldCosts and kStoreFile of the folder. A missing file is an empty one; an unreadable
  /// one is a remark. Lines that are no observations are counted.
  static Store read(const std::string& folder);
  std::optional<Observation> find(const Key& key) const;
  /// Returns the points with observations of the key's text, and these. Ignores `key.point`.
  std::vector<std::pair<std::string, Observation>> points_of(Key key) const;
  void put(const Key& key, const Observation& observation);
  /// Appends what was put since the last call to kStoreFile. Without a folder it does nothing.
  Status save();
  size_t size() const { return entries_.size(); }
  /// Returns the number of observations that may be used in the scope. `unusable` gets the numbers
  /// of the others by reason, with damaged lines.
  size_t count(const Scope& scope, std::map<std::string, size_t>& unusable) const;
  const std::vector<std::string>& remarks() const { return remarks_; }
  std::string path() const;  ///< of kStoreFile; "" without a folder

 private:
  struct Entry {
    Key key;
    Observation observation;
  };
  void read_file_of(const std::string& path);
  void set(const Key& key, const Observation& observation);
  std::string folder_, pending_;
  std::map<ContentKey, Entry> entries_;                    // by the whole key
  std::map<ContentKey, std::vector<ContentKey>> by_text_;  // of keys without points
  std::vector<std::string> remarks_;
  size_t damaged_ = 0;
};

}  // namespace byoc::measure
