// SPDX-License-Identifier: Apache-2.0
// The bench of `byoc tune --slurm`: a folder beside the log, and workers that Slurm starts.
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "byoc/base/file.h"
#include "core/tuner/slurm/cluster_bench.h"
#include "core/tuner/slurm/scheduler.h"

namespace byoc::tune {
namespace fs = std::filesystem;
namespace {

/// Deletes folders of tuners with the same log that were killed some time ago.
void delete_leftovers(const fs::path& log) {
  constexpr std::chrono::minutes kWhile{10};
  std::error_code error;
  const std::string prefix = cat(log.filename().string(), ".slurm-");
  for (const auto& entry : fs::directory_iterator(log.parent_path(), error)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    std::error_code missing, ignored;
    const auto beat = fs::last_write_time(entry.path() / "tuner", missing);
    if (!missing && fs::file_time_type::clock::now() - beat > kWhile)
      fs::remove_all(entry.path(), ignored);
  }
}

/// Returns the flags with absolute paths, which other folders need.
std::vector<std::string> absolute(std::vector<std::string> flags) {
  std::error_code ignored;
  for (size_t k = 1; k < flags.size(); ++k) {
    if (flags[k - 1] == "--plugin") flags[k] = fs::absolute(flags[k], ignored).string();
  }
  return flags;
}

}  // namespace

Result<Bench> slurm_bench(const std::vector<Task>& tasks, const BuildOptions& build,
                          const MeasureOptions& measure, const SlurmOptions& options,
                          const std::string& log, RecordFacts facts) {
  std::error_code error;
  const fs::path path = fs::absolute(log, error);
  delete_leftovers(path);
  std::string folder = cat(path.string(), ".slurm-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return system_error("cannot make folder", folder, errno);
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  std::string command = cat("exec ", shell_word(program), " tune-worker --role node --folder ",
                            shell_word(folder), " --number \"$SLURM_ARRAY_TASK_ID\"");
  for (const std::string& flag : absolute(measure.plugin_flags))
    command += cat(" ", shell_word(flag));
  return cluster_bench(tasks, build, measure, options, folder, std::move(facts),
                       slurm_scheduler(options, folder, command));
}

}  // namespace byoc::tune
