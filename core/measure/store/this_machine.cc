// SPDX-License-Identifier: Apache-2.0
#include "core/measure/store/this_machine.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "byoc/base/buffer.h"
#include "byoc/base/file.h"
#include "byoc/te/target.h"
#include "byoc/tune/shipped.h"

namespace byoc::measure {
namespace {

std::string hash_of_file(const std::string& path) {
  constexpr size_t kDigits = 16;
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  return file.ok() ? "+" + content_key((*file)->bytes()).hex().substr(0, kDigits) : "";
}

/// Returns the value of the first line "NAME : VALUE" of /proc/cpuinfo; "" without one.
std::string cpuinfo(const std::string& text, std::string_view name) {
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t colon = text.find(": ", at);
    if ((at == 0 || text[at - 1] == '\n') && colon < end)
      return text.substr(colon + 2, end - colon - 2);
  }
  return "";
}

}  // namespace

std::string machine_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, model, flags;
  while (std::getline(info, line) && (model.empty() || flags.empty())) {
    const size_t colon = line.find(':');
    if (colon == line.npos || colon + 2 > line.size()) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) model = value;
    if (line.starts_with("cpu family") || line.starts_with("model\t")) model += " " + value;
    if (line.starts_with("flags") || line.starts_with("Features")) flags = " " + value + " ";
  }
  std::string isa;
  for (const char* bit : {"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16",
                          "amx_tile", "asimd", "sve"}) {
    if (flags.find(cat(" ", bit, " ")) != flags.npos) isa += cat(isa.empty() ? "" : ",", bit);
  }
  std::string caches;
  for (int k = 0; k < 4; ++k) {
    std::ifstream size(cat("/sys/devices/system/cpu/cpu0/cache/index", k, "/size"));
    if (std::getline(size, line)) caches += cat(caches.empty() ? "" : ",", line);
  }
  return cat(model.empty() ? "unknown" : model, "; ", isa, "; ", caches);
}

std::string machine_fingerprint() {
  const auto file = read_file("/proc/cpuinfo");
  const std::string text = file.ok() ? *file : "";
  const std::string name = cpuinfo(text, "model name"), microcode = cpuinfo(text, "microcode");
  std::string out = name.empty() ? "unnamed processor" : name;
  if (!tune::processor_kind().empty()) out += cat(", ", tune::processor_kind());
  if (!microcode.empty()) out += cat(", microcode ", microcode);
  out += cat(", ", std::max(1U, std::thread::hardware_concurrency()), " processors, caches");
  for (int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    out += cat(" ", std::max(0L, sysconf(level)) >> 10, "K");
  return out;
}

std::string version_and_build(const Plugin& plugin) {
  static std::mutex mutex;
  static std::map<std::string, std::string> hashes;  // by path
  std::lock_guard lock(mutex);
  auto [at, is_new] = hashes.try_emplace(plugin.path());
  if (is_new) at->second = hash_of_file(plugin.path());
  return plugin.version() + at->second;
}

std::string version_and_options(const Plugin& plugin) {
  const std::string version = version_and_build(plugin);
  return plugin.options_json() == "{}" ? version : cat(version, " ", plugin.options_json());
}

Result<std::string> code_options(const std::string& target_json, bool exact_sums) {
  const auto canonical = [](std::string_view text) -> Result<std::string> {
    BYOC_TRY(te::Target target, te::parse_target(text));
    target.threads = 1;
    return te::print(target);
  };
  BYOC_TRY(const std::string native, canonical("{}"));
  BYOC_TRY(const std::string target, canonical(target_json));
  if (target == native) return std::string(exact_sums ? "exact-sums" : "");
  return cat(exact_sums ? "exact-sums " : "", target);
}

std::string default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0)
    return cat(cache, "/byoc/placement");
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != 0 ? cat(home, "/.cache/byoc/placement") : "";
}

}  // namespace byoc::measure
