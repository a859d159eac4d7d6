// SPDX-License-Identifier: Apache-2.0
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>

#include "byoc/base/file.h"
#include "core/tools/doctor/examination.h"

namespace byoc::driver {
namespace {

constexpr const char* kTargets[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};

/// Returns the processor's name from /proc/cpuinfo, "" where it has none.
std::string processor_name() {
  auto text = read_file("/proc/cpuinfo");
  if (!text.ok()) return "";
  size_t at = text->find("model name");
  if (at == text->npos) return "";
  size_t end = std::min(text->find('\n', at), text->size());
  size_t begin = std::min(text->find(": ", at), end);
  return begin == end ? "" : text->substr(begin + 2, end - begin - 2);
}

uint32_t cores_of_process() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

AllowedTarget compared(const std::string& name, const te::Target& native) {
  auto wanted = te::parse_target(name);
  if (!wanted.ok()) return {name, false, wanted.status().message()};
  if (wanted->arch != native.arch) return {name, false, cat("this machine is ", native.arch)};
  std::string missing;
  for (const std::string& feature : wanted->features) {
    if (!native.has(feature)) missing += cat(missing.empty() ? "" : " ", feature);
  }
  return {name, missing.empty(), missing.empty() ? "" : cat("the processor lacks ", missing)};
}

}  // namespace

Machine examine_machine() {
  Machine out;
  if (auto native = te::parse_target("native"); native.ok()) out.native = *native;
  out.processor = processor_name();
  out.cores = cores_of_process();
  utsname system{};
  if (uname(&system) == 0) out.system = cat(system.sysname, " ", system.release);
  out.libc = cat("glibc ", gnu_get_libc_version());
  for (const char* name : kTargets) out.targets.push_back(compared(name, out.native));
  return out;
}

}  // namespace byoc::driver
