// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "byoc/plugin/sdk/error.h"

namespace byoc::ort_plugin {
namespace {

constexpr const char* kCure =
    "install it, as with `pip install onnxruntime`, and name the folder of the package in "
    "BYOC_ONNXRUNTIME or --plugin-option onnxruntime.library=FOLDER; `python3 -c \"import "
    "onnxruntime; print(onnxruntime.__path__[0])\"` prints it";

[[noreturn]] void fail(const std::string& message) { throw sdk::Error(BYOC_UNAVAILABLE, message); }

/// Returns the first file of a folder that is the library; "" when there is none. The wheel has its
/// version in the name, and other libraries beside it.
std::string library_in(const std::filesystem::path& folder) {
  std::string found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libonnxruntime.so") && (found.empty() || entry.path() < found))
      found = entry.path();
  }
  return found;
}

/// Returns what to try, in order. Names without a slash are looked up by the loader.
std::vector<std::string> candidates_of(const std::string& place) {
  if (place.empty()) return {"libonnxruntime.so.1", "libonnxruntime.so"};
  std::error_code error;
  if (!std::filesystem::is_directory(place, error))
    return {std::filesystem::absolute(place, error).string()};
  std::vector<std::string> out;
  for (const std::string& folder : {place, place + "/capi"}) {
    if (std::string file = library_in(std::filesystem::absolute(folder, error)); !file.empty())
      out.push_back(std::move(file));
  }
  return out;
}

/// Opens the first library that can be opened, for as long as the process lives.
void* open_library(const std::string& place) {
  const std::vector<std::string> candidates = candidates_of(place);
  if (candidates.empty()) fail("no libonnxruntime.so is in " + place + "; " + kCure);
  std::string reasons;
  for (const std::string& candidate : candidates) {
    if (void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* reason = ::dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason ? reason : candidate);
  }
  fail("ONNX Runtime is not found (" + reasons + "); " + kCure);
}

ort::Calls calls_of(void* library) {
  using GetBase = const ort::OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(::dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) fail(std::string("the library is not ONNX Runtime; ") + kCure);
  Result<ort::Calls> calls = ort::read_calls(*get_base());
  if (!calls.ok()) fail(calls.status().message() + "; " + calls.status().help());
  return *std::move(calls);
}

constexpr uint32_t kFirstThatReports = 29;  // 1.29 on Linux

/// Refuses a library that would send data about sessions to its makers without the user's decision.
/// It reads the variable when its environment is made, and a plugin sets none.
void check_reporting(const ort::Calls& calls) {
  constexpr const char* kVariable = "ORT_DISABLE_TELEMETRY";
  if (calls.runtime_minor < kFirstThatReports || ::getenv(kVariable) != nullptr) return;
  fail("ONNX Runtime " + calls.runtime_version + " sends data about its use to its makers unless " +
       kVariable + "=1 is set: set it, or set it to 0 to allow that");
}

}  // namespace

void check(const ort::Calls& calls, ort::OrtStatus* answer) {
  if (answer == nullptr) return;
  const bool is_argument = calls.GetErrorCode(answer) == ort::kOrtInvalidArgument;
  throw sdk::Error(is_argument ? BYOC_INVALID_ARGUMENT : BYOC_INTERNAL,
                   "ONNX Runtime: " + ort::take(calls, answer).message());
}

Library::Library(const std::string& place) : calls_(calls_of(open_library(place))) {
  check_reporting(calls_);
  check(calls_, calls_.CreateEnv(ort::kOrtFatal, "byoc", &environment_));
  ort::OrtStatus* answer =
      calls_.CreateCpuMemoryInfo(ort::kOrtDeviceAllocator, ort::kOrtDefaultMemory, &memory_);
  if (answer != nullptr) calls_.ReleaseEnv(environment_);
  check(calls_, answer);
}

Library::~Library() {
  calls_.ReleaseMemoryInfo(memory_);
  calls_.ReleaseEnv(environment_);
}

}  // namespace byoc::ort_plugin
