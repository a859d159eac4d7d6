// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a function as they are launched, one after another on one stream.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace byoc::cuda {

/// The address that a kernel gets as a parameter.
struct Argument {
  enum Kind : uint8_t { kInput, kConstant, kOutput, kWorkspace, kFailure };
  Kind kind = kInput;
  uint64_t at = 0;  // the number of an input, constant or output; bytes in the workspace
  friend bool operator==(const Argument&, const Argument&) = default;
};

/// A product of matrices that a library computes: d[i, j] = sum over t of a[i, t] b[t, j], in a
/// batch. Rows of d are compact. Distances are in elements.
struct MatrixProduct {
  uint64_t factor_type = 0, result_type = 0;  // DType
  uint64_t m = 1, n = 1, k = 1, batch = 1;
  uint64_t a_row = 0, a_column = 0, a_batch = 0;  // from a row, column, matrix to the next one
  uint64_t b_row = 0, b_column = 0, b_batch = 0;
  uint64_t d_row = 0, d_batch = 0;
  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};
/// The fields, in the order in which they are stored.
inline constexpr uint64_t MatrixProduct::*kMatrixProductFields[] = {
    &MatrixProduct::factor_type, &MatrixProduct::result_type, &MatrixProduct::m,
    &MatrixProduct::n,           &MatrixProduct::k,           &MatrixProduct::batch,
    &MatrixProduct::a_row,       &MatrixProduct::a_column,    &MatrixProduct::a_batch,
    &MatrixProduct::b_row,       &MatrixProduct::b_column,    &MatrixProduct::b_batch,
    &MatrixProduct::d_row,       &MatrixProduct::d_batch};

struct Launch {
  static constexpr size_t kMostArguments = 500;  // of 8 bytes: kernels get at most 4 KiB

  std::string kernel;  // its name in the PTX; empty for a call of a library
  uint32_t groups = 1, threads = 1;
  std::vector<Argument> arguments;
  std::optional<MatrixProduct> product = std::nullopt;  // of a, b, d, which are the arguments
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// The launches of a function.
struct Program {
  std::vector<Launch> launches;
  uint64_t workspace_bytes = 0;
  std::vector<std::string> failures;  // ops of index errors: the first one has number 1
};

}  // namespace byoc::cuda
