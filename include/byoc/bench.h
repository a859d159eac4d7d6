// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times a model, a region or an op, after comparing the outputs with a reference.
#include <limits>

#include "byoc/model.h"

namespace byoc {

struct BenchOptions {
  /// Numbers of threads, measured in turns: "1,2". "": the option of the request.
  std::string threads;
  /// A second configuration, "compiler=llvm level=1", in turns with the first; "": none.
  std::string versus;
  /// Values of one open size, "N=1,2,4": each is measured, all by the same program; "": none.
  std::string sizes;
  std::string region;  ///< only this one, by its symbol or number; "": all of the model
  uint64_t seed = 0;   ///< of random inputs
  double warmup_s = 0.2;
  /// Seconds of measured runs of each configuration; NaN: 1, with `versus` 5 to 20.
  double min_time_s = std::numeric_limits<double>::quiet_NaN();
  int rounds = -1;        ///< turns of each configuration; -1: 5, with `versus` 20 to 80 blocks
  double tolerance = -1;  ///< of floats, as a share of the largest value; -1: by dtype
  /// The folder of what all tools have measured here, "none", or "": that in the cache folder.
  std::string observations;
  bool no_check = false;   ///< the outputs are not compared
  bool no_peaks = false;   ///< the machine's peaks are not measured
  bool no_native = false;  ///< native code in an artifact is refused

  /// A single op in place of a model, whose path is then empty: "conv2d". Its shapes are those of
  /// the option shape.
  std::string op;
  std::vector<std::string> attrs;    ///< "pads=[1,1,1,1]"
  std::vector<std::string> weights;  ///< names of operands that are constants
};

struct TimedRegion {
  std::string function, run_by;
  double median_ns = 0;  ///< of a run
};

struct TimedConfiguration {
  std::string name;  ///< with a second configuration "A", "B" and "A again"; else ""
  uint32_t threads = 1;
  double median_ns = 0, min_ns = 0;  ///< of a run
  std::vector<TimedRegion> regions;  ///< in the order of the program
};

struct ModelBenchmark {
  std::vector<TimedConfiguration> configurations;
  std::string reference;              ///< whose outputs were compared; "": none were
  std::vector<std::string> warnings;  ///< of importing, loading, plans and plugins
  std::string json;                   ///< what `byoc bench --json` prints
};

/// Times the model, an artifact, or a folder that byoc dump wrote. Errors: slug "usage";
/// "bench-mismatch" for wrong outputs, which are not timed; "interrupted"; those of load_model,
/// build_options, compiling and running.
Result<ModelBenchmark> bench_model(const ModelRequest& request, const BenchOptions& options = {});

}  // namespace byoc
