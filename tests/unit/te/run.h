// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs scheduled Dags on vectors.
#include <gtest/gtest.h>

#include "byoc/te/evaluate.h"
#include "byoc/te/schedule.h"

namespace byoc::te {

inline int64_t elements(const Tensor& tensor) {
  int64_t count = 1;
  for (const Expr& extent : tensor.shape()) count *= *as_int(extent);
  return count;
}

/// Runs the loops of the schedule and returns the bytes of each output.
inline std::vector<std::vector<std::byte>> run_bytes(
    const Schedule& schedule, const std::vector<std::vector<std::byte>>& inputs) {
  Result<LoopFunction> loops = lower(schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  if (!loops.ok()) return {};
  std::vector<const void*> in;
  for (const auto& input : inputs) in.push_back(input.data());
  std::vector<std::vector<std::byte>> results;
  for (const Tensor& output : loops->outputs)
    results.emplace_back(static_cast<size_t>(elements(output)) * dtype_size(output.dtype()));
  std::vector<void*> out;
  for (auto& result : results) out.push_back(result.data());
  Status status = evaluate(*loops, in, out);
  EXPECT_TRUE(status.ok()) << status.to_string() << "\n" << print(*loops);
  return results;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  auto* data = reinterpret_cast<const std::byte*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  auto* data = reinterpret_cast<const T*>(bytes.data());
  return {data, data + bytes.size() / sizeof(T)};
}

/// Runs the loops and returns the first output. All inputs and outputs have elements of type T.
template <class T>
std::vector<T> run(const Schedule& schedule, const std::vector<std::vector<T>>& inputs) {
  std::vector<std::vector<std::byte>> in;
  for (const auto& input : inputs) in.push_back(bytes_of(input));
  auto out = run_bytes(schedule, in);
  return out.empty() ? std::vector<T>{} : values_of<T>(out[0]);
}

}  // namespace byoc::te
