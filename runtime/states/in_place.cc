// SPDX-License-Identifier: Apache-2.0
#include "runtime/states/in_place.h"

#include <algorithm>

namespace byoc {
namespace {

/// The uses of one state, by the numbers of steps.
struct Uses {
  size_t writer = kNoWriter;
  size_t last_reader = 0, reads = 0;
  size_t input = 0, result = 0;  // places among the writer's inputs and outputs
  bool is_copied = false;        // a copy reads the old value or writes the new one
};

class Finder {
 public:
  explicit Finder(const Executable& executable)
      : executable_(executable),
        program_(executable.program),
        uses_(executable.program.states.size()) {}

  std::vector<size_t> run() {
    std::vector<size_t> writers(uses_.size(), kNoWriter);
    if (uses_.empty() || !program_.code.empty()) return writers;
    for (size_t k = 0; k < program_.steps.size(); ++k) add_step(k);
    for (const Copy& copy : program_.copies) {
      if (Uses* read = state_of(copy.from, Place::kInput)) read->is_copied = true;
      if (copy.output >= program_.run_outputs())
        uses_[copy.output - program_.run_outputs()].is_copied = true;
    }
    for (size_t k = 0; k < uses_.size(); ++k) {
      if (is_in_place(uses_[k])) writers[k] = uses_[k].writer;
    }
    return writers;
  }

 private:
  /// Returns the state whose old value (kInput) or new value (kOutput) is in that place, or null.
  Uses* state_of(const Place& place, Place::Kind kind) {
    const size_t first = kind == Place::kInput ? program_.run_inputs() : program_.run_outputs();
    return place.kind == kind && place.index >= first ? &uses_[place.index - first] : nullptr;
  }

  void add_step(size_t k) {
    const Step& step = program_.steps[k];
    for (size_t a = step.n_in; a < step.args.size(); ++a) {
      if (Uses* written = state_of(step.args[a], Place::kOutput)) {
        written->writer = k;
        written->result = a - step.n_in;
      }
    }
    for (size_t a = 0; a < step.n_in; ++a) {
      Uses* read = state_of(step.args[a], Place::kInput);
      if (read == nullptr) continue;
      read->reads = read->reads != 0 && read->last_reader == k ? read->reads + 1 : 1;
      read->last_reader = k;
      read->input = a;
    }
  }

  bool is_in_place(const Uses& uses) const {
    if (uses.writer == kNoWriter || uses.is_copied || uses.reads != 1 ||
        uses.last_reader != uses.writer)
      return false;
    const Step& step = program_.steps[uses.writer];
    if (!step.is_compiled()) return false;
    const auto& pairs = executable_.modules[step.module].functions[step.function].inplace;
    const std::pair pair(static_cast<uint32_t>(uses.input), static_cast<uint32_t>(uses.result));
    return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
  }

  const Executable& executable_;
  const Program& program_;
  std::vector<Uses> uses_;
};

}  // namespace

std::vector<size_t> writers_of_states(const Executable& executable) {
  return Finder(executable).run();
}

}  // namespace byoc
