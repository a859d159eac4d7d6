// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/state_steps.h"

#include <map>

#include "core/tools/model/execute.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/verify/output_limits.h"
#include "runtime/session/repeated_runs.h"

namespace byoc::driver {
namespace {

using Values = std::map<std::string, Tensor>;  // by name

class Steps {
 public:
  explicit Steps(const StateSteps& request) : request_(request) {}

  Result<ComparedSteps> run() {
    BYOC_TRY(Executable ours, build(request_.model, request_.build));
    BYOC_TRY(auto right, build(request_.stateless, all_by(request_.reference, request_.build)));
    const uint32_t threads = request_.build.threads;
    BYOC_TRY(ours_, Session::load(std::move(ours), request_.build.plugins, {.threads = threads}));
    BYOC_TRY(right_, Session::load(std::move(right), request_.build.plugins, {.threads = threads}));
    BYOC_TRY(auto context, ours_->make_context());
    for (uint32_t k = 0; k < request_.steps; ++k) BYOC_TRY_STATUS(compare(*context, k));
    return std::move(out_);
  }

 private:
  /// Reads the states by the names of their inputs, or of their outputs.
  Result<Values> states(const Context& context, std::string StateInfo::*name) const {
    Values out;
    for (const StateInfo& state : ours_->states()) {
      BYOC_TRY(Tensor tensor, Tensor::make(state.type));
      BYOC_TRY_STATUS(ours_->get_state(context, state.input, tensor.view()));
      out.emplace(state.*name, std::move(tensor));
    }
    return out;
  }

  Status compare(Context& context, uint32_t step) {
    BYOC_TRY(const Values before, states(context, &StateInfo::input));
    BYOC_TRY(std::vector<Tensor> inputs, reference_inputs(before));
    BYOC_TRY(std::vector<Tensor> given, given_inputs());
    BYOC_TRY(std::vector<Tensor> outputs, execute(*ours_, context, given, runs_));
    if (!runs_.used_up().ok()) {
      BYOC_TRY_STATUS(check_used_up(inputs, step));
      out_.began_again.push_back(step + 1);
      BYOC_TRY(const Values zeros, zero_states());
      BYOC_TRY(inputs, reference_inputs(zeros));
    }
    BYOC_TRY(Values got, states(context, &StateInfo::output));
    for (size_t k = 0; k < outputs.size(); ++k)
      got.insert_or_assign(ours_->outputs()[k].name, std::move(outputs[k]));
    BYOC_TRY(auto fresh, right_->make_context());
    BYOC_TRY(const std::vector<Tensor> right, execute(*right_, *fresh, inputs));
    BYOC_TRY(const std::vector<Limit> limits,
             output_limits(request_.stateless, request_.build, {request_.reference, inputs}, right,
                           request_.tolerance));
    for (size_t k = 0; k < right.size(); ++k) {
      const std::string& name = right_->outputs()[k].name;
      out_.values.push_back(
          compare_value(cat(name, ", run ", step + 1), got.at(name), right[k], limits[k]));
    }
    return {};
  }

  /// States are used up only when the reference cannot run on them either.
  Status check_used_up(std::span<const Tensor> inputs, uint32_t step) const {
    BYOC_TRY(auto fresh, right_->make_context());
    if (!execute(*right_, *fresh, inputs).ok()) return {};
    return Status(runs_.used_up())
        .at(cat("run ", step + 1, " with states, which ", request_.reference, " computes"));
  }

  Result<Values> zero_states() const {
    Values out;
    for (const StateInfo& state : ours_->states()) {
      BYOC_TRY(Tensor tensor, Tensor::make(state.type));
      out.emplace(state.input, std::move(tensor));
    }
    return out;
  }

  Result<std::vector<Tensor>> given_inputs() const {
    std::vector<Tensor> out;
    for (const NamedTensor& wanted : ours_->inputs()) {
      for (size_t k = 0; k < right_->inputs().size(); ++k) {
        if (right_->inputs()[k].name != wanted.name) continue;
        BYOC_TRY(Tensor copy, request_.inputs[k].copy());
        out.push_back(std::move(copy));
      }
    }
    return out;
  }

  Result<std::vector<Tensor>> reference_inputs(const Values& states) const {
    std::vector<Tensor> out;
    for (size_t k = 0; k < right_->inputs().size(); ++k) {
      const auto state = states.find(right_->inputs()[k].name);
      const Tensor& from = state == states.end() ? request_.inputs[k] : state->second;
      BYOC_TRY(Tensor copy, from.copy());
      out.push_back(std::move(copy));
    }
    return out;
  }

  const StateSteps& request_;
  std::unique_ptr<Session> ours_, right_;
  RepeatedRuns runs_;  // of ours
  ComparedSteps out_;
};

}  // namespace

Result<ComparedSteps> compare_steps(const StateSteps& request) { return Steps(request).run(); }

}  // namespace byoc::driver
