// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine as the analytic model of costs has it: peaks, and how far plugins stay from them. The
// peaks are those of core/machine; `byoc calibrate` measures the rest, which is kept as JSON.
#include <string>
#include <vector>

#include "byoc/base/json.h"
#include "core/measure/store/this_machine.h"
#include "core/placement/copies/link.h"
#include "core/placement/work.h"

namespace byoc::placement {

/// The measured time of one op of a plugin; 0 for a plugin that runs none of the ops.
struct Sample {
  std::string plugin, version;
  Work work;
  double ns = 0;
};

struct Machine {
  std::string name = "assumed";  // the processor and its caches, see machine_name
  uint32_t threads = 1;          // workers of a run
  double gflop_per_s = 60;       // f32 multiply-adds
  double cache_bytes = 1 << 20;  // what is larger comes from memory
  double cache_gb_per_s = 60, memory_gb_per_s = 12;
  double reorder_gb_per_s = 10;  // of tensors whose layout changes at a border
  double call_ns = 300;          // of a kernel
  std::vector<Sample> samples;   // in order of measurement
  std::vector<Link> links;       // of devices, as they were measured
  bool is_calibrated() const { return !samples.empty(); }

  /// Returns the least time of the work on this machine, ns.
  double roofline_ns(const Work& work) const;
  /// Returns the time to read or write that much, ns.
  double bytes_ns(double bytes) const;
  /// Returns the predicted time of a plugin: the roofline times the factor of its samples of the
  /// class, interpolated between the two with the nearest rooflines. Without samples of the class
  /// those of all its classes count. A plugin without any is taken for slower than the slowest of
  /// the others, as nothing is known about it; without samples at all the factor is 1.
  double predicted_ns(std::string_view plugin, const Work& work) const;
  /// Returns whether ops of that version of the plugin were timed.
  bool has_times(std::string_view plugin, std::string_view version) const;
  /// Returns whether there are samples of that version of the plugin.
  bool has_samples(std::string_view plugin, std::string_view version) const;
  /// Returns the link of a device of that version of the plugin: as measured, else as assumed.
  Link link_of(const std::string& plugin, const std::string& version, uint32_t device) const;
};

using measure::machine_name;

/// Replaces peaks and bandwidths by those of a description for as many threads.
void use_machine(const byoc_machine& description, Machine& machine);

Json to_json(const Machine& machine);
/// Errors: slug "calibration", with the member at fault.
Result<Machine> machine_from_json(const Json& json);

/// Returns the folder of calibrations, observations and plans.
inline std::string cost_folder() { return measure::default_folder(); }
/// Returns the file of a folder that has the calibration for that number of threads.
std::string calibration_path(const std::string& folder, uint32_t threads);
/// Reads the calibration of this machine. Without a file the assumed machine. Errors: slug
/// "calibration" for a file that cannot be read, or that another machine made.
Result<Machine> read_calibration(const std::string& folder, uint32_t threads);
Status write_calibration(const Machine& machine, const std::string& folder);

}  // namespace byoc::placement
