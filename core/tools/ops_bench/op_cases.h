// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of `byoc bench --ops`: operators of ONNX at sizes that public models have.
// bench/ops/README.md has its form.
#include <map>
#include <string>
#include <vector>

#include "byoc/base/external.h"
#include "byoc/base/json.h"
#include "byoc/runtime/tensor.h"

namespace byoc::driver {

/// An operand of a case: an input of its model, or a constant.
struct CaseOperand {
  std::string name;
  TensorSpec spec;
  bool is_constant = false;
  std::string values;                           // "" for random elements, else those after "="
  double low = 0, high = 0;                     // of random elements, when has_range
  bool has_range = false, is_distinct = false;  // distinct: a permutation of the range, repeated
};

struct OpCase {
  std::string op, from;  // from: the public model and layer with this size
  std::string shapes;    // "f32[1,64,56,56] f32[64,64,3,3]", for reports
  std::vector<CaseOperand> operands;
  Json nodes;  // each with op, in, out and attrs
  std::vector<std::string> outputs;
  int opset = 0;
  double tolerance = -1;  // of outputs; -1: by dtype
  double steps = 0;       // that outputs of 8 bits may be apart, as ties are rounded
};

struct OpTable {
  std::vector<OpCase> cases;
  std::map<std::string, std::string> without;  // operators without a case, and the reasons
};

/// Returns the error for a table that cannot be read.
inline Status table_error(std::string message) {
  return invalid(std::move(message)).with_slug("ops-table");
}
/// Returns <prefix>/share/byoc/ops/`file` of this program.
std::string installed_ops_file(const std::string& file);
/// Reads the table. Errors: slug "ops-table", with the line's operator; those of the file.
Result<OpTable> read_op_table(const std::string& path);
/// Returns the elements of an operand, a function of `seed` and the operand only. Errors: slug
/// "ops-table" for values that do not fit; memory.
Result<Tensor> values_of(const CaseOperand& operand, uint64_t seed);

}  // namespace byoc::driver
