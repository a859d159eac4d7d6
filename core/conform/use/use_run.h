// SPDX-License-Identifier: Apache-2.0
#pragma once
// One model of many functions, compiled, loaded and run as programs do it.
#include "byoc/runtime/session.h"
#include "core/conform/context/reference.h"
#include "core/conform/use/use_samples.h"

namespace byoc::conform {

/// Compiles the model by the plugin alone, for runs of `threads` workers.
Result<Executable> build_model(const LoadedPlugin& tested, const UseSample& sample,
                               uint32_t threads);

/// Returns values for the parameters.
Buffers values_of(const UseSample& sample, uint64_t seed);

/// Runs the model in a Context of its own; returns the outputs.
Result<Buffers> run_model(const Session& session, const Buffers& inputs);

/// Returns what is wrong with a result, "" when nothing is.
std::string difference(const TensorType& type, const Buffer& got, const Buffer& expected);
/// Returns the first difference of the results of a sample, with the number of the output.
std::string difference(const UseSample& sample, const Buffers& got, const Buffers& expected);

}  // namespace byoc::conform
