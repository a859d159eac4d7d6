// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "byoc/base/env.h"
#include "core/tools/doctor/examination.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

constexpr size_t kProbeBytes = 4096;
constexpr uint64_t kFullBytes = uint64_t{1} << 20;  // with less, no artifact can be written

/// Returns the reason why no file can be written in a folder that exists; "" when one can. On a
/// full file system files can be made, and stay empty.
std::string why_not_writable(const std::string& folder) {
  std::string name = folder + "/.byoc-doctor-XXXXXX";
  int fd = ::mkstemp(name.data());
  if (fd < 0) return cat("no file can be made in it: ", std::strerror(errno));
  const char block[kProbeBytes] = {};
  ssize_t written = ::write(fd, block, sizeof block);
  std::string why = written < 0 ? std::strerror(errno) : "";
  if (written >= 0 && written < static_cast<ssize_t>(sizeof block)) why = std::strerror(ENOSPC);
  if (::close(fd) != 0 && why.empty()) why = std::strerror(errno);
  ::unlink(name.c_str());
  return why.empty() ? "" : cat("no file can be written in it: ", why);
}

/// Returns the reason why byoc would not trust the files of a folder; "" when it does.
std::string why_not_ours(const std::string& folder) {
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) return std::strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "it is no folder";
  if (info.st_uid != ::geteuid()) return cat("its owner is user ", info.st_uid);
  return info.st_mode & (S_IWGRP | S_IWOTH) ? "other users may write to it" : "";
}

std::string why_not_usable(const CacheFolder& folder) {
  if (folder.exists) {
    std::string why = why_not_ours(folder.path);
    return why.empty() ? why_not_writable(folder.path) : why;
  }
  std::string nearest = nearest_folder(folder.path);
  if (::access(nearest.c_str(), W_OK | X_OK) == 0) return "";
  return cat("it cannot be made in ", nearest, ": ", std::strerror(errno));
}

CacheFolder examine_folder(const std::string& path) {
  CacheFolder out{.path = path};
  std::error_code error;
  out.exists = fs::exists(path, error);
  auto options = fs::directory_options::skip_permission_denied;
  auto at = fs::recursive_directory_iterator(path, options, error);
  for (; !error && at != fs::end(at); at.increment(error)) {
    std::error_code gone;  // another process may delete files now
    if (!at->is_regular_file(gone) || gone) continue;
    uint64_t bytes = at->file_size(gone);
    if (!gone) ++out.files, out.bytes += bytes;
  }
  out.why_not = why_not_usable(out);
  out.usable = out.why_not.empty();
  return out;
}

}  // namespace

std::string nearest_folder(const std::string& path) {
  fs::path at = path;
  std::error_code error;
  while (!fs::is_directory(at, error) && at.has_parent_path() && at != at.parent_path())
    at = at.parent_path();
  return at.string();
}

std::vector<CacheFolder> examine_caches(std::vector<Finding>& findings) {
  std::string root = user_cache_folder();
  if (root.empty()) {
    findings.push_back({Finding::kWarning, "caches",
                        "there is no cache folder, so that kernels are compiled anew each time",
                        "set HOME or XDG_CACHE_HOME to a folder, with its whole path"});
    return {};
  }
  std::vector<std::string> paths;
  std::error_code error;
  for (auto at = fs::directory_iterator(root, error); !error && at != fs::end(at);
       at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone)) paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  paths.insert(paths.begin(), root);
  std::vector<CacheFolder> out;
  for (const std::string& path : paths) {
    out.push_back(examine_folder(path));
    if (out.back().usable) continue;
    findings.push_back({Finding::kProblem, "caches",
                        cat("the cache ", path, " is not used: ", out.back().why_not),
                        "make it a folder of yours (chmod 700) with free space, or name another "
                        "with XDG_CACHE_HOME"});
  }
  return out;
}

std::vector<Volume> examine_space(uint64_t min_free_bytes, std::vector<Finding>& findings) {
  std::error_code error;
  std::vector<std::string> folders;
  if (std::string root = user_cache_folder(); !root.empty())
    folders.push_back(nearest_folder(root));
  folders.push_back(fs::temp_directory_path(error).string());
  folders.push_back(fs::current_path(error).string());
  std::vector<Volume> out;
  std::set<dev_t> seen;
  for (const std::string& folder : folders) {
    struct stat info;
    if (folder.empty() || ::stat(folder.c_str(), &info) != 0) continue;
    fs::space_info space = fs::space(folder, error);
    if (error || !seen.insert(info.st_dev).second) continue;
    out.push_back({folder, space.available});
    if (space.available >= min_free_bytes) continue;
    bool is_full = space.available < kFullBytes;
    findings.push_back({is_full ? Finding::kProblem : Finding::kWarning, "space",
                        is_full ? cat("the file system of ", folder, " is full")
                                : cat("the file system of ", folder, " has ", space.available >> 20,
                                      " MiB free, less than ", min_free_bytes >> 20, " MiB"),
                        "delete files, or name another folder with XDG_CACHE_HOME or TMPDIR"});
  }
  return out;
}

}  // namespace byoc::driver
