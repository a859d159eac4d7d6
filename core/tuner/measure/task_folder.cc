// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/task_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "byoc/base/version.h"
#include "core/measure/sampler.h"
#include "core/tools/replay/case_sizes.h"
#include "core/tools/replay/run_replay.h"
#include "runtime/base/temporary.h"
#include "runtime/cli/values.h"

namespace byoc::tune {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFolderPrefix = "byoc-tune-";

/// Fills the inputs with random values as commands do, and the outputs with zeros.
Status add_tensors(driver::ReplayCase& to, uint64_t seed) {
  BYOC_TRY(IRModule module, driver::module_of(to));
  const Function& function = module.function(module.entry);
  to.sizes = driver::usual_sizes(module);
  std::vector<NamedTensor> types;
  for (size_t k = 0; k < function.num_params(); ++k) {
    BYOC_TRY(TensorSpec spec, driver::spec_at(function.nodes[k].types[0], to.sizes));
    types.push_back({std::get<Param>(function.nodes[k].kind).name.str(), std::move(spec)});
  }
  BYOC_TRY(auto inputs, cli::make_inputs(types, {}, seed, {}));
  BYOC_CHECK(inputs.size() == types.size(), inputs.size(), " values of ", types.size(), " inputs");
  for (size_t k = 0; k < inputs.size(); ++k)
    to.inputs.push_back({types[k].name, std::move(inputs[k].tensor)});
  for (TypeId type : function.result_types()) {
    BYOC_TRY(const TensorSpec spec, driver::spec_at(type, to.sizes));
    BYOC_TRY(Tensor zeros, Tensor::make(spec));
    to.outputs.push_back({cat("output", to.outputs.size()), std::move(zeros)});
  }
  return {};
}

/// Opens a folder and locks it. Returns -1 and sets errno when another process has the lock, or the
/// file system has none for folders.
int lock_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  const int error = errno;
  close(folder);
  errno = error;
  return -1;
}

/// Returns true for a folder of a tuner that has ended: its number belongs to no process, and the
/// lock is free. The number alone may be that of a process in another container. Without locks, the
/// folder must not have changed for a while.
bool is_leftover(const fs::directory_entry& entry) {
  constexpr std::chrono::minutes kWhile{10};
  const std::string name = entry.path().filename().string();
  if (!name.starts_with(kFolderPrefix)) return false;
  pid_t pid = 0;
  std::from_chars(name.data() + kFolderPrefix.size(), name.data() + name.size(), pid);
  if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH) return false;
  const int lock = lock_folder(entry.path().string());
  if (lock < 0 && (errno == EWOULDBLOCK || errno == ENOENT)) return false;
  if (lock >= 0) {
    close(lock);
    return true;
  }
  std::error_code error;
  const auto changed = entry.last_write_time(error);
  return !error && fs::file_time_type::clock::now() - changed > kWhile;
}

void delete_leftovers(const fs::path& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    std::error_code ignored;
    if (is_leftover(entry)) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Result<driver::ReplayCase> case_of(const Task& task, const BuildOptions& build,
                                   const std::string& reference, uint64_t seed) {
  BYOC_TRY(const Plugin* plugin, build.plugins->get(task.plugin));
  driver::ReplayCase out;
  out.producer = cat("byoc ", version());
  out.symbol = task.input.symbol;
  out.plugin = task.plugin;
  out.plugin_version = plugin->version();
  const auto& options = build.plugins->search().options;
  if (auto found = options.find(task.plugin); found != options.end())
    out.plugin_options = found->second;
  out.reference = reference;
  out.target_json = build.target_json;
  out.threads = build.threads;
  out.nodes = task.locs;
  out.graph_json = task.input.graph_json;
  out.constants = task.input.constants;
  out.buffers = task.input.buffers;
  BYOC_TRY_STATUS(add_tensors(out, seed));
  return out;
}

bool is_bound_by_weights(const Task& task) {
  double weights = 0;
  for (const auto& buffer : task.input.buffers) weights += static_cast<double>(buffer->size());
  return measure::is_bound_by_weights(task.space.flops, task.space.bytes, weights);
}

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return system_error("cannot find", "a folder for temporary files", error.value());
  return make_in(parent.string());
}

std::unique_ptr<ScratchFolder> ScratchFolder::make_in_memory() {
  constexpr uint64_t kLeastBytes = uint64_t{1} << 30;
  constexpr const char* kMemory = "/dev/shm";
  struct statvfs info {};
  const bool has_room = getenv("TMPDIR") == nullptr && statvfs(kMemory, &info) == 0 &&
                        info.f_bavail * info.f_frsize >= kLeastBytes;
  if (!has_room) return nullptr;
  auto out = make_in(kMemory);
  return out.ok() ? *std::move(out) : nullptr;
}

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::make_in(const std::string& folder) {
  const fs::path parent = folder;
  delete_leftovers(parent);
  std::string path = (parent / cat(kFolderPrefix, getpid(), "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) return system_error("cannot make folder", path, errno);
  const int lock = lock_folder(path);
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path), lock));
}

ScratchFolder::ScratchFolder(std::string path, int lock)
    : path_(std::move(path)),
      removed_on_signals_(std::make_shared<TemporaryPath>(path_)),
      lock_(lock) {}

ScratchFolder::~ScratchFolder() {
  if (lock_ >= 0) close(lock_);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace byoc::tune
