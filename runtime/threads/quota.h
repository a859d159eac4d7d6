// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processor time that the control groups of this process grant: that of a container.
#include <cstdint>
#include <string>

namespace byoc {

/// Returns how many cores the quota of the control groups suffices for, rounded down, at least 1:
/// 2 for `docker run --cpus 2.5`. UINT32_MAX: there is no quota. The groups are those of
/// `root`/proc/self/cgroup with all that contain them, of version 2 (cpu.max) or 1
/// (cpu.cfs_quota_us). Reads some files.
uint32_t quota_cores(const std::string& root = "");

}  // namespace byoc
