// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts that libraries have added to this process. Written by load_library before other threads
// use byoc.
#include "byoc/extend/library.h"

namespace byoc::extend {

/// The passes, rows and policies of all libraries, in the order in which they were loaded.
struct Added {
  std::vector<AddedPass> passes;
  std::vector<OnnxRow> onnx;
  Hooks hooks;
  /// Registers the plugin with the reference kernels as a part of the program, so that it has the
  /// ops of libraries. Called once, for the first library with ops; null where programs have none.
  Status (*register_reference)() = nullptr;
};
Added& added();

/// Returns the row for an operator; null when no library has one.
const OnnxRow* find_onnx_row(std::string_view domain, std::string_view op_type);
/// Returns the first row whose operator is read as this op; null when no library has one.
const OnnxRow* find_onnx_row_of(std::string_view op);

}  // namespace byoc::extend
