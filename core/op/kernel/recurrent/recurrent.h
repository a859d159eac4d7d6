// SPDX-License-Identifier: Apache-2.0
#pragma once
// recurrent_compute.cc: lstm, gru and rnn as expressions.
#include "core/op/kernel/recurrent/gate_function.h"

namespace byoc::op {

/// The default functions of one direction: f, g, h of lstm; f, g of gru; f of rnn.
inline constexpr GateFunction::Kind kLstmGates[] = {GateFunction::kSigmoid, GateFunction::kTanh,
                                                    GateFunction::kTanh};
inline constexpr GateFunction::Kind kGruGates[] = {GateFunction::kSigmoid, GateFunction::kTanh};
inline constexpr GateFunction::Kind kRnnGates[] = {GateFunction::kTanh};

/// The number of operands before the lengths of the sequences.
inline constexpr size_t kLstmOperands = 7, kGruOperands = 5;

Result<Tensors> compute_lstm(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_gru(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_rnn(te::Builder&, Inputs in, Types out, const Attrs&);

}  // namespace byoc::op
