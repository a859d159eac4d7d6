// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work that `byoc bench` measures, for each kind of MODEL: a model, one of its regions, a
// single op, a compiled model, or a stored region.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "byoc/tune/history.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/measure/single_op.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/model_options.h"
#include "core/tools/model/runnable.h"
#include "core/tools/sizes/open_sizes.h"
#include "runtime/cli/given_shapes.h"
#include "runtime/cli/values.h"

namespace byoc::driver {

struct SubjectRequest {
  ModelOptions model;               // model.model is empty with --op, and model.shapes are the op's
  SingleOp op;                      // op.op is empty without --op
  std::string region;               // empty: all of it
  std::vector<std::string> inputs;  // as --input
  cli::RunSizes sizes;              // of a run of a program that stays open; empty: numbers for all
  uint64_t seed = 0;
  bool no_check = false;
};

/// A program for a number of threads, and the time that compiling it took: nothing when it was
/// compiled already.
struct Compiled {
  Executable executable;
  std::optional<double> compile_ns;
  Report report;                                           // of compiling
  std::vector<tune::HistoryReport::Entry> functions = {};  // those with choices
};

struct Subject {
  std::string model, region;            // for the report
  std::string reference, why_no_check;  // one of them is empty
  std::vector<NamedTensor> input_types;
  std::vector<cli::NamedInput> sources;  // of the model's inputs
  AssumedSizes assumed_sizes;            // of a model with open sizes
  cli::PickedSize size;                  // of an artifact with several
  std::function<Result<Compiled>(uint32_t threads)> compile;
  std::shared_ptr<const PluginSet> plugins;
  std::vector<Tensor> inputs, right;  // right: empty when there is no reference
  std::vector<Limit> limits;          // of `right`, as verify allows them
};

/// Compares the outputs of a session with `right`, one by one; nothing when there is no reference.
/// A negative tolerance means that of `limits`. Errors: slug "usage", when the numbers differ.
Result<std::vector<ComparedValue>> compare_outputs(const Subject& subject,
                                                   const measure::TimedSession& timed,
                                                   double tolerance);

/// Reads the model, makes its inputs and computes the right outputs. `doing` is called before work
/// that takes time; `warn` may be empty. Errors: slug "usage", and those of reading the
/// model, of compiling and of running.
Result<Subject> make_subject(const SubjectRequest& request, const Warn& warn,
                             const std::function<void(const std::string&)>& doing);

/// Returns the request of a second configuration: `text` holds words such as "compiler=llvm",
/// "level=1", "default=json", "target=x86-64-v3", "exact-sums", "plugin-option=llvm.cache=0",
/// "tuning-log=net.jsonl" and "model=other.byoc" that replace the first one's. `threads` receives
/// that of "threads=2". Errors, which name `flag`: slug "usage", with the word.
Result<SubjectRequest> other_request(const SubjectRequest& request, const std::string& text,
                                     uint32_t& threads, const std::string& flag = "--vs");

}  // namespace byoc::driver
