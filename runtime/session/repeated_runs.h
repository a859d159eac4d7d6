// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs that are measured or compared: many of one Context, with the same inputs.
#include "byoc/runtime/session.h"

namespace byoc {

/// Counts the runs of a Context. States go on from run to run until they are used up, as a counter
/// beyond the rows of a table: then they begin at zeros again.
class RepeatedRuns {
 public:
  /// Errors: those of a run on zeros.
  Status run(const Session& session, Context& context, std::span<const DLTensor> inputs,
             std::span<DLTensor> outputs) {
    Status status = session.run(context, inputs, outputs);
    used_up_ = {};
    if (!status.ok() && since_zeros_ > 0) {
      BYOC_TRY_STATUS(session.reset_states(context));
      since_zeros_ = 0;
      used_up_ = std::move(status);
      status = session.run(context, inputs, outputs);
    }
    if (status.ok() && !session.states().empty()) ++since_zeros_;
    return status;
  }

  /// Returns the error for which the states began at zeros again in the last run; else ok.
  const Status& used_up() const { return used_up_; }

 private:
  Status used_up_;
  uint64_t since_zeros_ = 0;  // runs; 0 for programs without states
};

}  // namespace byoc
