// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/quota.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace byoc {
namespace {

constexpr uint32_t kNoQuota = UINT32_MAX;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the cores of "200000 100000", the microseconds of all cores in each period, or of "max".
uint32_t cores_of(const std::string& quota, const std::string& period) {
  const double us = std::strtod(quota.c_str(), nullptr);
  const double per = std::strtod(period.c_str(), nullptr);
  if (!(us > 0) || !(per > 0)) return kNoQuota;  // "max", -1, or no such file
  return static_cast<uint32_t>(std::clamp(us / per, 1.0, double{kNoQuota - 1}));
}

uint32_t cores_of_group(const std::string& folder, bool is_second) {
  if (!is_second)
    return cores_of(first_line(folder + "/cpu.cfs_quota_us"),
                    first_line(folder + "/cpu.cfs_period_us"));
  std::string quota, period;
  std::istringstream(first_line(folder + "/cpu.max")) >> quota >> period;
  return cores_of(quota, period);
}

/// Returns the least of a group and of those that contain it, up to the folder `top`.
uint32_t cores_up_to(const std::string& top, std::string group, bool is_second) {
  uint32_t out = cores_of_group(top, is_second);
  while (group.size() > 1) {
    out = std::min(out, cores_of_group(top + group, is_second));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  return out;
}

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

}  // namespace

uint32_t quota_cores(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  uint32_t out = kNoQuota;
  for (std::string line; std::getline(file, line);) {  // "0::/a/b", or "4:cpu,cpuacct:/a/b"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string list = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1), top = root + "/sys/fs/cgroup";
    if (list.empty()) out = std::min(out, cores_up_to(top, group, true));
    else if (has_word(list, "cpu"))
      out = std::min({out, cores_up_to(top + "/" + list, group, false),
                      cores_up_to(top + "/cpu", group, false)});
  }
  return out;
}

}  // namespace byoc
