// SPDX-License-Identifier: Apache-2.0
#include "byoc/tune/shipped.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/status.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace byoc::tune {
namespace fs = std::filesystem;
namespace {

#if defined(__x86_64__)
// Family and model are computed as the manuals of Intel and AMD describe for cpuid's leaf 1.
std::string read_kind() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return "";
  std::string vendor;
  for (unsigned word : {b, d, c}) {
    for (int k = 0; k < 4; ++k) vendor += static_cast<char>(word >> (8 * k) & 0xff);
  }
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return "";
  const unsigned base = a >> 8 & 0xf;
  const unsigned family = base == 0xf ? base + (a >> 20 & 0xff) : base;
  const bool has_long_model = base == 0x6 || base == 0xf;
  const unsigned model = (a >> 4 & 0xf) | (has_long_model ? (a >> 16 & 0xf) << 4 : 0);
  if (vendor == "AuthenticAMD") return cat("amd-family", family);
  const std::string maker = vendor == "GenuineIntel" ? "intel" : "x86";
  return cat(maker, "-family", family, "-model", model);
}
#else
// Returns the number after "0x" in the first line that begins with `name`.
std::string hexadecimal(const std::string& text, const std::string& name) {
  const size_t line = text.find(name), at = text.find("0x", std::min(line, text.size()));
  if (line == text.npos || at == text.npos) return "";
  return text.substr(at + 2, text.find('\n', at) - at - 2);
}

std::string read_kind() {
  const auto facts = read_file("/proc/cpuinfo");
  if (!facts.ok()) return "";
  const std::string maker = hexadecimal(*facts, "CPU implementer");
  const std::string part = hexadecimal(*facts, "CPU part");
  return maker.empty() || part.empty() ? "" : cat("arm-", maker, "-", part);
}
#endif

std::vector<std::string> folders() {
  std::vector<std::string> out;
  if (!env_is_set("BYOC_TUNING_PATH")) {
    // Beside the program, and beside libbyoc.so in a program of another language.
    std::error_code error;
    Dl_info own{};
    std::vector<fs::path> files{fs::read_symlink("/proc/self/exe", error)};
    if (::dladdr(reinterpret_cast<void*>(&processor_kind), &own) != 0)
      files.push_back(fs::canonical(own.dli_fname, error));
    for (const fs::path& file : files) {
      const fs::path folder = file.parent_path().parent_path() / "share/byoc/tuning";
      if (!file.empty() && std::ranges::find(out, folder.string()) == out.end())
        out.push_back(folder.string());
    }
    return out;
  }
  const std::string text = env_value("BYOC_TUNING_PATH");
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::string processor_kind() {
  static const std::string kind = read_kind();
  return kind;
}

std::optional<std::string> shipped_log() {
  if (processor_kind().empty()) return std::nullopt;
  for (const std::string& folder : folders()) {
    const std::string file = cat(folder, "/", processor_kind(), ".jsonl");
    std::error_code error;
    if (fs::is_regular_file(file, error)) return file;
  }
  return std::nullopt;
}

}  // namespace byoc::tune
