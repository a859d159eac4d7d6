// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/new_process.h"

#include <filesystem>

#include "byoc/base/json.h"
#include "core/process/program.h"
#include "runtime/base/temporary.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::minutes kLimit{10};

/// A new folder, removed with its files when destroyed.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "byoc-replay-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      return failed(cat("no temporary folder ", name, " can be made"))
          .with_slug("temporary-folder");
    return TemporaryFolder(std::move(name));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        removed_on_signals_(std::move(other.removed_on_signals_)) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return cat(path_, "/", name); }

 private:
  explicit TemporaryFolder(std::string path)
      : path_(std::move(path)), removed_on_signals_(std::make_unique<TemporaryPath>(path_)) {}
  std::string path_;
  std::unique_ptr<TemporaryPath> removed_on_signals_;
};

std::vector<std::string> command_line(const ReplayCase& replay, const std::string& folder,
                                      const NewProcess& process) {
  std::vector<std::string> argv = {process.program, "replay",      folder,
                                   "--compiler",    replay.plugin, "--json"};
  for (const std::string& file : process.plugin_files) argv.insert(argv.end(), {"--plugin", file});
  return argv;
}

}  // namespace

Result<bool> fails_in_new_process(const ReplayCase& replay, const NewProcess& process) {
  BYOC_TRY(TemporaryFolder folder, TemporaryFolder::make());
  const std::string piece = folder.file("piece");
  BYOC_TRY_STATUS(write_replay(replay, piece));
  BYOC_TRY(process::ProgramResult ran,
           process::run_program(command_line(replay, piece, process), "", kLimit));
  if (ran.end.kind == process::End::kSignal) return true;
  auto json = parse_json(ran.out);
  if (ran.end.kind != process::End::kExited || !json.ok() || !json->is_object() ||
      !json->contains("passed")) {
    return failed(cat(process.program, " replay printed no result: ", ran.err.substr(0, 400)))
        .with_slug("replay-failed");
  }
  return !(*json)["passed"].get<bool>();
}

}  // namespace byoc::driver
