// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/load_modules.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "runtime/artifact/check_executable.h"
#include "runtime/host/plugin_loader.h"
#include "runtime/host/threads.h"
#include "runtime/session/check_signature.h"

namespace byoc {
namespace {

struct KeyHash {
  size_t operator()(const ContentKey& key) const {
    size_t hash;
    std::memcpy(&hash, key.bytes.data(), sizeof hash);  // a hash already
    return hash;
  }
};

constexpr std::string_view kAnyTypes = "*";
constexpr const char* kUnavailableHelp =
    "make the device available; or compile the model for other plugins, as with byoc compile MODEL "
    "--compiler llvm -o FILE; --fallback llvm keeps both in one file";
constexpr const char* kTrustHelp =
    "native code can do all that you can: leave out --no-native if you trust the file";

bool is_native(const ExternalModule& module) { return (module.flags & BYOC_MODULE_NATIVE) != 0; }

std::string symbols_of(const ExternalModule& module) {
  constexpr size_t kShown = 3;
  std::string out;
  size_t n = module.functions.size();
  for (size_t k = 0; k < std::min(n, kShown); ++k)
    out += cat(k ? ", " : "", module.functions[k].symbol);
  return n > kShown ? out + cat(" and ", n - kShown, " more") : out;
}

/// Returns one buffer per distinct key of the module's functions, in order of first use, then those
/// that packed_get will return.
std::vector<std::shared_ptr<const Buffer>> constants_of(const Executable& executable,
                                                        const ExternalModule& module) {
  std::vector<std::shared_ptr<const Buffer>> buffers;
  std::unordered_set<ContentKey, KeyHash> seen;
  for (const ExternalFunction& function : module.functions) {
    for (const ExternalConstant& constant : function.constants) {
      if (seen.insert(constant.key).second)
        buffers.push_back(executable.constants.at(constant.key));
    }
  }
  for (const auto& packed : module.packed)
    buffers.push_back(executable.constants.at(packed.second));
  return buffers;
}

class ModuleLoader {
 public:
  explicit ModuleLoader(SessionState& session)
      : session_(session), executable_(session.executable) {}

  Status load() {
    BYOC_TRY_STATUS(check_executable(executable_));
    BYOC_TRY_STATUS(check_modules());
    ThreadScope scope(session_.options.threads);  // plugins make primitives for this many
    if (!executable_.program.devices.empty()) {
      Result<std::unique_ptr<DeviceProgram>> devices =
          find_devices(executable_.program, session_.plugins.get());
      if (!devices.ok()) return load_failed(std::move(devices.status()));
      session_.devices = *std::move(devices);
    }
    for (const ExternalModule& module : executable_.modules) BYOC_TRY_STATUS(load_module(module));
    const size_t loaded = session_.loaded.size();
    BYOC_CHECK(loaded == executable_.modules.size() && session_.native.size() == loaded, loaded,
               " modules of ", executable_.modules.size(), " are loaded");
    for (const Step& step : executable_.program.steps) {
      if (step.is_compiled()) BYOC_TRY_STATUS(check_types(step).at(cat("step ", step.symbol)));
      BYOC_TRY_STATUS(check_counts(step));
      BYOC_TRY_STATUS(check_sizes(step));
      BYOC_TRY_STATUS(add_kernel(step));
    }
    release_constants();
    if (session_.devices) {
      order_program(*session_.devices, executable_,
                    {session_.options.device_timeout_ms.value_or(default_timeout_ms()),
                     session_.options.cancel});
      session_.argument_uses = find_argument_uses(executable_.program);
    }
    ThreadScope started(session_.options.threads, session_.workers);  // a run starts no thread
    return {};
  }

 private:
  const Plugin* plugin_of(const ExternalModule& module) const {
    return session_.plugins ? session_.plugins->find(module.plugin) : nullptr;
  }

  /// Reports all that is missing at once, before anything is loaded.
  Status check_modules() {
    std::vector<const ExternalModule*> missing;
    for (const ExternalModule& module : executable_.modules) {
      if (is_native(module)) {
        BYOC_TRY_STATUS(check_native(module));
      } else if (plugin_of(module) == nullptr) {
        missing.push_back(&module);
      } else {
        BYOC_TRY_STATUS(check_compat(module, *plugin_of(module)));
      }
    }
    return missing.empty() ? Status() : missing_plugins(missing);
  }

  Status check_native(const ExternalModule& module) const {
    if (session_.options.allow_native) return {};
    return Status(Code::kPermissionDenied, cat("this artifact holds native code, made by plugin \"",
                                               module.plugin, "\", for ", symbols_of(module)))
        .with_slug("native-refused")
        .with_help(kTrustHelp);
  }

  Status missing_plugins(const std::vector<const ExternalModule*>& modules) const {
    std::string message;
    for (const ExternalModule* module : modules) {
      message += cat(message.empty() ? "" : "; ", "no plugin \"", module->plugin, "\" ",
                     module->plugin_version, ", which runs ", symbols_of(*module),
                     reason_of(module->plugin));
    }
    return not_found(std::move(message))
        .with_slug("missing-plugin")
        .with_help("byoc plugins lists what was found and where; --plugin FILE adds one");
  }

  /// Returns the reason for which a plugin of that id was refused.
  std::string reason_of(const std::string& id) const {
    if (!session_.plugins) return "";
    for (const RefusedPlugin& refused : session_.plugins->refused()) {
      if (refused.id == id) return cat(" (", refused.path, " was refused: ", refused.reason, ")");
    }
    return "";
  }

  Status check_compat(const ExternalModule& module, const Plugin& plugin) {
    enum : uint32_t { kUnknown, kNo, kRecompilingIsBetter, kBest };
    auto versions = [&] {
      return cat("plugin \"", module.plugin, "\" ", module.plugin_version, " compiled ",
                 symbols_of(module), ", ", plugin.version(), " is installed");
    };
    BYOC_TRY(uint32_t level, plugin.compat(module.compat));
    // Another version or machine may read constants that were only packed at compile.
    if (level < kBest) BYOC_TRY_STATUS(check_constants(module));
    if (level == kNo) {
      return Status(Code::kStaleArtifact, cat(versions(), ", and cannot run it on this machine"))
          .with_slug("stale-artifact")
          .with_help("compile the model again");
    }
    if (level == kRecompilingIsBetter) {
      session_.warnings.push_back(versions() +
                                  "; it works, compiling the model again would be better");
    } else if (level == kUnknown && module.plugin_version != plugin.version()) {
      session_.warnings.push_back(versions() + ", and has no check of whether it can run it");
    }
    return {};
  }

  Status check_constants(const ExternalModule& module) const {
    for (const auto& buffer : constants_of(executable_, module)) {
      if (!buffer->verify())
        return damaged(data_loss(cat("the constant ", buffer->key(), " is damaged")));
    }
    return {};
  }

  static Status damaged(Status status) {
    return std::move(status)
        .with_slug("artifact-corrupt")
        .with_help("copy the file again, or compile the model again");
  }

  Status load_module(const ExternalModule& module) {
    auto place = [&] { return cat("plugin \"", module.plugin, "\": ", symbols_of(module)); };
    LoadedModule loaded;
    std::optional<NativeModule> native;
    if (is_native(module)) {
      auto result = NativeModule::load(module);
      if (!result.ok()) return std::move(result.status()).at(place());
      native = *std::move(result);
    } else {
      DeviceAddresses on_device;
      if (session_.devices) {
        BYOC_TRY(on_device, upload_constants(*session_.devices, executable_, module));
      }
      auto result = plugin_of(module)->load(module, constants_of(executable_, module),
                                            session_.options.threads, session_.options.cancel,
                                            session_.options.allow_native, on_device);
      if (!result.ok()) return load_failed(std::move(result.status())).at(place());
      loaded = *std::move(result);
      if (!plugin_of(module)->is_isolated() && uses_openmp(plugin_of(module)->path()))
        session_.workers = Workers::kOpenMp;
    }
    session_.loaded.push_back(std::move(loaded));
    session_.native.push_back(std::move(native));
    return {};
  }

  Status load_failed(Status status) const {
    if (status.code() == Code::kDataLoss) return damaged(std::move(status));
    if (status.code() == Code::kUnavailable)
      return std::move(status).with_slug("device-unavailable").with_help(kUnavailableHelp);
    if (session_.options.allow_native || status.code() != Code::kPermissionDenied) return status;
    return std::move(status).with_slug("native-refused").with_help(kTrustHelp);
  }

  /// Compares the types that the step passes with those that its kernel was compiled for. Kernels
  /// use their own types in every run, so that a manifest with others would let them read and write
  /// past the tensors.
  Status check_types(const Step& step) const {
    const bool native = session_.native[step.module].has_value();
    const std::string_view signature =
        native ? session_.native[step.module]->signature(step.function)
               : session_.loaded[step.module].kernels()[step.function].signature;
    if (signature == kAnyTypes) return {};
    if (!signature.empty())
      return check_signature(signature, native ? native_types(step) : plugin_types(step));
    if (session_.options.allow_native) return {};
    return Status(
               Code::kPermissionDenied,
               cat("plugin \"", executable_.modules[step.module].plugin,
                   "\" does not give the types of its arguments, so that they cannot be checked"))
        .with_slug("native-refused")
        .with_help(kTrustHelp);
  }

  /// Checks that a function that is given sizes is compiled by a plugin that reads them.
  Status check_sizes(const Step& step) const {
    if (!step.is_compiled()) return {};
    const ExternalModule& module = executable_.modules[step.module];
    if (module.functions[step.function].sizes.empty()) return {};
    if (is_native(module) || plugin_of(module)->takes_open_sizes()) return {};
    return invalid(cat("the step ", step.symbol, " has open sizes, which its plugin does not take"))
        .with_slug("counted-kernel")
        .with_help("compile the model again");
  }

  Status check_counts(const Step& step) const {
    if (!step.is_compiled()) return check_counted(step, 0, false);
    const ExternalModule& module = executable_.modules[step.module];
    const bool takes_counted = !is_native(module) && plugin_of(module)->takes_counted();
    return check_counted(step, module.functions[step.function].flags, takes_counted);
  }

  static CallTypes plugin_types(const Step& step) {
    const auto outputs = step.types.begin() + step.n_in;
    return {{step.types.begin(), outputs}, {outputs, step.types.end()}};
  }

  /// Returns the types in native order: constants follow the inputs, first those that are kept,
  /// then the packed ones.
  CallTypes native_types(const Step& step) const {
    CallTypes call = plugin_types(step);
    const ExternalFunction& function = executable_.modules[step.module].functions[step.function];
    for (const ExternalConstant& constant : function.constants) {
      if (constant.use == BYOC_CONST_KEPT) call.reads.push_back(constant.type);
    }
    for (const auto& packed : function.packed) {
      const auto bytes = static_cast<int64_t>(executable_.constants.at(packed.first)->size());
      call.reads.push_back({DType::kU8, {bytes}});
    }
    return call;
  }

  Status add_kernel(const Step& step) {
    StepKernel kernel;
    if (step.module == Step::kDeviceCopy) {
      kernel.kind = StepKernel::kCopy;
    } else if (step.module == Step::kHostExtern) {
      kernel.host_extern = extern_slot(step.symbol);
    } else if (session_.native[step.module]) {
      const byoc_native_fn& fn = session_.native[step.module]->function(step.function);
      kernel.kind = StepKernel::kNative;
      kernel.run_native = fn.run;
      BYOC_TRY_STATUS(add_workspace(kernel, fn.workspace_bytes, fn.workspace_align,
                                    session_.native[step.module]->open_workspace(step.function))
                          .at(cat("step ", step.symbol)));
    } else {
      const LoadedModule& loaded = session_.loaded[step.module];
      const LoadedModule::Kernel& facts = loaded.kernels()[step.function];
      kernel.kind = StepKernel::kPlugin;
      kernel.run = loaded.table()->run;
      kernel.kernel = facts.handle;
      if ((facts.flags & BYOC_KERNEL_SERIAL) != 0) kernel.serial = serial_lock(facts.handle);
      if (!facts.device.empty()) {
        if (!facts.open_workspace.empty())
          return unimplemented("its workspace on the device has a size of each run")
              .with_slug("device-sizes")
              .at(cat("step ", step.symbol));
        add_workspace_of(*session_.devices, executable_, step, facts);
      } else {
        BYOC_TRY_STATUS(add_workspace(kernel, facts.workspace_bytes, facts.workspace_align,
                                      facts.open_workspace)
                            .at(cat("step ", step.symbol)));
      }
    }
    session_.kernels.push_back(kernel);
    return {};
  }

  /// Releases constants that kernels have copied or never use, so that they are not held twice; the
  /// program, native code and kernels that keep their constants still read the rest. Memory of the
  /// heap goes back to the system, so that resident memory is memory in use.
  void release_constants() {
    std::unordered_set<ContentKey, KeyHash> read;
    for (const ProgramConstant& constant : executable_.program.constants) read.insert(constant.key);
    for (size_t m = 0; m < executable_.modules.size(); ++m) {
      for (size_t f = 0; f < executable_.modules[m].functions.size(); ++f) {
        const ExternalFunction& function = executable_.modules[m].functions[f];
        for (const auto& packed : function.packed) read.insert(packed.first);
        for (size_t k = 0; k < function.constants.size(); ++k) {
          if (use_of(m, f, k) == BYOC_CONST_KEPT) read.insert(function.constants[k].key);
        }
      }
    }
    std::erase_if(session_.executable.constants,
                  [&](const auto& entry) { return !read.contains(entry.first); });
    ::malloc_trim(0);
  }

  /// Returns the use that the kernel reported at this load; native code reported it at compile.
  uint8_t use_of(size_t module, size_t function, size_t constant) const {
    if (session_.native[module])
      return executable_.modules[module].functions[function].constants[constant].use;
    return session_.loaded[module].kernels()[function].const_use[constant];
  }

  /// Raises the workspace to the maximum over the steps. `by_sizes`: open_workspace of the kernel.
  Status add_workspace(StepKernel& kernel, uint64_t bytes, uint64_t align,
                       std::string_view by_sizes) {
    kernel.workspace_align = align = std::max<uint64_t>(align, 1);
    session_.workspace_align = std::max(session_.workspace_align, align);
    if (!by_sizes.empty()) {
      BYOC_TRY(kernel.workspace_size, session_.sizes.add(std::string(by_sizes)));
      return {};
    }
    kernel.workspace_bytes = bytes;
    session_.workspace_bytes = std::max(session_.workspace_bytes, bytes);
    return {};
  }

  /// Returns the lock of a kernel that is not re-entrant, shared by its steps.
  std::mutex* serial_lock(const byoc_kernel* kernel) {
    std::mutex*& lock = locks_[kernel];
    if (lock == nullptr) lock = &session_.serial.emplace_back();
    return lock;
  }

  uint32_t extern_slot(const std::string& symbol) {
    auto [found, is_new] =
        extern_slots_.emplace(symbol, static_cast<uint32_t>(session_.externs.size()));
    if (is_new) session_.externs.push_back({symbol, nullptr});
    return found->second;
  }

  SessionState& session_;
  const Executable& executable_;
  std::unordered_map<const byoc_kernel*, std::mutex*> locks_;
  std::unordered_map<std::string, uint32_t> extern_slots_;
};

}  // namespace

Status load_modules(SessionState& session) { return ModuleLoader(session).load(); }

}  // namespace byoc
