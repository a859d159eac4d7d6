// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads models of other formats.
#include <map>
#include <string>

#include "byoc/ir/dim.h"
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc {

/// Options for reading a file as a module.
struct ImportOptions {
  /// "x" -> 1x3x224x224, or a named size "N" -> 1, or "N" -> 1..64, which stays open within these
  /// bounds. They are used before shapes are inferred.
  /// "max_iterations" -> the most iterations of loops that the model does not bound, 1024 unless
  /// given, when they stack or grow results.
  GivenShapes shapes;
  std::map<std::string, std::pair<TensorType, std::shared_ptr<const Buffer>>>
      bind;  ///< input -> constant
};

/// Reads an ONNX file as a module with one function "main". ONNX's graph inputs that are no
/// initializers become parameters in order; results keep their order. Shape arithmetic on known
/// shapes is folded while reading. Names of nodes (or of their first output) become locs; names of
/// inputs and outputs are kept in the function's attributes `input_names` and `output_names`, the
/// opset in `opset`, warnings in `import_warnings`. External data is read only from inside the
/// model's folder. Errors: slugs "model-file", "onnx-parse", "onnx-unsupported" (node, op, domain,
/// opset), "onnx-graph" (cycles, malformed nodes), "external-data", "input-shape".
Result<IRModule> import_onnx(const std::string& path, const OpRegistry& ops,
                             const ImportOptions& options = {});

/// An input as the file states it.
struct ModelInput {
  std::string name;                    ///< as in the file
  DType dtype = DType::kF32;           ///< element type
  bool has_rank = true;                ///< false: `dims` is unknown
  std::vector<int64_t> dims;           ///< -1: not a number in the file
  std::vector<std::string> dim_names;  ///< the file's name per dim; "": a number, or no name
  bool has_default = false;            ///< an initializer: no parameter of "main"
};
/// Returns the graph's inputs in order, without reading the rest into a module; for --bind, which
/// needs their types before the import. Errors: as import_onnx.
Result<std::vector<ModelInput>> onnx_inputs(const std::string& path);

/// Returns the operators of the model's graph, as in "Conv", each once, in order of their names.
/// Those of graphs within nodes and of functions are left out. Errors as onnx_inputs.
Result<std::vector<std::string>> onnx_operators(const std::string& path);

/// An operator of ONNX's default domain, or of ONNX Runtime's, that import_onnx reads.
struct ImportedOp {
  std::string op_type;                      ///< "Conv"
  std::vector<std::pair<int, int>> opsets;  ///< ranges, first and last included
  std::string domain;                       ///< "com.microsoft"; "": the default domain
};
/// Returns all of them by domain and name. A range of the default domain that has no end yet ends
/// with newest_onnx_opset().
std::vector<ImportedOp> imported_ops();
/// Returns the ops that the importer makes of samples of such an operator, by name; none when it
/// computes the results itself, as those of Constant, or makes control flow. Errors: an operator
/// without rows; the reason why it is refused.
Result<std::vector<std::string>> ops_of_operator(const std::string& op_type,
                                                 const std::string& domain = "");
int newest_onnx_opset();  ///< the newest opset of the default domain that import_onnx reads

}  // namespace byoc
