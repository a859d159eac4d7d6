// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/estimate/estimate.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/op.h"

namespace byoc::llvm_plugin {
namespace {

// The shares below are medians over layers of networks (ResNet-50, VGG-16, MobileNetV2,
// EfficientNet, BERT and others), one thread of a Sapphire Rapids with 2 MiB of second cache,
// measured by `byoc place` for each op alone: f32 operations per ns over the machine's peak.
constexpr double kWinograd = 2.6;         // of the operations of direct sums
constexpr double kWinogradWeights = 1.8;  // bytes of transformed weights, per byte of weights
constexpr double kStrided = 1.05;         // windows with strides
constexpr double kDirect = 0.8;           // windows of one pixel, and those that are not 2-D
constexpr double kNotBlocked = 0.66;      // channels that are no whole blocks
constexpr double kDepthwise = 0.75;       // in the caches of a core
constexpr double kTransposed = 0.7;       // products of the phases of a stride
constexpr double kProduct = 0.78, kProductOfInputs = 0.72;
constexpr double kFullGroup = 16;  // channels of a group that fill a vector
constexpr int64_t kFilled = 16;    // blocks of channels, which zeros fill

// Operations at the peak that one element takes where a loop is not bound by memory.
constexpr double kPerTap = 23, kPerElement = 23, kPerFunction = 47, kPerSoftmax = 107,
                 kPerReduced = 15, kPerResized = 120, kPerPhase = 60, kPerOther = 200;
constexpr double kPerNearest = 10;  // of an enlarged image: 0.045 ns on a Zen 5
// Shares of the bandwidth of the cache or memory that has the operands. Transposes have 0.48 on a
// Zen 5, 12 matrices of 128 x 64.
constexpr double kStream = 0.8, kTurned = 0.48, kVector = 0.35, kOnePixel = 0.06;

constexpr double kCallNs = 100;   // of a native kernel
constexpr double kFewFlops = 8;   // per element of a matrix, where few rows meet it
constexpr double kManyFlops = 4;  // per element, of functions such as tanh
constexpr int64_t kBlock = 8;

struct Op {
  const Call& call;
  std::vector<TypeId> in, out;
  bool has_constant_weight = false;

  OpFamily family() const { return call.op->facts.family; }
  Shape shape(size_t k) const {
    BYOC_CHECK(k < in.size(), "operand ", k, " of ", call.op->name, " with ", in.size());
    return in[k]->shape;
  }
  double flops() const { return byoc::flops(*call.op, in, out, *call.attrs); }
};

double elements(TypeId type) {
  Result<int64_t> count = num_elements(type->shape);
  return count.ok() ? static_cast<double>(*count) : 0;
}

double bytes(TypeId type) {
  Result<int64_t> count = size_bytes(*type);
  return count.ok() ? static_cast<double>(*count) : 0;
}

double bytes(const Op& op) {
  double out = 0;
  for (TypeId type : op.in) out += bytes(type);
  for (TypeId type : op.out) out += bytes(type);
  return out;
}

double elements_of_inputs(const Op& op) {
  double out = 0;
  for (TypeId type : op.in) out = std::max(out, elements(type));
  return out;
}

double elements_of_outputs(const Op& op) {
  double out = 0;
  for (TypeId type : op.out) out += elements(type);
  return out;
}

const byoc_rate& peak_of(const Op& op, const sdk::Machine& machine) {
  BYOC_CHECK(!op.in.empty(), "an op without operands has no peak");
  const DType dtype = op.in[0]->dtype;
  const bool is_small = dtype == DType::kI8 || dtype == DType::kU8;
  return is_small && machine.raw().i8.one > 0 ? machine.raw().i8 : machine.raw().f32;
}

// The geometry of a convolution with one weight [o, c / group, window...].
struct Window {
  int64_t outputs = 1, channels = 1, taps = 1, group = 1;
  size_t rank = 0;
  bool has_strides = false, has_dilations = false;
};

Window window_of(const Op& op) {
  Window out;
  const Shape weight = op.shape(static_cast<size_t>(op.call.op->facts.weight));
  BYOC_CHECK(weight.size() >= 2, "weights of a convolution have channels");
  out.outputs = weight[0].extent(), out.channels = weight[1].extent();
  out.rank = weight.size() - 2;
  for (size_t k = 2; k < weight.size(); ++k) out.taps *= weight[k].extent();
  auto is_one = [](int64_t k) { return k == 1; };
  if (op.call.attrs->has("group")) out.group = op.call.attrs->i("group");
  if (op.call.attrs->has("strides"))
    out.has_strides = !std::ranges::all_of(op.call.attrs->ints("strides"), is_one);
  if (op.call.attrs->has("dilations"))
    out.has_dilations = !std::ranges::all_of(op.call.attrs->ints("dilations"), is_one);
  return out;
}

// Returns the channels that are computed: zeros fill the last block.
double with_zeros(int64_t channels) {
  const int64_t blocks = (channels + kFilled - 1) / kFilled;
  return static_cast<double>(channels % kBlock == 0 ? channels : blocks * kFilled);
}

double convolution_ns(const Op& op, const sdk::Machine& machine) {
  const Window window = window_of(op);
  sdk::Work work{op.flops(), bytes(op)};
  const byoc_rate& peak = peak_of(op, machine);
  if (window.channels == 1 && window.group > 1)
    return machine.run_ns(work, {kDepthwise, kStream}, peak);
  const double filled = std::min(1.0, static_cast<double>(window.channels) / kFullGroup);
  if (window.group > 1) return machine.run_ns(work, {kDirect * filled, kStream}, peak);
  const bool is_filled = window.rank == 2 && op.has_constant_weight &&
                         std::min(window.outputs, window.channels) >= kFilled;
  if (is_filled)
    work.flops *= with_zeros(window.outputs) * with_zeros(window.channels) /
                  static_cast<double>(window.outputs * window.channels);
  const bool is_blocked =
      is_filled || (window.outputs % kBlock == 0 && window.channels % kBlock == 0);
  const bool is_wide = window.rank == 2 && window.taps > 1 && !window.has_dilations;
  // Images of one pixel, as in squeeze and excitation, are bound by the weights.
  if (elements(op.out[0]) == static_cast<double>(window.outputs))
    return machine.run_ns(work, {kDirect, kOnePixel}, peak);
  if (is_wide && window.has_strides) return machine.run_ns(work, {kStrided, kStream}, peak);
  if (is_wide && is_blocked && op.has_constant_weight && window.channels >= kFullGroup) {
    const double weights = kWinogradWeights * bytes(op.in[1]);
    return machine.run_ns(work, {kWinograd, kStream}, peak) +
           machine.run_ns({0, weights}, {1, kStream}, peak);
  }
  const bool is_stem = window.rank == 2 && window.channels < kBlock;
  return machine.run_ns(work, {is_blocked || is_stem ? kDirect : kNotBlocked, kStream}, peak);
}

// Sums are moved to their places between those of other phases. Weights that are no constants are
// brought into panels in each run.
double transposed_ns(const Op& op, const sdk::Machine& machine) {
  const double weights = op.has_constant_weight ? 0 : 2 * bytes(op.in[1]);
  return machine.run_ns({op.flops(), bytes(op)}, {kTransposed, kStream}) +
         machine.run_ns({elements_of_outputs(op) * kPerPhase, 0}) +
         machine.run_ns({0, weights}, {1, kTurned});
}

double product_ns(const Op& op, const sdk::Machine& machine) {
  const double share = op.has_constant_weight ? kProduct : kProductOfInputs;
  // A product with a vector reads each weight once.
  const double flops = op.flops();
  const Shape& matrix = op.in.size() > 1 ? op.in[1]->shape : op.in[0]->shape;
  // A column is multiplied by rows of adjacent elements.
  const bool is_column = matrix.size() == 1 || matrix.back() == Dim(1);
  const bool is_vector = !is_column && flops < kFewFlops * elements_of_inputs(op);
  return machine.run_ns({flops, bytes(op)}, {share, is_vector ? kVector : kStream},
                        peak_of(op, machine));
}

double simple_ns(const Op& op, double operations, double bandwidth, const sdk::Machine& machine) {
  return machine.run_ns({operations, bytes(op)}, {1, bandwidth});
}

// Families that no case names take their time by the way in which the op may be fused.
double other_ns(const Op& op, const sdk::Machine& machine) {
  const double outputs = elements_of_outputs(op);
  switch (op.call.op->kind) {
    case FusionKind::kElementwise:
    case FusionKind::kBroadcast: {
      const bool is_function = op.flops() > kManyFlops * outputs;
      return simple_ns(op, outputs * (is_function ? kPerFunction : kPerElement), kStream, machine);
    }
    case FusionKind::kInjective:
      return simple_ns(op, outputs, kStream, machine);
    case FusionKind::kReduction:
      return simple_ns(op, elements_of_inputs(op) * kPerReduced, kStream, machine);
    case FusionKind::kAnchor:
      return product_ns(op, machine);
    case FusionKind::kOpaque:
      break;
  }
  return simple_ns(op, outputs * kPerOther, kStream, machine);
}

double resize_ns(const Op& op, const sdk::Machine& machine) {
  const bool is_nearest = op.call.attrs->s("mode", "") == "nearest";
  const double each = is_nearest ? kPerNearest : kPerResized;
  return simple_ns(op, elements_of_outputs(op) * each, kStream, machine);
}

double op_ns(const Op& op, const sdk::Machine& machine) {
  if (op.call.op->facts.is_view) return 0;
  switch (op.family()) {
    case OpFamily::kConvolution:
      if (op.call.op->facts.is_plain) return convolution_ns(op, machine);
      return machine.run_ns({op.flops(), bytes(op)}, {kDirect, kStream}, peak_of(op, machine));
    case OpFamily::kTransposedConvolution:
      return transposed_ns(op, machine);
    case OpFamily::kProduct:
      return product_ns(op, machine);
    case OpFamily::kPool:
    case OpFamily::kMeanPool:
      return simple_ns(op, op.flops() * kPerTap, kStream, machine);
    case OpFamily::kSoftmax:
      return simple_ns(op, elements_of_inputs(op) * kPerSoftmax, kStream, machine);
    case OpFamily::kTranspose:
    case OpFamily::kLayoutTransform:
      return simple_ns(op, 0, kTurned, machine);
    case OpFamily::kResize:
      return resize_ns(op, machine);
    default:
      return other_ns(op, machine);
  }
}

// Returns whether the operand that is a weight is a parameter after the inputs, which are the
// constants of the graph.
bool has_constant_weight(const Function& function, const Node& node, int weight, size_t inputs) {
  const auto args = function.args(node);
  if (weight < 0 || static_cast<size_t>(weight) >= args.size()) return false;
  return args[static_cast<size_t>(weight)].node >= inputs;
}

}  // namespace

double estimate_ns(const IRModule& module, size_t inputs, const sdk::Machine& machine) {
  const Function& function = module.function(module.entry);
  double out = kCallNs;
  for (const Node& node : function.nodes) {
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr) continue;
    Op op{*call, {}, {}, has_constant_weight(function, node, call->op->facts.weight, inputs)};
    for (size_t k = 0; k < node.types.size(); ++k) op.out.push_back(node.types[k]);
    for (ValueId arg : function.args(node)) op.in.push_back(function.type(arg));
    if (!op.in.empty()) out += op_ns(op, machine);
  }
  return out;
}

}  // namespace byoc::llvm_plugin
