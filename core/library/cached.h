// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of `byoc cache`: the results of compiling that are kept in the user's cache folder.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::driver {

/// Work on the files; without any of the members they are listed.
struct CacheRequest {
  std::string plugin;                 ///< only those of this one; "": all
  std::optional<uint64_t> max_bytes;  ///< delete the least recently used until the rest fits
  std::optional<uint64_t> max_days;   ///< delete those that were not used for so long
  std::string export_to;              ///< copy the rest to this folder; "": no
};

/// The files of one plugin.
struct CachedPlugin {
  std::string plugin, folder;  ///< the folder has files of other plugins, too
  std::string kind;            ///< "functions", which the host keeps; "kernels", those of llvm
  uint64_t files = 0, bytes = 0;
  int64_t used_s = 0;  ///< when one was used last, seconds since 1970
};

struct Cached {
  std::string folder;                 ///< the user's cache folder; "": there is none
  std::vector<CachedPlugin> plugins;  ///< after the deletion, by id
  uint64_t deleted_files = 0, deleted_bytes = 0, exported_files = 0;
  std::string exported_to;  ///< the value of XDG_CACHE_HOME that uses the copy
};

/// Errors: the system's, slug "file", for a folder that cannot be written.
Result<Cached> use_cache(const CacheRequest& request);
/// Returns the members of byoc.cache/1.
nlohmann::ordered_json json_of(const Cached& cached);

}  // namespace byoc::driver
