// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/env.h"

#include <cstdlib>

#include "byoc/base/check.h"

namespace byoc {
namespace {

std::string absolute_value(const char* name) {
  const char* value = ::secure_getenv(name);
  return value && value[0] == '/' ? value : "";
}

constexpr EnvVariable kVariables[] = {
    {"BYOC_PLUGIN_PATH", "",
     "folders with plugins, colon-separated; ignored when the process is set-id"},
    {"BYOC_TRY_PLUGINS", "1",
     "0: code of plugins is not tried in a child process before it is loaded; set for the workers "
     "of tune"},
    {"BYOC_ISOLATE", "0",
     "1: plugins run in processes of their own, as with --isolate; or the ids of those that do, "
     "comma-separated"},
    {"BYOC_KEEP_COMPILES", "1",
     "0: functions that plugins compiled are neither kept in the cache folder nor taken from it"},
    {"BYOC_WEIGHTS", "",
     "folders with the models of artifacts without weights, colon-separated; after the folder of "
     "the artifact"},
    {"BYOC_ONNXRUNTIME", "",
     "the library of ONNX Runtime, its folder, or that of the Python package, for the plugin "
     "onnxruntime; ignored when the process is set-id"},
    {"BYOC_TUNING_PATH", "",
     "folders with logs of tuning, KIND.jsonl, that commands use without --tuning-log, "
     "colon-separated; empty: none; unset: <prefix>/share/byoc/tuning"},
    {"BYOC_MACHINE", "",
     "file with the description of the machine that times are estimated for, in the form of "
     "share/byoc/machines; unset: shipped, known from before, or measured"},
    {"BYOC_PIN", "0",
     "1: the workers of parallel loops, and the thread that starts them, are bound to a core each"},
    {"BYOC_ALL_WORKERS", "0",
     "1, for tests of byoc: in a parallel loop each worker does its own share, which others wait "
     "for, so that short loops are shared, too"},
    {"BYOC_DEVICE_TIMEOUT_MS", "60000",
     "the longest wait of a run for a device, in ms; 0: no limit"},
    {"BYOC_DUMP", "", "folder for the text of the module after every pass that changed something"},
    {"BYOC_TIME", "0", "1: print the time of every pass"},
    {"BYOC_SKIP", "", "passes to leave out, comma-separated"},
    {"BYOC_STOP_AFTER", "", "the pass after which the pipeline stops"},
    {"BYOC_BENCH_MODELS", "", "folder of networks for bench_session and bench_subgraphs"},
    {"BYOC_CANARY", "0",
     "1: memory between the steps of a run is NaN before the first, so that reading what no step "
     "wrote shows; set by verify, test-onnx and replay"},
    {"BYOC_GUARD", "0",
     "1: kernels run on copies of their tensors between pages that cannot be accessed, so that an "
     "access outside shows; verify, test-onnx and replay do so unless it is 0"},
    {"BYOC_TRUSTED_KEYS", "",
     "public keys of minisign, or their files, colon-separated; set: artifacts and plugins are "
     "loaded only with a signature FILE.minisig by one of them"},
    {"BYOC_BUG", "1",
     "0: a defect of byoc leaves no folder byoc-bug-HASH; weights: that folder also has the "
     "constants of the module"},
    {"BYOC_VERIFY_PASSES", "0", "1: the module is verified after every pass"},
    {"BYOC_PLANT", "",
     "for tests of byoc: KIND=PASS breaks it in a pass; the kinds are check, crash, module and "
     "throw"},
    {"BYOC_LOG", "", "what plugins and passes may print: error, warning, info, debug or trace"},
};
}  // namespace

std::span<const EnvVariable> env_variables() { return kVariables; }

std::string env_value(std::string_view name) {
  for (const EnvVariable& variable : kVariables) {
    if (variable.name != name) continue;
    const char* value = std::getenv(std::string(name).c_str());
    return value ? value : std::string(variable.fallback);
  }
  BYOC_CHECK(false, "no environment variable ", name, " in the table");
  return "";
}

bool env_is_set(std::string_view name) { return std::getenv(std::string(name).c_str()) != nullptr; }

std::string user_cache_folder() {
  if (std::string cache = absolute_value("XDG_CACHE_HOME"); !cache.empty()) return cache + "/byoc";
  std::string home = absolute_value("HOME");
  return home.empty() ? "" : home + "/.cache/byoc";
}

}  // namespace byoc
