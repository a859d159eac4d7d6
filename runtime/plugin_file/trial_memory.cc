// SPDX-License-Identifier: Apache-2.0
#include "runtime/plugin_file/trial_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "byoc/base/buffer.h"
#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/folder.h"
#include "byoc/base/version.h"

namespace byoc {
namespace {

constexpr std::string_view kMagic = "byoc-plugin-trial/1\n";
constexpr size_t kMostFiles = 256, kMostBytes = 4096;

/// Returns what makes a trial end otherwise although the file is the same: the machine, the limit
/// of its memory, libraries found elsewhere, another byoc.
std::string circumstances() {
  utsname system{};
  ::uname(&system);
  rlimit memory{};
  ::getrlimit(RLIMIT_AS, &memory);
  std::string out = cat(version(), "\n", system.nodename, "\n", memory.rlim_cur);
  for (const char* name : {"LD_LIBRARY_PATH", "LD_PRELOAD", "BYOC_ONNXRUNTIME"}) {
    const char* value = std::getenv(name);
    out += cat("\n", value ? value : "");
  }
  return out;
}

/// One file per path, options and circumstances; a later trial replaces it.
std::string path_of(const std::string& folder, const TrialSubject& subject) {
  const std::string key = cat(subject.path, "\n", subject.options, "\n", circumstances());
  return cat(folder, "/", content_key(std::as_bytes(std::span(key))).hex());
}

std::string text_of(const FileStamp& stamp) {
  return cat(stamp.device, " ", stamp.inode, " ", stamp.size, " ", stamp.modified_ns, " ",
             stamp.changed_ns, "\n");
}

bool is_ours(const struct stat& info) {
  return info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Makes room for one more file. The results are cheap to find again.
void prune(const std::string& folder) {
  const auto names = names_in(folder);
  if (!names.ok() || names->size() < kMostFiles) return;
  for (const std::string& name : *names) ::unlink(cat(folder, "/", name).c_str());
}

}  // namespace

TrialMemory::TrialMemory() {
  const std::string root = user_cache_folder();
  if (root.empty()) return;
  folder_ = root + "/plugins";
  struct stat info;
  if (::lstat(folder_.c_str(), &info) != 0) {
    std::error_code error;
    std::filesystem::create_directories(root, error);
    ::mkdir(folder_.c_str(), 0700);
    if (::lstat(folder_.c_str(), &info) != 0) info.st_mode = 0;
  }
  if (!S_ISDIR(info.st_mode) || !is_ours(info)) folder_.clear();
}

std::optional<TrialResult> TrialMemory::find(const TrialSubject& subject) const {
  if (folder_.empty()) return std::nullopt;
  const int fd = ::open(path_of(folder_, subject).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  char buffer[kMostBytes];
  struct stat info;
  const bool is_trusted = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_ours(info);
  const ssize_t n = is_trusted ? ::read(fd, buffer, sizeof buffer) : 0;
  ::close(fd);
  std::string_view text(buffer, n > 0 ? static_cast<size_t>(n) : 0);
  const std::string head = cat(kMagic, text_of(subject.stamp));
  if (!text.starts_with(head) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(head.size());
  text.remove_suffix(1);
  if (text.empty()) return TrialResult{TrialResult::kSound, ""};
  return TrialResult{TrialResult::kUnsound, std::string(text)};
}

void TrialMemory::put(const TrialSubject& subject, const TrialResult& result) const {
  const bool is_lasting =
      result.kind == TrialResult::kSound || result.kind == TrialResult::kUnsound;
  if (folder_.empty() || !is_lasting) return;
  prune(folder_);
  const std::string path = path_of(folder_, subject);
  const std::string temporary = cat(path, ".", ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  bool written = write_all(fd, cat(kMagic, text_of(subject.stamp), result.reason, "\n"));
  written = ::close(fd) == 0 && written;
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
}

}  // namespace byoc
