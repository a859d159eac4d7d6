// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of the gates of lstm, gru and rnn. Source: ONNX opset 22, LSTM, `activations`.
#include "core/op/kernel/expression.h"

namespace byoc::op {

/// A function of one number, whose input is first limited to [-clip, clip].
struct GateFunction {
  /// In the order of their names in the source file's table.
  enum Kind {
    kSigmoid,
    kTanh,
    kRelu,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = kSigmoid;
  double alpha = 0, beta = 0;
  double clip = 0;  ///< 0: no limit
  double operator()(double x) const;
  Expr operator()(const Expr& x) const;
  bool operator==(const GateFunction&) const = default;
};

/// Appends the attributes that `gate_functions` reads to those of an op.
void add_gate_attrs(std::vector<AttrSpec>& attrs);
/// Reads `activations`, `alpha`, `beta` and `clip`: the functions of the first direction, then
/// those of the second. Without `activations` they are the defaults of one direction.
/// Errors: unknown names, lists of another length, a negative clip.
Result<std::vector<GateFunction>> gate_functions(const std::string& op, const Attrs& attrs,
                                                 std::span<const GateFunction::Kind> defaults,
                                                 int64_t directions);

}  // namespace byoc::op
