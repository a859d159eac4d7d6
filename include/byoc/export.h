// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes modules in other formats.
#include <string>
#include <vector>

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

/// A constant that a model in memory names and does not contain.
struct OnnxConstant {
  std::string name;    ///< of the initializer
  const Buffer* data;  ///< of the module that was written
  TypeId type;         ///< its type
};

/// An ONNX model in memory.
struct OnnxModel {
  std::string bytes;                         ///< the message ModelProto
  std::vector<std::string> inputs, outputs;  ///< names of the graph's, in the order of the entry's
  std::vector<OnnxConstant> constants;       ///< external data of the model, in order
};

/// Does the same as export_onnx in memory. Constants of more than 1 KiB are external data at the
/// place "constants", which is no file: the reader of the model hands them in.
Result<OnnxModel> make_onnx(const IRModule& module);

}  // namespace byoc
