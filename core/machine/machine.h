// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a machine that everything reads which estimates times: peaks, caches, and the
// costs of parallel loops. Kept as JSON.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "byoc/base/json.h"
#include "byoc/plugin/abi.h"

namespace byoc::machine {

/// A rate, in 10^9 per second: of one thread, and of one thread per core at the same time.
struct Rate {
  double one = 0, all = 0;
};

/// A cache; or the memory, which is the last level and has kMemory bytes.
struct Level {
  static constexpr uint64_t kMemory = UINT64_MAX;
  uint64_t bytes = kMemory;
  uint64_t cores = 1;  // that share it
  Rate read;           // of bytes, all of them
  Rate fill;           // of bytes, as a word of each line is read
};

struct Machine {
  std::string processor = "assumed";  // measure::machine_name()
  uint32_t cores = 1;                 // that threads of a process can use
  Rate f32, f16, i8;                  // multiplications and additions; 0 without instructions
  std::vector<Level> levels;          // from the first cache to the memory
  double loop_ns = 0;                 // starting a parallel loop on all cores, until its end
  double barrier_ns = 0;              // of all cores inside of a loop
  double round_trip_ns = 0;           // of a line between two cores; 0 with one core
  bool is_busy = false;               // measured beside other work: worth measuring again
  std::string origin = "assumed";     // where the numbers are from, for users; in no file
};

/// Returns a machine of round numbers, for processors that cannot be measured.
Machine assumed_machine();

Json to_json(const Machine& machine);
/// Errors: kInvalidArgument, slug "machine", with the member at fault.
Result<Machine> machine_from_json(const Json& json);
/// Reads a file. Errors: those of reading and of machine_from_json, with the path.
Result<Machine> read_machine(const std::string& path);

/// Returns a rate with that many threads: between one and all in proportion.
double rate_at(const Machine& machine, Rate rate, uint32_t threads);

/// Returns what plugins get: the rates for `threads` workers, 0 for all cores, and the costs of
/// loops in proportion to the workers. Lives by itself.
std::shared_ptr<const byoc_machine> view_of(const Machine& machine, uint32_t threads);

/// The roofs of a roofline, of all threads together.
struct Peaks {
  uint32_t threads = 1;
  double gflop_per_s = 0;  // f32; 0 where the processor has no fused multiply-adds
  double gb_per_s = 0;     // reading memory that no cache holds; 1 GB is 10^9 bytes
};
/// Returns the roofs for so many threads, 0 for all cores.
Peaks peaks_of(const Machine& machine, uint32_t threads);

}  // namespace byoc::machine
