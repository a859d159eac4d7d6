// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/plugin_loader.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "byoc/base/file.h"
#include "byoc/base/shared_library.h"
#include "byoc/host/plugins.h"
#include "byoc/host/register.h"
#include "byoc/plugin/manifest.h"
#include "runtime/host/host.h"
#include "runtime/host/packed.h"
#include "runtime/host/plugin_shutdown.h"
#include "runtime/host/registered_plugins.h"
#include "runtime/signature/signature.h"

namespace byoc {
namespace {

std::string mode_text(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode & 07777u);
  return text;
}

/// Warns once per folder, because a folder may hold many plugins.
void warn_of_group(const std::string& folder, mode_t mode) {
  static std::mutex& mutex = *new std::mutex;
  static auto& warned = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (!warned.insert(folder).second) return;
  log_line(1, "loader",
           cat("the group may replace plugins in ", folder, " (mode ", mode_text(mode), ")"));
}

Status check_folder(const std::string& folder) {
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) return system_error("cannot read", folder, errno);
  if ((info.st_mode & S_IWOTH) && !(info.st_mode & S_ISVTX)) {
    return Status(Code::kPermissionDenied, cat("anyone may replace files in its folder ", folder,
                                               " (mode ", mode_text(info.st_mode), ")"))
        .with_help(cat("chmod o-w ", folder));
  }
  if ((info.st_mode & S_IWGRP) && !(info.st_mode & S_ISVTX)) warn_of_group(folder, info.st_mode);
  return {};
}

Status check_must_understand(const byoc_ext* ext) {
  for (int k = 0; ext != nullptr; ext = ext->next, ++k) {
    if (k == 64) return invalid("its table has a chain of extensions without end");
    if (ext->id & BYOC_EXT_MUST_UNDERSTAND) {
      return unimplemented(cat("its table needs extension ", ext->id & ~BYOC_EXT_MUST_UNDERSTAND,
                               ", which this byoc does not have"))
          .with_help("use a newer byoc");
    }
  }
  return {};
}

struct Slot {
  const char* name;
  size_t offset;
};
#define BYOC_SLOT(name) \
  { #name, offsetof(byoc_plugin, name) }
constexpr Slot kRequired[] = {BYOC_SLOT(open),    BYOC_SLOT(close), BYOC_SLOT(patterns),
                              BYOC_SLOT(compile), BYOC_SLOT(load),  BYOC_SLOT(save),
                              BYOC_SLOT(kernel),  BYOC_SLOT(info),  BYOC_SLOT(run),
                              BYOC_SLOT(release)};
#undef BYOC_SLOT
#define BYOC_SLOT(name) \
  { #name, offsetof(byoc_device_table, name) }
constexpr Slot kDeviceSlots[] = {
    BYOC_SLOT(devices),      BYOC_SLOT(dev_alloc),   BYOC_SLOT(dev_free),  BYOC_SLOT(copy),
    BYOC_SLOT(stream_new),   BYOC_SLOT(stream_free), BYOC_SLOT(event_new), BYOC_SLOT(event_free),
    BYOC_SLOT(event_record), BYOC_SLOT(event_wait),  BYOC_SLOT(event_sync)};
#undef BYOC_SLOT
constexpr uint32_t kMinorOfDevices = 10;

// Never destroyed: threads may still run when the program ends.
std::mutex& registry_mutex = *new std::mutex;
std::vector<RegisteredPlugin>& registered = *new std::vector<RegisteredPlugin>;

/// Returns the file of the plugin's code. Functions that were made at run time are in no file.
std::string file_of(const byoc_plugin& table) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(table.open), &info) != 0 && info.dli_fname != nullptr &&
      info.dli_fname[0] == '/')
    return info.dli_fname;
  return "/proc/self/exe";
}

}  // namespace

Status check_table_header(const byoc_plugin* raw) {
  constexpr size_t kSmallest = offsetof(byoc_plugin, release) + sizeof(raw->release);
  if (!raw)
    return invalid("its entry gave no table")
        .with_help("set *out to a byoc_plugin in static storage");
  if (raw->h.tag != BYOC_TAG_PLUGIN)
    return invalid("its table has the wrong tag").with_help("set h.tag to BYOC_TAG_PLUGIN");
  if (raw->h.size < kSmallest) {
    return invalid(cat("its table is ", raw->h.size, " bytes, at least ", kSmallest, " are needed"))
        .with_help("set h.size to sizeof(byoc_plugin)");
  }
  return check_must_understand(raw->h.ext);
}

Status check_table_abi(const byoc_plugin& table, const PluginManifest& manifest) {
  return check_abi(
      {manifest.id, manifest.version, manifest.arch, table.abi_major, table.min_host_minor});
}

Status check_table_slots(const byoc_plugin& table) {
  for (const Slot& slot : kRequired) {
    void* pointer = nullptr;
    std::memcpy(&pointer, reinterpret_cast<const char*>(&table) + slot.offset, sizeof pointer);
    if (!pointer)
      return invalid(cat("its table has no \"", slot.name, "\""))
          .with_help("every plugin needs that slot");
  }
  return {};
}

Status check_table_identity(const byoc_plugin& table, const PluginManifest& manifest) {
  if (text_of(table.id) != manifest.id) {
    return invalid(cat("its table has id \"", text_of(table.id), "\", its manifest \"", manifest.id,
                       "\""))
        .with_help("give both the same id; BYOC_PLUGIN does");
  }
  if (text_of(table.version) != manifest.version) {
    return invalid(cat("its table has version \"", text_of(table.version), "\", its manifest \"",
                       manifest.version, "\""))
        .with_help("give both the same version; BYOC_PLUGIN does");
  }
  if (manifest.priority && table.priority != *manifest.priority) {
    return invalid(cat("its table has priority ", table.priority, ", its manifest ",
                       *manifest.priority))
        .with_help("give both the same priority; BYOC_PLUGIN does");
  }
  return {};
}

Status check_device_table(const byoc_plugin& table) {
  const byoc_device_table* device = table.device;
  if (device == nullptr) return {};
  if (device->h.tag != BYOC_TAG_DEVICE_TABLE || device->h.size < sizeof *device)
    return invalid("its table of devices is no byoc_device_table")
        .with_help("set h.tag to BYOC_TAG_DEVICE_TABLE and h.size to sizeof(byoc_device_table)");
  if (table.min_host_minor < kMinorOfDevices)
    return invalid(cat("it has devices, and works with hosts of minor ", table.min_host_minor))
        .with_help(cat("set min_host_minor to ", kMinorOfDevices,
                       ": older hosts would pass their own memory to its kernels"));
  for (const Slot& slot : kDeviceSlots) {
    void* pointer = nullptr;
    std::memcpy(&pointer, reinterpret_cast<const char*>(device) + slot.offset, sizeof pointer);
    if (!pointer)
      return invalid(cat("its table of devices has no \"", slot.name, "\""))
          .with_help("a table of devices has all slots");
  }
  return {};
}

byoc_plugin copy_table(const byoc_plugin& raw) {
  byoc_plugin table{};
  std::memcpy(&table, &raw, std::min<size_t>(raw.h.size, sizeof table));
  return table;
}

Status check_owner(const std::string& path, uint32_t owner, uint32_t caller) {
  if (owner == 0 || owner == caller) return {};
  return Status(Code::kPermissionDenied,
                cat("its owner is user ", owner, ", neither root nor the caller"))
      .with_help(cat("chown it to root or to yourself: ", path));
}

Status check_plugin_file(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return system_error("cannot read", path, errno);
  }
  if (!S_ISREG(info.st_mode))
    return invalid("not a regular file").with_help("name the plugin's .so file itself");
  if (info.st_mode & S_IWOTH) {
    return Status(Code::kPermissionDenied,
                  cat("anyone may change it (mode ", mode_text(info.st_mode), ")"))
        .with_help(cat("chmod o-w ", path));
  }
  BYOC_TRY_STATUS(check_owner(path, info.st_uid, ::geteuid()));
  return check_folder(std::filesystem::path(path).parent_path().string());
}

Result<PluginManifest> inspect_plugin(const std::string& path, PluginManifest& seen) {
  FileStamp stamp;
  return inspect_plugin(path, seen, stamp);
}

Result<PluginManifest> inspect_plugin(const std::string& path, PluginManifest& seen,
                                      FileStamp& stamp) {
  BYOC_TRY_STATUS(check_plugin_file(path));
  BYOC_TRY_STATUS(check_signature(path));
  BYOC_TRY(ByteSource file, ByteSource::open(path));
  stamp = file.stamp();
  Status complete = check_complete(file);
  Result<PluginManifest> manifest = read_manifest(file);
  if (manifest.ok()) seen = *manifest;
  BYOC_TRY_STATUS(complete);
  BYOC_TRY_STATUS(manifest.status());
  BYOC_TRY_STATUS(check_abi(seen));
  return seen;
}

Result<byoc_plugin_entry_fn> load_plugin_entry(const std::string& path,
                                               const PluginManifest& manifest) {
  PluginCallScope scope(manifest.id, "static constructors");
  BYOC_TRY(SharedLibrary library, SharedLibrary::open(path));
  auto entry = reinterpret_cast<byoc_plugin_entry_fn>(library.symbol(BYOC_ENTRY_SYMBOL));
  library.keep();  // it may have started threads already
  if (!entry) {
    return invalid(cat("no entry symbol ", BYOC_ENTRY_SYMBOL))
        .with_help("define it extern \"C\" and exported; BYOC_PLUGIN does");
  }
  return entry;
}

Result<byoc_plugin> load_plugin_table(const std::string& path, const PluginManifest& manifest) {
  BYOC_TRY(byoc_plugin_entry_fn entry, load_plugin_entry(path, manifest));
  return table_of_entry(entry, manifest);
}

Result<byoc_plugin> table_of_entry(byoc_plugin_entry_fn entry, const PluginManifest& manifest) {
  const byoc_plugin* raw = nullptr;
  BYOC_TRY_STATUS(call_plugin(manifest.id, "the entry",
                              [&] { return entry(host_table_of(manifest.id), &raw); }));
  BYOC_TRY_STATUS(check_table_header(raw));
  byoc_plugin table = copy_table(*raw);
  BYOC_TRY_STATUS(check_table_abi(table, manifest));
  BYOC_TRY_STATUS(check_table_slots(table));
  BYOC_TRY_STATUS(check_device_table(table));
  BYOC_TRY_STATUS(check_table_identity(table, manifest));
  BYOC_TRY_STATUS(check_not_shut_down(table));
  return table;
}

bool uses_openmp(const std::string& path) {
  Result<SharedLibrary> library = SharedLibrary::open(path);
  return !library.ok() || library->symbol("omp_get_max_threads") != nullptr;
}

std::vector<RegisteredPlugin> registered_plugins() {
  std::lock_guard lock(registry_mutex);
  return registered;
}

Status register_plugin(const byoc_plugin* raw) {
  BYOC_TRY_STATUS(check_table_header(raw));
  const byoc_plugin table = copy_table(*raw);
  const PluginManifest manifest{text_of(table.id), text_of(table.version), BYOC_MANIFEST_ARCH};
  if (!is_plugin_id(manifest.id)) {
    return invalid(cat("its table has the id \"", manifest.id, "\""))
        .with_help("an id has small letters, digits, - and _, and begins with a letter");
  }
  BYOC_TRY_STATUS(check_table_abi(table, manifest));
  BYOC_TRY_STATUS(check_table_slots(table));
  BYOC_TRY_STATUS(check_device_table(table));
  std::lock_guard lock(registry_mutex);
  if (std::ranges::count(registered, manifest.id, &RegisteredPlugin::id) > 0) {
    return Status(Code::kAlreadyExists,
                  cat("a plugin with the id \"", manifest.id, "\" is registered"))
        .with_help("register each plugin once");
  }
  registered.push_back({table, manifest.id, manifest.version, file_of(table)});
  return {};
}

}  // namespace byoc
