// SPDX-License-Identifier: Apache-2.0
#include "core/simplify/channel_affine.h"

#include <cmath>
#include <cstring>

#include "byoc/base/check.h"

namespace byoc::simplify {
namespace {

bool is_real(TypeId type) { return type->dtype == DType::kF32 || type->dtype == DType::kF64; }

const Call* call_of(const Function& function, uint32_t node) {
  return std::get_if<Call>(&function.nodes[node].kind);
}

const Buffer* data_of(const Function& function, ValueId value) {
  auto* constant = std::get_if<Constant>(&function.nodes[value.node].kind);
  return constant ? constant->data : nullptr;
}

template <class Read>
void read_reals(const Buffer& data, DType dtype, Read&& read) {
  auto each = [&]<class T>(T value) {
    for (size_t k = 0; k < data.size() / sizeof(T); ++k) {
      std::memcpy(&value, data.data() + k * sizeof(T), sizeof(T));
      read(k, static_cast<double>(value));
    }
  };
  dtype == DType::kF64 ? each(double{}) : each(float{});
}

void write_real(std::byte* to, size_t k, double value, DType dtype) {
  auto rounded = static_cast<float>(value);
  if (dtype == DType::kF64) std::memcpy(to + k * sizeof value, &value, sizeof value);
  else std::memcpy(to + k * sizeof rounded, &rounded, sizeof rounded);
}

// Returns one number per channel. The constant has one element per channel, or one for all.
std::vector<double> channel_values(const Function& function, ValueId value, size_t channels) {
  std::vector<double> out;
  const Buffer* data = data_of(function, value);
  BYOC_CHECK(data, "affine_operand accepts constants only");
  read_reals(*data, function.type(value)->dtype, [&](size_t, double v) { out.push_back(v); });
  if (out.size() == 1) out.resize(channels, out[0]);
  BYOC_CHECK(out.size() == channels, out.size(), " values for ", channels, " channels");
  return out;
}

int64_t product(const Shape& shape, size_t from, size_t to) {
  int64_t out = 1;
  for (size_t d = from; d < to; ++d) out *= shape[d].extent();
  return out;
}

LinearOp along_axis(const Shape& weights, size_t axis, size_t channel_axis) {
  LinearOp op{.channel_axis = channel_axis};
  op.outer = op.outer_per_group = product(weights, 0, axis);
  op.extent = weights[axis].extent();
  op.inner = product(weights, axis + 1, weights.size());
  return op;
}

// Returns the op of a transposed convolution with weights [c, o / group, ...], where c and o are
// its input and output channels.
LinearOp transposed(const Shape& weights, int64_t group) {
  LinearOp op = along_axis(weights, 1, 1);
  BYOC_CHECK(group > 0 && op.outer % group == 0, group, " groups of ", op.outer, " channels");
  op.outer_per_group = op.outer / group;
  return op;
}

// Returns true when a constant of `shape`, broadcast to rank `rank`, varies along `axis` only.
bool is_per_channel(const Shape& shape, size_t rank, size_t axis) {
  if (shape.size() > rank) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != Dim(1) && d + rank - shape.size() != axis) return false;
  }
  return true;
}

bool is_batch_norm(const Call& call) { return call.op->facts.family == OpFamily::kBatchNorm; }

// Returns true for a sum or product of two operands, and false for differences and quotients.
bool is_affine_step(const Call& call) {
  const OpFacts& facts = call.op->facts;
  return !facts.is_inverse && (facts.family == OpFamily::kSum || facts.family == OpFamily::kScale);
}

// Returns the dim of the weight of a product that has an entry per channel of the result.
size_t weight_dim_of_channels(const Call& call, size_t rank) {
  const OpFacts& facts = call.op->facts;
  const int dim = facts.weight_channels + (facts.weight_channels < 0 ? static_cast<int>(rank) : 0);
  BYOC_CHECK(dim >= 0 && static_cast<size_t>(dim) < rank, "dim ", dim, " of a weight of rank ",
             rank);
  const bool is_swapped =
      !facts.weight_transposed.empty() && call.attrs->b(facts.weight_transposed, false);
  return is_swapped ? rank - 1 - static_cast<size_t>(dim) : static_cast<size_t>(dim);
}

// Returns which operand is the constant: multiply and add commute.
size_t constant_operand(const Function& function, const Call& call) {
  return data_of(function, function.args(call.args)[1]) != nullptr ? 1 : 0;
}

}  // namespace

std::optional<LinearOp> linear_op(const Function& function, uint32_t node) {
  const Call* call = call_of(function, node);
  if (call == nullptr || function.args(call->args).size() != 2) return std::nullopt;
  ValueId value = function.args(call->args)[1];
  TypeId weights = function.type(value);
  const OpFacts& facts = call->op->facts;
  const Shape& shape = weights->shape;
  size_t rank = function.nodes[node].types[0]->shape.size();
  if (!data_of(function, value) || !is_real(weights) || shape.size() < 2) return std::nullopt;
  if (product(shape, 0, shape.size()) == 0) return std::nullopt;
  if (!facts.is_plain) return std::nullopt;
  switch (facts.family) {
    case OpFamily::kConvolution:
      return along_axis(shape, 0, 1);
    case OpFamily::kTransposedConvolution:
      return transposed(shape, call->attrs->i("group", 1));
    case OpFamily::kProduct:
      return along_axis(shape, weight_dim_of_channels(*call, shape.size()), rank - 1);
    default:
      return std::nullopt;
  }
}

std::shared_ptr<const Buffer> reals(const std::vector<double>& values, DType dtype) {
  return Buffer::make(values.size() * dtype_size(dtype), [&](std::byte* to) {
    for (size_t k = 0; k < values.size(); ++k) write_real(to, k, values[k], dtype);
  });
}

bool all_finite(const Buffer& reals, DType dtype) {
  bool out = true;
  read_reals(reals, dtype, [&](size_t, double v) { out &= std::isfinite(v); });
  return out;
}

std::shared_ptr<const Buffer> scaled_weights(const LinearOp& op, const Buffer& weights, DType dtype,
                                             const std::vector<double>& scale) {
  BYOC_CHECK(scale.size() == static_cast<size_t>(op.channels()), scale.size(), " factors for ",
             op.channels(), " channels");
  return Buffer::make(weights.size(), [&](std::byte* to) {
    read_reals(weights, dtype, [&](size_t k, double value) {
      auto row = static_cast<int64_t>(k) / op.inner;
      int64_t group = row / op.extent / op.outer_per_group;
      auto channel = static_cast<size_t>(group * op.extent + row % op.extent);
      write_real(to, k, value * scale[channel], dtype);
    });
  });
}

std::optional<ValueId> affine_operand(const Function& function, uint32_t node, const LinearOp& op) {
  const Call* call = call_of(function, node);
  if (call == nullptr) return std::nullopt;
  auto args = function.args(call->args);
  const bool is_step = is_affine_step(*call);
  if (!is_step && !is_batch_norm(*call)) return std::nullopt;
  size_t constant = is_step ? constant_operand(function, *call) : 1;
  ValueId operand = args[is_step ? 1 - constant : 0];
  TypeId type = function.nodes[node].types[0];
  if (function.type(operand) != type || !is_real(type)) return std::nullopt;
  if (is_batch_norm(*call) && op.channel_axis != 1) return std::nullopt;
  for (size_t k = 0; k < args.size(); ++k) {
    if (args[k] == operand) continue;
    TypeId given = function.type(args[k]);
    bool fits =
        is_batch_norm(*call) || is_per_channel(given->shape, type->shape.size(), op.channel_axis);
    if (!fits || !is_real(given) || data_of(function, args[k]) == nullptr) return std::nullopt;
  }
  return operand;
}

ChannelAffine then(const ChannelAffine& before, const Function& function, uint32_t node) {
  const Call& call = *call_of(function, node);
  auto args = function.args(call.args);
  size_t channels = before.scale.size();
  ChannelAffine out = before;
  if (is_batch_norm(call)) {
    auto gamma = channel_values(function, args[1], channels),
         beta = channel_values(function, args[2], channels);
    auto mean = channel_values(function, args[3], channels),
         var = channel_values(function, args[4], channels);
    for (size_t c = 0; c < channels; ++c) {
      double factor = gamma[c] / std::sqrt(var[c] + call.attrs->f("epsilon"));
      out.scale[c] = before.scale[c] * factor;
      out.shift[c] = (before.shift[c] - mean[c]) * factor + beta[c];
    }
    return out;
  }
  auto values = channel_values(function, args[constant_operand(function, call)], channels);
  for (size_t c = 0; c < channels; ++c) {
    if (call.op->facts.family == OpFamily::kSum) {
      out.shift[c] += values[c];
    } else {
      out.scale[c] *= values[c];
      out.shift[c] *= values[c];
    }
  }
  return out;
}

}  // namespace byoc::simplify
