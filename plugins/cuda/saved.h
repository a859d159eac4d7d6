// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plugin's part of an artifact: the PTX of a module and the launches of its functions.
#include "byoc/plugin/sdk/plugin.h"
#include "plugins/cuda/code/launch.h"

namespace byoc::cuda {

/// A compiled function.
struct SavedFunction {
  std::string symbol, signature;
  uint64_t n_in = 0, n_out = 0;
  std::vector<std::string> constants;  // keys of 16 bytes, in the order of the graph
  std::vector<uint64_t> used;          // whether kernels read them
  Program program;
  Program by_library;  // the same with calls of libraries; without launches: there are none
};

struct SavedModule {
  uint64_t sm = 0;
  std::string ptx;
  std::vector<SavedFunction> functions;
};

inline constexpr std::string_view kFormat = "byoc-cuda/2";

std::string write_saved(const SavedModule& module);
/// Throws BYOC_DATA_LOSS for bytes that write_saved did not write.
SavedModule read_saved(std::string_view bytes);

}  // namespace byoc::cuda
