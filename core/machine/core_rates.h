// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rates of several cores at present. The description of the machine (machine.h) has those of a
// machine that does nothing else.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace byoc::machine {

/// The f32 multiply-adds in registers of one thread, and of several at the same time. Two virtual
/// processors may be one core of the host: their threads then have the rate of one.
struct CoreRates {
  uint32_t threads = 1, cores = 1;                  // cores: those that the threads can use
  double one_gflop_per_s = 0, all_gflop_per_s = 0;  // 0 where the CPU has no such instructions
  /// Returns all threads' rate over one's, at best the number of cores; 0 where rates are 0.
  double speedup() const { return one_gflop_per_s > 0 ? all_gflop_per_s / one_gflop_per_s : 0; }
  /// Returns the least that it is on a machine that leaves the cores to the threads.
  double limit() const { return 0.9 * cores; }
  bool has_cores() const { return one_gflop_per_s == 0 || speedup() >= limit(); }
  /// Time of a value from one processor to another and back; 0 where it is not measured.
  /// Short loops take longer where processors are cores without a common cache.
  double round_trip_ns = 0;
};

/// Measures rates in turns, and round trips of several threads: medians of five runs of some
/// milliseconds each. Cost: about 60 ms.
CoreRates measure_cores(uint32_t threads);

/// Returns the mean time that a value takes from the first processor to the second and back;
/// infinity when the trips take longer than `limit_ns` together.
double round_trip_ns(const std::vector<size_t>& on, uint32_t trips, double limit_ns);

}  // namespace byoc::machine
