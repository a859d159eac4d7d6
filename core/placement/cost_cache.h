// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measured costs of candidates, shared by models: a file of JSON lines.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/base/buffer.h"
#include "byoc/base/status.h"
#include "byoc/host/plugins.h"

namespace byoc::placement {

/// The file in a folder of costs; the number is that of what costs mean.
inline constexpr std::string_view kCostFile = "costs-2.jsonl";

/// A measured cost, or the reason why a candidate has none.
struct MeasuredCost {
  double ns = 0;
  std::string error;  // "": measured; otherwise the candidate must not be chosen
};

/// Returns the plugin's version and a hash of its file, as in "0.1.0+9f86d081884c7d65": kernels
/// change while the version stays, and what was measured before is then not used. The version alone
/// when the file cannot be read. A file is read once per process. Thread-safe.
std::string version_and_build(const Plugin& plugin);
/// The same with the plugin's options after it, unless there are none.
std::string version_and_options(const Plugin& plugin);

/// The identity of a candidate: everything that its time depends on.
struct CostKey {
  std::string plugin, version, machine, text;  // of version_and_options; canonical_text
  uint32_t threads = 1;
};

/// A hit compares the whole stored key, so a collision of hashes is no hit. Later lines replace
/// earlier ones. Not thread-safe.
class CostCache {
 public:
  /// Reads all lines; lines of other machines are kept apart. A missing file is an empty cache.
  /// Errors: kDataLoss, slug "cost-cache", with the line, except for an incomplete last line.
  static Result<CostCache> read(const std::string& path);
  std::optional<MeasuredCost> find(const CostKey& key) const;
  void put(const CostKey& key, const MeasuredCost& cost);
  /// Writes all entries, in the order of their keys.
  Status write(const std::string& path) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    CostKey key;
    MeasuredCost cost;
  };
  std::map<ContentKey, Entry> entries_;
};

}  // namespace byoc::placement
