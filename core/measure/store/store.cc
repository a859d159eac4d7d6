// SPDX-License-Identifier: Apache-2.0
#include "core/measure/store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <span>

#include "byoc/base/file.h"
#include "byoc/base/json.h"

namespace byoc::measure {
namespace {

std::string identity(const Key& key) {
  return cat(key.plugin, "\n", key.build, "\n", key.machine, "\n", key.threads, "\n", key.point,
             "\n", key.code, "\n", key.text);
}

ContentKey hash(const Key& key) {
  const std::string text = identity(key);
  return content_key(std::as_bytes(std::span(text.data(), text.size())));
}

ContentKey hash_without_point(Key key) {
  key.point = "*";
  return hash(key);
}

bool is_time(double ns) { return std::isfinite(ns) && ns >= 0; }

std::string print_line(const Key& key, const Observation& one) {
  Json line = {{"plugin", key.plugin},
               {"version", key.build},
               {"machine", key.machine},
               {"threads", key.threads},
               {"text", key.text}};
  if (!key.point.empty()) line["point"] = key.point;
  if (!key.code.empty()) line["code"] = key.code;
  if (one.error.empty()) line["ns"] = one.ns;
  else line["error"] = one.error;
  if (one.reorder_ns > 0) line["reorder_ns"] = one.reorder_ns;
  if (!one.samples_ns.empty()) line["samples_ns"] = one.samples_ns;
  if (!one.by.empty()) line["by"] = one.by;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Parses a line of either file; older lines lack the optional members.
std::optional<std::pair<Key, Observation>> parse_line(std::string_view line) {
  Result<Json> json = parse_json(line);
  if (!json.ok() || !json->is_object()) return std::nullopt;
  try {
    Key key{json->at("plugin"),  json->at("version"),      json->at("machine"),    json->at("text"),
            json->at("threads"), json->value("point", ""), json->value("code", "")};
    Observation one{json->value("ns", -1.0), json->value("error", ""),
                    json->value("reorder_ns", 0.0),
                    json->value("samples_ns", std::vector<double>()), json->value("by", "")};
    bool has_times = is_time(one.reorder_ns);
    for (double ns : one.samples_ns) has_times = has_times && is_time(ns);
    if (one.error.empty() && !(has_times && is_time(one.ns))) return std::nullopt;
    if (!one.error.empty()) one.ns = 0;
    return std::pair(std::move(key), std::move(one));
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// Appends with one write under a lock of the file. Ends a line that a killed process left.
Status append(const std::string& path, const std::string& lines) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return system_error("cannot open", path, errno);
  Status done;
  const bool is_locked = ::flock(file, LOCK_EX) == 0;
  char last = '\n';
  const off_t size = ::lseek(file, 0, SEEK_END);
  if (size > 0) (void)!::pread(file, &last, 1, size - 1);
  if (!write_all(file, last == '\n' ? lines : "\n" + lines)) {
    done = system_error("cannot write", path, errno);
    (void)!::ftruncate(file, size);
  }
  if (is_locked) ::flock(file, LOCK_UN);
  ::close(file);
  return done;
}

}  // namespace

std::string unusable_reason(const Key& key, const Scope& scope) {
  if (key.machine != scope.machine) return "another machine";
  const auto build = scope.builds.find(key.plugin);
  if (build == scope.builds.end()) return cat("no plugin ", key.plugin, " here");
  if (build->second != key.build) return cat("another build of ", key.plugin);
  if (key.threads != scope.threads) return "another number of threads";
  if (key.code != scope.code) return "another --target or --exact-sums";
  return "";
}

Store Store::read(const std::string& folder) {
  Store out;
  out.folder_ = folder;
  if (folder.empty()) return out;
  for (std::string_view name : {kOldCosts, kStoreFile}) out.read_file_of(cat(folder, "/", name));
  return out;
}

void Store::read_file_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return remarks_.push_back(text.status().to_string());
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view line = std::string_view(*text).substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    if (auto parsed = parse_line(line)) set(parsed->first, parsed->second);
    else ++damaged_;
  }
}

std::optional<Observation> Store::find(const Key& key) const {
  auto at = entries_.find(hash(key));
  if (at == entries_.end() || at->second.key != key) return std::nullopt;
  return at->second.observation;
}

std::vector<std::pair<std::string, Observation>> Store::points_of(Key key) const {
  std::vector<std::pair<std::string, Observation>> out;
  auto at = by_text_.find(hash_without_point(key));
  if (at == by_text_.end()) return out;
  for (const ContentKey& one : at->second) {
    const Entry& entry = entries_.at(one);
    key.point = entry.key.point;
    if (entry.key == key) out.emplace_back(entry.key.point, entry.observation);
  }
  return out;
}

void Store::set(const Key& key, const Observation& observation) {
  const ContentKey at = hash(key);
  const bool is_new = !entries_.contains(at);
  entries_[at] = {key, observation};
  if (is_new) by_text_[hash_without_point(key)].push_back(at);
}

void Store::put(const Key& key, const Observation& observation) {
  set(key, observation);
  if (!folder_.empty()) pending_ += print_line(key, observation);
}

Status Store::save() {
  if (pending_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  BYOC_TRY_STATUS(append(path(), pending_));
  pending_.clear();
  return {};
}

size_t Store::count(const Scope& scope, std::map<std::string, size_t>& unusable) const {
  size_t usable = 0;
  for (const auto& [at, entry] : entries_) {
    const std::string reason = unusable_reason(entry.key, scope);
    if (reason.empty()) ++usable;
    else ++unusable[reason];
  }
  if (damaged_ > 0) unusable["damaged lines"] += damaged_;
  return usable;
}

std::string Store::path() const { return folder_.empty() ? "" : cat(folder_, "/", kStoreFile); }

}  // namespace byoc::measure
