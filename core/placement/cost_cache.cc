// SPDX-License-Identifier: Apache-2.0
#include "core/placement/cost_cache.h"

#include <cmath>
#include <filesystem>
#include <mutex>

#include "byoc/base/file.h"
#include "byoc/base/json.h"

namespace byoc::placement {
namespace {

std::string hash_of_file(const std::string& path) {
  constexpr size_t kDigits = 16;
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  return file.ok() ? "+" + content_key((*file)->bytes()).hex().substr(0, kDigits) : "";
}

std::string identity(const CostKey& key) {
  return cat(key.plugin, "\n", key.version, "\n", key.machine, "\n", key.threads, "\n", key.text);
}

ContentKey hash(const CostKey& key) {
  const std::string text = identity(key);
  return content_key(std::as_bytes(std::span(text.data(), text.size())));
}

Result<std::pair<CostKey, MeasuredCost>> parse_line(std::string_view line) {
  BYOC_TRY(Json json, parse_json(line));
  try {
    CostKey key{json.at("plugin"), json.at("version"), json.at("machine"), json.at("text"),
                json.at("threads")};
    MeasuredCost cost{json.value("ns", 0.0), json.value("error", "")};
    if (cost.error.empty() && !(std::isfinite(cost.ns) && cost.ns >= 0))
      return invalid("\"ns\" is no time");
    return std::pair(std::move(key), std::move(cost));
  } catch (const Json::exception& e) {
    return invalid(e.what());
  }
}

}  // namespace

std::string version_and_build(const Plugin& plugin) {
  static std::mutex mutex;
  static std::map<std::string, std::string> hashes;  // by path
  std::lock_guard lock(mutex);
  auto [at, is_new] = hashes.try_emplace(plugin.path());
  if (is_new) at->second = hash_of_file(plugin.path());
  return plugin.version() + at->second;
}

std::string version_and_options(const Plugin& plugin) {
  const std::string version = version_and_build(plugin);
  return plugin.options_json() == "{}" ? version : cat(version, " ", plugin.options_json());
}

Result<CostCache> CostCache::read(const std::string& path) {
  CostCache out;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return out;
  BYOC_TRY(std::string text, read_file(path));
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = text.find('\n', begin);
    if (end == text.npos) break;  // a write that was cut off
    auto line = parse_line(std::string_view(text).substr(begin, end - begin));
    if (!line.ok()) {
      return data_loss(cat("line ", number, " is no cost: ", line.status().message()))
          .with_slug("cost-cache")
          .with_help("remove the file; byoc place measures again")
          .at(path);
    }
    out.put(line->first, line->second);
    begin = end + 1;
  }
  return out;
}

std::optional<MeasuredCost> CostCache::find(const CostKey& key) const {
  auto at = entries_.find(hash(key));
  if (at == entries_.end() || identity(at->second.key) != identity(key)) return std::nullopt;
  return at->second.cost;
}

void CostCache::put(const CostKey& key, const MeasuredCost& cost) {
  entries_[hash(key)] = {key, cost};
}

Status CostCache::write(const std::string& path) const {
  std::string text;
  for (const auto& [hash, entry] : entries_) {
    Json line = {{"plugin", entry.key.plugin},
                 {"version", entry.key.version},
                 {"machine", entry.key.machine},
                 {"threads", entry.key.threads},
                 {"text", entry.key.text}};
    if (entry.cost.error.empty()) line["ns"] = entry.cost.ns;
    else line["error"] = entry.cost.error;
    text += line.dump() + "\n";
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return write_file(path, text);
}

}  // namespace byoc::placement
