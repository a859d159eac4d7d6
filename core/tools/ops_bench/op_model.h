// SPDX-License-Identifier: Apache-2.0
#pragma once
// A case of the table as the files that byoc and its peer read.
#include "core/tools/ops_bench/op_cases.h"

namespace byoc::driver {

struct CaseFiles {
  std::string model;                // FOLDER/model.onnx
  std::vector<std::string> inputs;  // "in_0=FOLDER/in_0.npy"
};

/// Writes the case as an ONNX model, and its inputs as .npy files, into the folder. Errors: slug
/// "ops-table" for attributes without an ONNX form; those of values_of and of files.
Result<CaseFiles> write_case(const OpCase& one, const std::string& folder, uint64_t seed);

}  // namespace byoc::driver
