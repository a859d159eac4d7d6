// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of one step of a program when it runs again and again.
#include <functional>

#include "byoc/compile.h"
#include "core/measure/statistic.h"

namespace byoc::driver {

struct StepTime {
  std::vector<double> samples_ns;
  double reorder_ns = 0;  // of them, for changes of layout beside the kernel's work
  double ns() const { return measure::time_of(samples_ns); }
};

/// Returns random floats; integers are 0, which is an index of every tensor with elements.
Result<std::vector<Tensor>> values_for(const std::vector<NamedTensor>& types);

/// Loads a program of the step, which is no copy, and samples it for `min_time_s` seconds. The time
/// of a step of a device is without the copies.
/// `beat` is called between runs. Errors: those of loading and running.
Result<StepTime> time_step(const Executable& executable, size_t step, const BuildOptions& build,
                           double min_time_s, const std::function<void()>& beat);

}  // namespace byoc::driver
