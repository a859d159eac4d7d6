// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles loop functions for this machine and runs them on memory between guard pages.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "plugins/llvm/loaded.h"
#include "plugins/llvm/native.h"

namespace byoc::test {

/// Elements of one dtype, as bytes.
struct Data {
  DType dtype;
  std::vector<std::byte> bytes;
  template <class T>
  static Data of(DType dtype, const std::vector<T>& values) {
    Data out{dtype, std::vector<std::byte>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
    return out;
  }
  template <class T>
  std::vector<T> as() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};
inline Data f32(const std::vector<float>& values) { return Data::of(DType::kF32, values); }

struct RunOptions {
  uint32_t threads = 1;
  uint32_t compiled_for = 0;              // threads; 0: as many as run it
  std::vector<std::string> without = {};  // features of this machine that are disabled
};
/// A function, compiled and loaded, for several runs. Errors abort.
class Loaded {
 public:
  explicit Loaded(te::LoopFunction function, const RunOptions& options = {});
  /// Fills outputs with 0xcd and runs; `sizes` are those of the function.
  std::vector<Data> run(const std::vector<Data>& inputs,
                        const std::vector<int64_t>& sizes = {}) const;

 private:
  te::LoopFunction function_;
  uint32_t threads_;
  std::unique_ptr<llvm_plugin::LoadedObject> object_;
};
/// Compiles, loads and runs `function`. Outputs are filled with 0xcd before. Errors fail the test.
std::vector<Data> run_loops(const te::LoopFunction& function, const std::vector<Data>& inputs,
                            const RunOptions& options = {});
/// Runs a function of one input and one output, both f32.
std::vector<float> run_f32(const te::LoopFunction& function, const std::vector<float>& input);

llvm_plugin::Machine this_machine(const std::vector<std::string>& without = {});

}  // namespace byoc::test
