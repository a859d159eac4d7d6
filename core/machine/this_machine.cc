// SPDX-License-Identifier: Apache-2.0
#include "core/machine/this_machine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>

#include "byoc/base/buffer.h"
#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/version.h"
#include "core/machine/bound_threads.h"
#include "core/machine/measure_machine.h"
#include "core/measure/store/this_machine.h"

namespace byoc::machine {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::minutes kBusyTime{10};

uint32_t cores_here() { return std::max(1u, static_cast<uint32_t>(processors().size())); }

bool is_here(const Machine& machine) {
  return machine.cores == cores_here() && machine.processor == measure::machine_name();
}

// Returns whether a file with a machine that was measured beside other work is so old that
// measuring again may find it quiet.
bool is_worth_measuring_again(const Machine& machine, const std::string& path) {
  if (!machine.is_busy) return false;
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - written > kBusyTime;
}

std::string shipped_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : (self.parent_path().parent_path() / "share/byoc/machines").string();
}

// A failure to write means that the next process measures again.
void put(const Machine& machine, const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  fs::create_directories(folder, error);
  if (!error) static_cast<void>(write_file(path, to_json(machine).dump(1) + "\n"));
}

Result<Machine> find_machine() {
  if (const std::string file = env_value("BYOC_MACHINE"); !file.empty()) {
    BYOC_TRY(Machine machine, read_machine(file));
    machine.origin = cat("the file ", file, " of BYOC_MACHINE");
    return machine;
  }
  if (std::optional<Machine> machine = shipped_in(shipped_folder())) return *std::move(machine);
  return known_or_measured(user_cache_folder());
}

}  // namespace

std::string cached_path(const std::string& folder) {
  if (folder.empty()) return "";
  const std::string key = cat(measure::machine_name(), "; ", cores_here(), "; ", version());
  return cat(folder, "/machine/",
             content_key(std::as_bytes(std::span(key.data(), key.size()))).hex(), ".json");
}

std::optional<Machine> shipped_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::end(at);
       at.increment(error)) {
    if (at->path().extension() == ".json") files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    Result<Machine> machine = read_machine(file);
    if (!machine.ok() || !is_here(*machine)) continue;
    machine->origin = cat("the row ", file);
    return *std::move(machine);
  }
  return std::nullopt;
}

Machine known_or_measured(const std::string& folder) {
  const std::string path = cached_path(folder);
  if (!path.empty()) {
    Result<Machine> known = read_machine(path);
    if (known.ok() && is_here(*known) && !is_worth_measuring_again(*known, path)) {
      known->origin = cat("measured before, ", path);
      return *std::move(known);
    }
  }
  Machine measured = measure_machine();
  if (!path.empty()) put(measured, path);
  return measured;
}

Result<std::shared_ptr<const Machine>> this_machine() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Machine>> found;  // by BYOC_MACHINE
  std::lock_guard lock(mutex);
  std::shared_ptr<const Machine>& known = found[env_value("BYOC_MACHINE")];
  if (known == nullptr) {
    BYOC_TRY(Machine machine, find_machine());
    known = std::make_shared<const Machine>(std::move(machine));
  }
  return known;
}

}  // namespace byoc::machine
