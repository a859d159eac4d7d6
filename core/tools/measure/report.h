// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of `byoc bench`, as text and as JSON.
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/machine/core_rates.h"
#include "core/machine/machine.h"
#include "core/measure/session/timed_session.h"
#include "core/process/machine_load.h"
#include "core/tools/model/compare.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/given_shapes.h"
#include "runtime/cli/memory.h"
#include "runtime/cli/output.h"
#include "runtime/cli/values.h"

namespace byoc::driver {

using machine::CoreRates;
using machine::Peaks;

inline constexpr std::string_view kControl = "A again";

/// A configuration and its measurements.
struct Benched {
  uint32_t threads = 1;
  std::string name = {};             // with --vs: "A", "B" and kControl; with --sizes "N=4"
  int64_t size = 0;                  // with --sizes: the number of the size
  std::optional<double> compile_ns;  // empty for an artifact, which is compiled already
  double load_ns = 0;
  cli::MemoryUse memory;  // of the session and of the process, before anything was timed
  std::unique_ptr<measure::TimedSession> timed;
  std::vector<ComparedValue> outputs;  // empty when nothing was compared
  std::optional<Peaks> peaks;          // of the machine with as many threads
};

/// The comparison of two configurations that took turns.
struct Versus {
  std::string configuration;  // of B, as the user gave it
  size_t blocks = 0;
  measure::Ratio ratio, control;  // B against A, and A against itself
  /// Before and after, with the threads of the configuration that has more; none with one thread.
  std::vector<CoreRates> cores;
};

struct BenchReport {
  std::string model, region;  // region empty: all of the model
  std::vector<NamedTensor> input_types;
  std::vector<cli::NamedInput> inputs;
  AssumedSizes assumed_sizes;
  cli::PickedSize size;             // of an artifact with several
  std::string options_json = "{}";  // given_json of the first configuration
  std::string reference;            // the plugin whose outputs were compared; empty: none
  std::string why_no_check;         // the reason why `reference` is empty
  measure::TimingPlan plan;
  std::vector<Benched> all;
  std::optional<Versus> versus;
  std::string sizes;            // with --sizes: the name of the size that differs
  uint64_t peak_rss_bytes = 0;  // of the process, until everything was measured
  process::OtherLoad load;      // of the machine, while it was measured
};

/// Returns the flops of one run; nothing when the host runs a step, whose flops are not known.
std::optional<double> flops_of(const Session& session);
/// Returns the size's number per second, such as images; of a configuration of --sizes.
double rate_of(const Benched& benched);
/// Returns the quantity that samples are, for people.
std::string timed_what(const measure::TimingPlan& plan);
/// Returns a warning about other work on the machine, "" on a quiet one.
std::string load_text(const process::OtherLoad& load);
std::string bench_text(const BenchReport& report, bool all_regions);
/// Returns the report, with the members "context" and "benchmarks" of Google Benchmark's files, so
/// that its compare.py reads it: an entry per turn and configuration, and one per region.
nlohmann::ordered_json bench_json(const BenchReport& report);

}  // namespace byoc::driver
