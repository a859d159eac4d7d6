// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hand-written program of open sizes, whose arena each run packs.
#include "byoc/runtime/session.h"
#include "unit/runtime/executables.h"

namespace byoc::test {

inline TensorSpec spec_of(std::string_view text) { return *parse_tensor_spec(text); }
inline Place block(uint32_t k, uint64_t offset = 0) { return {Place::kArena, k, offset}; }

inline Step step_of(std::string symbol, uint32_t n_in, std::vector<Place> args,
                    std::vector<TensorSpec> types) {
  Step step = host_step(std::move(symbol), n_in, std::move(args), types[0]);
  step.types = std::move(types);
  return step;
}

/// Returns y[b, i] = 2 * x[b, i] * sum_j x[b, j] for x: f32[B, T], by the products of all pairs of
/// one b, which are B*T*T values.
inline Executable sums_of_pairs(int64_t most = 100000) {
  const std::string n = std::to_string(most);
  const TensorSpec rows = spec_of("f32[B<=" + n + ",T<=" + n + "]"),
                   pairs = spec_of("f32[B<=" + n + ",T<=" + n + ",T<=" + n + "]");
  Executable executable;
  executable.producer = "byoc test";
  Program& program = executable.program;
  program.inputs = {{"x", rows}};
  program.outputs = {{"y", rows}};
  program.sizes = {{"B", 1, most}, {"T", 1, most}};
  program.steps = {step_of("pairs", 1, {in(0), block(0)}, {rows, pairs}),
                   step_of("sums", 1, {block(0), block(1)}, {pairs, rows}),
                   step_of("twice", 1, {block(1), block(2)}, {rows, rows}),
                   step_of("same", 1, {block(2), out(0)}, {rows, rows})};
  program.packing = {{2, 1, 0}, {0, 2, 1}};
  return executable;
}

inline float* floats_of(const DLTensor& tensor) { return static_cast<float*>(tensor.data); }

/// Provides the functions of sums_of_pairs().
inline void provide_sums(Session& session) {
  (void)session.register_extern(
      "pairs", [](std::span<const DLTensor> in, std::span<DLTensor> out) -> Status {
        const int64_t rows = in[0].shape[0], n = in[0].shape[1];
        for (int64_t b = 0; b < rows; ++b) {
          for (int64_t k = 0; k < n * n; ++k)
            floats_of(out[0])[b * n * n + k] =
                floats_of(in[0])[b * n + k / n] * floats_of(in[0])[b * n + k % n];
        }
        return {};
      });
  (void)session.register_extern(
      "sums", [](std::span<const DLTensor> in, std::span<DLTensor> out) -> Status {
        const int64_t rows = out[0].shape[0] * out[0].shape[1], n = out[0].shape[1];
        for (int64_t r = 0; r < rows; ++r) {
          float sum = 0;
          for (int64_t k = 0; k < n; ++k) sum += floats_of(in[0])[r * n + k];
          floats_of(out[0])[r] = sum;
        }
        return {};
      });
  for (float factor : {2.0f, 1.0f}) {
    (void)session.register_extern(
        factor == 2 ? "twice" : "same",
        [factor](std::span<const DLTensor> in, std::span<DLTensor> out) -> Status {
          for (int64_t k = 0; k < out[0].shape[0] * out[0].shape[1]; ++k)
            floats_of(out[0])[k] = factor * floats_of(in[0])[k];
          return {};
        });
  }
}

}  // namespace byoc::test
