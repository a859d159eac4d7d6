// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers that results are compared for: those of other magnitudes are left open.
#include "oracle.h"

namespace byoc::fuzz {

/// The error of arithmetic in a dtype. `unit` is the relative error of one op: eight units in the
/// last place for f32 and f64, because functions such as tanh are approximations, and two for
/// formats of sixteen bits, which are computed in f32 and rounded.
struct Precision {
  double unit, tiny, largest, unclear;  // unclear: relative error from which nothing is compared
};
Precision precision_of(DType dtype);

/// Returns true for ops that round nothing.
bool is_exact_op(const OpDef& op);

/// Returns the error that leaves an op out, with the reason.
Status undetermined(const OpDef& op, std::string_view why);

/// Checks images with infinities and NaN. An interpolation may read a cell with the weight zero or
/// not read it: ONNX leaves that open. A convolution of an infinity that was computed may be NaN in
/// onednn: plugins/onednn/README.md, "Differences from the reference". So may its Fourier transform
/// by the steps of plugins/llvm.
Status check_image(const OpDef& op, const Attrs& attrs, const Known& image);

/// Refuses roots, logarithms and means of integers beyond 2^53: f64 rounds them, in some order.
Status check_integers(const OpDef& op, const std::vector<Known>& results);
/// Checks that the numbers stay in a range where no order of the sums inside an op overflows.
Status check_range(const OpDef& op, const std::vector<const Known*>& args,
                   const std::vector<Known>& results);

}  // namespace byoc::fuzz
