// SPDX-License-Identifier: Apache-2.0
#include "core/library/cached.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/file_store.h"
#include "byoc/base/json.h"

namespace byoc::driver {
namespace {

namespace fs = std::filesystem;
using Clock = fs::file_time_type::clock;

/// A folder of results in the cache folder.
struct Store {
  const char *folder, *kind;
  const char* plugin;  // of all files; null: their names begin with it
};
constexpr Store kStores[] = {{"compiled", "functions", nullptr}, {"llvm", "kernels", "llvm"}};

struct StoredFile {
  FileStore::File file;
  const Store* store;
  std::string plugin;
};

std::vector<StoredFile> stored_files(const std::string& root, const std::string& plugin) {
  std::vector<StoredFile> out;
  for (const Store& store : kStores) {
    for (FileStore::File& file : FileStore::files_of(cat(root, "/", store.folder))) {
      std::string id = store.plugin ? store.plugin : file.name.substr(0, file.name.rfind('-'));
      if (!plugin.empty() && id != plugin) continue;
      out.push_back({std::move(file), &store, std::move(id)});
    }
  }
  std::ranges::stable_sort(
      out, [](const StoredFile& a, const StoredFile& b) { return a.file.used < b.file.used; });
  return out;
}

// Deletes files from the begin of the list: those that are too old, then those that are too many.
Status trim(const CacheRequest& request, std::vector<StoredFile>& files, Cached& out) {
  uint64_t total = 0;
  for (const StoredFile& one : files) total += one.file.bytes;
  const auto is_old = [&](const StoredFile& one) {
    return request.max_days && Clock::now() - one.file.used > std::chrono::days(*request.max_days);
  };
  size_t n = 0;
  for (; n < files.size(); ++n) {
    const StoredFile& one = files[n];
    if (!is_old(one) && !(request.max_bytes && total > *request.max_bytes)) break;
    std::error_code error;
    fs::remove(one.file.path, error);
    if (error) return system_error("cannot delete", one.file.path, error.value());
    total -= one.file.bytes;
    ++out.deleted_files, out.deleted_bytes += one.file.bytes;
  }
  files.erase(files.begin(), files.begin() + static_cast<ptrdiff_t>(n));
  return {};
}

Status copy_to(const std::string& folder, const std::vector<StoredFile>& files, Cached& out) {
  for (const StoredFile& one : files) {
    const fs::path to = fs::path(folder) / "byoc" / one.store->folder;
    std::error_code error;
    fs::create_directories(to, error);
    // FileStore uses no folder that others may write to.
    if (!error) fs::permissions(to, fs::perms::owner_all, error);
    if (!error)
      fs::copy_file(one.file.path, to / fs::path(one.file.path).filename(),
                    fs::copy_options::overwrite_existing, error);
    if (error) return system_error("cannot write to", to.string(), error.value());
    ++out.exported_files;
  }
  std::error_code ignored;
  out.exported_to = fs::absolute(folder, ignored).string();
  return {};
}

int64_t seconds_of(fs::file_time_type time) {
  const auto system = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(system).count();
}

std::vector<CachedPlugin> sums_of(const std::string& root, const std::vector<StoredFile>& files) {
  std::map<std::pair<std::string, std::string>, CachedPlugin> sums;  // by plugin and kind
  for (const StoredFile& one : files) {
    CachedPlugin& sum = sums[{one.plugin, one.store->kind}];
    sum.plugin = one.plugin;
    sum.kind = one.store->kind;
    sum.folder = cat(root, "/", one.store->folder);
    ++sum.files, sum.bytes += one.file.bytes;
    sum.used_s = std::max(sum.used_s, seconds_of(one.file.used));
  }
  std::vector<CachedPlugin> out;
  for (auto& [key, sum] : sums) out.push_back(std::move(sum));
  return out;
}

}  // namespace

Result<Cached> use_cache(const CacheRequest& request) {
  Cached out;
  out.folder = user_cache_folder();
  if (out.folder.empty()) return out;
  std::vector<StoredFile> files = stored_files(out.folder, request.plugin);
  BYOC_TRY_STATUS(trim(request, files, out));
  if (!request.export_to.empty()) BYOC_TRY_STATUS(copy_to(request.export_to, files, out));
  out.plugins = sums_of(out.folder, files);
  return out;
}

Json json_of(const Cached& cached) {
  Json plugins = Json::array();
  for (const CachedPlugin& one : cached.plugins)
    plugins.push_back({{"plugin", one.plugin},
                       {"kind", one.kind},
                       {"files", one.files},
                       {"bytes", one.bytes},
                       {"used_s", one.used_s},
                       {"folder", one.folder}});
  return {{"folder", cached.folder},
          {"plugins", plugins},
          {"deleted_files", cached.deleted_files},
          {"deleted_bytes", cached.deleted_bytes},
          {"exported_files", cached.exported_files},
          {"exported_to", cached.exported_to}};
}

}  // namespace byoc::driver
