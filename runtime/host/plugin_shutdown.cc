// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/plugin_shutdown.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "byoc/host/plugins.h"
#include "runtime/host/host.h"

namespace byoc {
namespace {

using Shutdown = decltype(byoc_plugin::shutdown);

struct Library {
  std::string id;
  uint64_t instances = 0;
  bool is_shut_down = false;
};

/// Never destroyed, because static destructors of the program may close plugins.
struct Libraries {
  std::mutex mutex;
  std::map<Shutdown, Library> all;
};
Libraries& libraries() {
  static Libraries& libraries = *new Libraries;
  return libraries;
}

/// Marks the libraries without instances as shut down, and returns them in order of id.
std::vector<std::pair<std::string, Shutdown>> take_closed() {
  std::vector<std::pair<std::string, Shutdown>> out;
  Libraries& known = libraries();
  std::lock_guard lock(known.mutex);
  for (auto& [shutdown, library] : known.all) {
    if (library.is_shut_down) continue;
    if (library.instances != 0) {
      log_line(1, "loader",
               cat(library.id, " is not shut down: ", library.instances, " instances are open"));
      continue;
    }
    library.is_shut_down = true;
    out.emplace_back(library.id, shutdown);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace

Status check_not_shut_down(const byoc_plugin& table) {
  if (!table.shutdown) return {};
  Libraries& known = libraries();
  std::lock_guard lock(known.mutex);
  auto found = known.all.find(table.shutdown);
  if (found == known.all.end() || !found->second.is_shut_down) return {};
  return Status(Code::kFailedPrecondition, "it was shut down in this process")
      .with_help("call shutdown_plugins once, when no plugin is needed any more");
}

void count_opened(const byoc_plugin& table) {
  if (!table.shutdown) return;
  Libraries& known = libraries();
  std::lock_guard lock(known.mutex);
  Library& library = known.all[table.shutdown];
  library.id = text_of(table.id);
  ++library.instances;
}

void count_closed(const byoc_plugin& table) {
  if (!table.shutdown) return;
  Libraries& known = libraries();
  std::lock_guard lock(known.mutex);
  --known.all[table.shutdown].instances;
}

void shutdown_plugins() {
  for (const auto& [id, shutdown] : take_closed()) {
    Status status = call_plugin(id, "shutdown", [shutdown = shutdown] { return shutdown(); });
    if (!status.ok()) log_line(1, id, cat("shutdown failed: ", status.message()));
  }
}

}  // namespace byoc
