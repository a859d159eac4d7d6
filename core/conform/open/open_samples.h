// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions with open sizes, and the sizes at which they are run.
#include "core/conform/checks/function_test.h"

namespace byoc::conform {

struct OpenSample {
  std::string label;  // "relu f32[N<=7,3]"
  IRModule module;    // `main` has open sizes
  std::vector<Domain> domains;
  std::vector<OpenRun> runs;  // the largest sizes first, some of them twice
  bool is_chain = false;      // of several ops
};

/// Returns the program with its first dim open, with its second, and with both, where the types of
/// its results can be inferred; a program of an open dim that no size but one fits is left out.
std::vector<OpenSample> opened(const Program& program);

/// Returns graphs of several ops with an open batch, and with an open length.
std::vector<OpenSample> written_open_samples();

}  // namespace byoc::conform
