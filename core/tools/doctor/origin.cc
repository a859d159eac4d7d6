// SPDX-License-Identifier: Apache-2.0
#include "core/tools/doctor/origin.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "runtime/host/registered_plugins.h"

namespace byoc::driver {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRecordBytes = size_t{64} << 20;  // packages have thousands of files

/// Returns the lines of a file; none when it cannot be read.
std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> out;
  Result<std::string> text = read_file(path.string(), kMostRecordBytes);
  if (!text.ok()) return out;
  std::istringstream stream(*text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

/// Returns the text after "NAME: " in the head of a package's METADATA.
std::string field(const std::vector<std::string>& lines, std::string_view name) {
  const std::string begin = cat(name, ": ");
  for (const std::string& line : lines) {
    if (line.empty()) break;
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return "";
}

/// Returns the first entry point of the group byoc.plugins.
std::string entry_point(const fs::path& info) {
  bool inside = false;
  for (const std::string& line : lines_of(info / "entry_points.txt")) {
    if (line.starts_with('[')) inside = line == "[byoc.plugins]";
    else if (size_t end = line.find_first_of(" ="); inside && end != std::string::npos && end > 0)
      return line.substr(0, end);
  }
  return "";
}

/// Returns whether a package's RECORD lists the file; a row is "PATH,SUM,BYTES".
bool lists(const fs::path& info, const std::string& file) {
  const std::string plain = file + ",", quoted = cat('"', file, "\",");
  const std::vector<std::string> lines = lines_of(info / "RECORD");
  return std::ranges::any_of(lines, [&](const std::string& line) {
    return line.starts_with(plain) || line.starts_with(quoted);
  });
}

/// Finds the package of a file: its records are beside one of the folders above the file.
bool find_package(const fs::path& file, PluginOrigin& out) {
  for (fs::path at = file.parent_path(); at != at.parent_path(); at = at.parent_path()) {
    std::error_code error;  // a folder that cannot be read has no records
    for (const fs::directory_entry& entry : fs::directory_iterator(at, error)) {
      const fs::path& info = entry.path();
      if (info.extension() != ".dist-info" || !lists(info, fs::relative(file, at, error))) continue;
      const std::vector<std::string> metadata = lines_of(info / "METADATA");
      out.package = field(metadata, "Name");
      out.version = field(metadata, "Version");
      out.entry_point = entry_point(info);
      return true;
    }
  }
  return false;
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

/// Returns the folder of a search in which the file, or folder, was found; "" when in none.
std::string searched_folder(const PluginSearch& search, const fs::path& path) {
  for (const std::string& folder : search.folders) {
    if (is_same(folder, path.parent_path()) || is_same(folder, path)) return folder;
  }
  return "";
}

bool is_in_plugin_path(const std::string& folder) {
  const std::string folders = cat(":", env_value("BYOC_PLUGIN_PATH"), ":");
  return folders.find(cat(":", folder, ":")) != std::string::npos;
}

}  // namespace

std::string_view kind_name(PluginOrigin::Kind kind) {
  constexpr std::string_view kNames[] = {"program", "option", "wheel", "environment",
                                         "installation"};
  return kNames[kind];
}

PluginOrigin origin_of(const PluginSet& plugins, const std::string& id, const std::string& path) {
  for (const RegisteredPlugin& one : registered_plugins()) {
    if (one.id == id && one.path == path) return {.kind = PluginOrigin::kProgram};
  }
  const PluginSearch& search = plugins.search();
  auto is_file = [&](const std::string& file) { return is_same(file, path); };
  if (std::ranges::any_of(search.files, is_file)) return {.kind = PluginOrigin::kOption};
  PluginOrigin out;
  out.folder = searched_folder(search, path);
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (!error && find_package(file, out)) out.kind = PluginOrigin::kWheel;
  else if (is_in_plugin_path(out.folder)) out.kind = PluginOrigin::kEnvironment;
  return out;
}

std::string origin_text(const PluginOrigin& origin) {
  switch (origin.kind) {
    case PluginOrigin::kProgram:
      return "registered by this program";
    case PluginOrigin::kOption:
      return "--plugin";
    case PluginOrigin::kWheel:
      return cat("wheel ", origin.package, " ", origin.version,
                 origin.entry_point.empty() ? "" : cat(", entry point ", origin.entry_point));
    case PluginOrigin::kEnvironment:
      return cat("BYOC_PLUGIN_PATH, folder ", origin.folder);
    case PluginOrigin::kInstallation:
      return cat("installation, folder ", origin.folder);
  }
  return "";
}

}  // namespace byoc::driver
