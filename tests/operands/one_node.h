// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models of one ONNX node, of whose operands one varies: it is a constant, or an input of the run.
#include <string>
#include <vector>

#include "byoc/ir/attrs.h"
#include "support/flow.h"

namespace byoc::test {

/// A node. Operands are divided by spaces: "f32[2,3]" is an input of 1, 2, ...; "i64[2]=1,2" a
/// constant; "i64[2]@" the operand that varies; "-" an omitted one; "sequence" is one of the
/// tensors [1, 2] and [3, 4].
struct OperandRow {
  const char* op;
  int opset;
  const char* operands;
  Attrs attrs;
  std::vector<double> right, expected;  ///< elements of the operand and of the first result
  std::vector<std::vector<double>> wrong;
  bool is_constant = false;  ///< the operand must be a constant: else the import is refused
  const char* then = "";     ///< an operator that reads the result
  int outputs = 1;
};

/// All rows, by family.
std::vector<OperandRow> operand_rows();

/// The elements of the first result, or the error of import, compilation or run.
using Outcome = Result<std::vector<double>>;
/// Imports, compiles and runs the node with these elements of the operand.
Outcome run_node(const OperandRow& row, const std::vector<double>& elements, bool as_constant,
                 std::shared_ptr<const PluginSet> plugins, std::vector<std::string> compilers);

/// Imports and compiles the node with the operand as a constant, by these plugins and no other.
Status compile_node(const OperandRow& row, const std::vector<double>& elements,
                    std::shared_ptr<const PluginSet> plugins, std::vector<std::string> compilers);

}  // namespace byoc::test
