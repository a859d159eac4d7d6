// SPDX-License-Identifier: Apache-2.0
#pragma once
// recurrent_compute.cc: lstm, gru and rnn as expressions.
#include "core/op/kernel/expression.h"

namespace byoc::op {

Result<Tensors> compute_lstm(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_gru(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_rnn(te::Builder&, Inputs in, Types out, const Attrs&);

}  // namespace byoc::op
