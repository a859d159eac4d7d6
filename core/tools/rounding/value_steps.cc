// SPDX-License-Identifier: Apache-2.0
#include "core/tools/rounding/value_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "byoc/ir/visit.h"
#include "byoc/op/op.h"

namespace byoc::driver {
namespace {

constexpr uint32_t kSeveral = 2;
constexpr std::string_view kRound = "round";  // of floats, which stay floats

bool is_small_integer(DType dtype) { return is_int(dtype) && dtype_size(dtype) <= 2; }

/// An op of which a result changes by at most `gain` times the largest change of its operands.
struct Gain {
  std::string_view op;
  double gain;
};
constexpr Gain kGains[] = {
    {"abs", 1},
    {"average_pool", 1},
    {"clip", 1},
    {"concat", 1},
    {"depth_to_space", 1},
    {"expand", 1},
    {"flatten", 1},
    {"gather", 1},
    {"global_average_pool", 1},
    {"global_max_pool", 1},
    {"identity", 1},
    {"layout_transform", 1},
    {"log_softmax", 2},
    {"max", 1},
    {"max_pool", 1},
    {"maximum", 1},
    {"mean", 1},
    {"min", 1},
    {"minimum", 1},
    {"negative", 1},
    {"pad", 1},
    {"relu", 1},
    {"reshape", 1},
    {"reverse", 1},
    {"sigmoid", 0.25},
    {"slice", 1},
    {"softmax", 0.5},
    {"space_to_depth", 1},
    {"split", 1},
    {"squeeze", 1},
    {"tanh", 1},
    {"tile", 1},
    {"transpose", 1},
    {"unsqueeze", 1},
};

std::optional<double> gain_of(std::string_view op) {
  auto found = std::ranges::find(kGains, op, &Gain::op);
  return found == std::end(kGains) ? std::nullopt : std::optional(found->gain);
}

double largest(const ValueSteps& steps) {
  return steps.sizes.empty() ? 0 : *std::ranges::max_element(steps.sizes);
}

/// Returns the magnitudes of a constant of f32; nothing for other values.
std::vector<double> constant_magnitudes(const Function& function, ValueId value) {
  auto* constant = std::get_if<Constant>(&function.nodes[value.node].kind);
  if (constant == nullptr || function.type(value)->dtype != DType::kF32) return {};
  std::vector<float> floats(constant->data->size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), constant->data->data(), constant->data->size());
  std::vector<double> out(floats.size());
  std::ranges::transform(floats, out.begin(), [](float x) { return std::abs(double{x}); });
  return out;
}

class Tracker {
 public:
  Tracker(const IRModule& module, const Function& function)
      : function_(function), module_rounds_(rounds(module)), steps_(function.nodes.size()) {}

  std::vector<ValueSteps> run() {
    for (uint32_t k = 0; k < function_.nodes.size(); ++k) steps_[k] = steps_of(k);
    std::vector<ValueSteps> out;
    for (ValueId result : function_.results) {
      out.push_back(steps_[result.node]);
      if (is_small_integer(function_.type(result)->dtype) && !out.back().is_exact())
        out.back().sizes = {1};
    }
    return out;
  }

 private:
  ValueSteps steps_of(uint32_t k) const {
    return std::visit(overloaded{[](const Param&) { return ValueSteps{}; },
                                 [](const Constant&) { return ValueSteps{}; },
                                 [&](const Call& call) { return of_call(k, call); },
                                 [&](const Invoke&) { return of_other(); },
                                 [&](const Extern&) { return of_other(); },
                                 [&](const Control&) { return of_other(); }},
                      function_.nodes[k].kind);
  }

  ValueSteps of_other() const { return {.roundings = module_rounds_ ? kSeveral : 0}; }

  ValueSteps of_call(uint32_t k, const Call& call) const {
    const auto args = function_.args(call.args);
    uint32_t roundings = 0;
    bool is_sized = true;  // all operands that are not exact
    for (ValueId arg : args) {
      const ValueSteps& steps = steps_[arg.node];
      roundings = std::max(roundings, steps.roundings);
      is_sized = is_sized && (steps.is_exact() || steps.has_size());
    }
    if (is_rounding(function_, k))
      return {.roundings = std::min(roundings + 1, kSeveral), .sizes = {1}};
    ValueSteps out{.roundings = roundings};
    if (roundings == 0 || !is_sized) return out;
    set_sizes(k, call, out);
    return out;
  }

  void set_sizes(uint32_t k, const Call& call, ValueSteps& out) const {
    const auto args = function_.args(call.args);
    switch (call.op->facts.family) {
      case OpFamily::kDequantize:
        return set_dequantized(args, *call.attrs, out);
      case OpFamily::kCast:
        return keep(k, args[0], 1, out);
      case OpFamily::kSum:
        return set_sum(k, args, out);
      case OpFamily::kScale:
        return set_scaled(k, call, out);
      case OpFamily::kTranspose:
        return set_transposed(args[0], *call.attrs, out);
      default:
        if (auto gain = gain_of(call.op->name)) set_gained(k, call, *gain, out);
    }
  }

  /// The scale must be constant: a computed one may itself be changed by rounding.
  void set_dequantized(std::span<const ValueId> args, const Attrs& attrs, ValueSteps& out) const {
    const double step = largest(steps_[args[0].node]);
    out.sizes = constant_magnitudes(function_, args[1]);
    for (double& size : out.sizes) size *= step;
    const auto rank = static_cast<int64_t>(function_.type(args[0])->shape.size());
    const int64_t axis = attrs.i("axis", 1);
    out.axis = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  }

  /// Keeps one size per entry of a dim where the result has the shape of the operand.
  void keep(uint32_t k, ValueId arg, double gain, ValueSteps& out) const {
    const ValueSteps& steps = steps_[arg.node];
    out.sizes = {gain * largest(steps)};
    if (function_.type(arg)->shape != function_.nodes[k].types[0]->shape) return;
    out.sizes = steps.sizes;
    out.axis = steps.axis;
    for (double& size : out.sizes) size *= gain;
  }

  void set_sum(uint32_t k, std::span<const ValueId> args, ValueSteps& out) const {
    const ValueSteps &a = steps_[args[0].node], &b = steps_[args[1].node];
    if (b.is_exact()) keep(k, args[0], 1, out);
    else if (a.is_exact()) keep(k, args[1], 1, out);
    else out.sizes = {largest(a) + largest(b)};
  }

  /// A factor must be constant, else a step has no size.
  void set_scaled(uint32_t k, const Call& call, ValueSteps& out) const {
    const auto args = function_.args(call.args);
    const bool divides = call.op->facts.is_inverse;
    const size_t factor = steps_[args[1].node].is_exact() ? 1 : 0;
    const std::vector<double> values = constant_magnitudes(function_, args[factor]);
    if (values.empty() || (divides && factor == 0)) return;
    const double least = *std::ranges::min_element(values);
    if (divides && !(least > 0)) return;
    keep(k, args[1 - factor], divides ? 1 / least : *std::ranges::max_element(values), out);
  }

  void set_gained(uint32_t k, const Call& call, double gain, ValueSteps& out) const {
    constexpr std::string_view kMixes[] = {"reshape", "softmax", "log_softmax"};
    const auto args = function_.args(call.args);
    if (args.size() == 1 && std::ranges::count(kMixes, call.op->name) == 0)
      return keep(k, args[0], gain, out);
    double most = 0;
    for (ValueId arg : args) most = std::max(most, largest(steps_[arg.node]));
    out.sizes = {gain * most};
  }

  void set_transposed(ValueId x, const Attrs& attrs, ValueSteps& out) const {
    const ValueSteps& steps = steps_[x.node];
    const auto rank = static_cast<int64_t>(function_.type(x)->shape.size());
    Ints perm = attrs.ints("perm");
    for (int64_t d = 0; d < rank && std::ssize(perm) < rank; ++d) perm.push_back(rank - 1 - d);
    out.sizes = steps.sizes;
    for (size_t d = 0; d < perm.size(); ++d) {
      if ((perm[d] + rank) % rank == static_cast<int64_t>(steps.axis)) out.axis = d;
    }
  }

  const Function& function_;
  const bool module_rounds_;
  std::vector<ValueSteps> steps_;  // of each node: its results have the same
};

bool is_quantize(const Call& call) { return call.op->facts.family == OpFamily::kQuantize; }
bool is_round(const Call& call) { return call.op->name == kRound; }

bool has_any(const Function& function, bool (*is_one)(const Call&)) {
  return std::ranges::any_of(function.nodes, [&](const Node& node) {
    auto* call = std::get_if<Call>(&node.kind);
    return call != nullptr && is_one(*call);
  });
}

/// Returns true when floats become integers of 8 or 16 bits.
bool makes_small_integers(const Function& function) {
  return std::ranges::any_of(function.nodes, [&](const Node& node) {
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr || call->op->facts.family != OpFamily::kCast) return false;
    return is_small_integer(node.types[0]->dtype) &&
           is_float(function.type(function.args(call->args)[0])->dtype);
  });
}

}  // namespace

bool is_rounding(const Function& function, uint32_t node) {
  auto* call = std::get_if<Call>(&function.nodes[node].kind);
  return call != nullptr && (is_quantize(*call) || is_round(*call));
}

bool rounds(const IRModule& module) {
  // Quantisation with computed scales has a round and a cast. A plain model may have either.
  bool has_round = false, has_cast = false;
  for (const auto& [name, function] : module.functions) {
    if (has_any(function, is_quantize)) return true;
    has_round = has_round || has_any(function, is_round);
    has_cast = has_cast || makes_small_integers(function);
  }
  return has_round && has_cast;
}

std::vector<ValueSteps> result_steps(const IRModule& module, const Function& function) {
  return Tracker(module, function).run();
}

}  // namespace byoc::driver
