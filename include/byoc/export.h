// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes modules in other formats.
#include <string>

#include "byoc/ir/module.h"

namespace byoc {

/// Options for writing an ONNX file.
struct ExportOptions {
  /// Constants go to a second file, PATH.data, when together they have more bytes than this.
  /// Protobuf messages end at 2 GiB.
  uint64_t max_inline_bytes = uint64_t{1900} << 20;
};

/// Writes the entry function as the graph of an ONNX model of opset 17, or of the first one that
/// has all its operators. Functions that it calls, such as regions, composites and bodies of
/// control flow, become functions of the model in the domain "byoc", and their constants operands
/// of them; the graphs of If and Loop call them. Functions that are not called are left out.
/// Errors: slug "onnx-export" lists the ops and attributes without a form in ONNX: blocked layouts,
/// annotations, compiled functions. kResourceExhausted without memory.
Status export_onnx(const IRModule& module, const std::string& path,
                   const ExportOptions& options = {});

}  // namespace byoc
