// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes one page that shows a model: graph, reasons, times and memory.
#include "byoc/model.h"

namespace byoc {

struct ReportOptions {
  std::string page_file;            ///< the page goes there, .html; "": none is written
  std::vector<std::string> versus;  ///< further configurations, "compiler=llvm level=1"
  std::string costs;                ///< a file of `byoc explain --placement --json`; "": estimates
  uint64_t seed = 0;                ///< of random inputs
  double warmup_s = 0.2, min_time_s = 1;  ///< for each configuration
  uint32_t rounds = 5;                    ///< turns of the configurations
  double tolerance = -1;  ///< of floats, as a share of the largest value; -1: by dtype
  bool no_check = false;  ///< the outputs are not compared
  bool no_run = false;    ///< graph and reasons, no times
};

struct ModelReport {
  std::string page;             ///< HTML, which a browser shows without network
  bool is_interrupted = false;  ///< the cancellation ended it; the page has what was done
  std::vector<std::string> warnings;
  std::string json;  ///< what `byoc report --json` prints
};

/// Explains, compiles and times the configurations. Errors: slug "usage", "placement", and
/// "interrupted" when nothing was explained; those of load_model, build_options, running, writing.
Result<ModelReport> report_model(const ModelRequest& request, const ReportOptions& options = {});

}  // namespace byoc
