// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/recurrent/gate_function.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

// By GateFunction::Kind.
constexpr std::string_view kNames[] = {
    "Sigmoid",    "Tanh",        "Relu", "Affine",   "LeakyRelu", "ThresholdedRelu",
    "ScaledTanh", "HardSigmoid", "Elu",  "Softsign", "Softplus"};

Result<GateFunction::Kind> kind_of(const std::string& op, const std::string& name) {
  auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found != std::end(kNames)) return static_cast<GateFunction::Kind>(found - std::begin(kNames));
  std::string known;
  for (std::string_view text : kNames) known += cat(known.empty() ? "" : ", ", text);
  return invalid(cat(op, ": activation \"", name, "\" is none of ", known));
}

// Function h of lstm, of the new cells. ONNX limits the inputs of activations, and ONNX Runtime
// those of gates: cells keep their size.
constexpr size_t kCellOutput = 2;

double limited(double x, double clip) { return clip == 0 ? x : std::clamp(x, -clip, clip); }

// Keeps NaN: min and max return their second operand where one is NaN.
Expr limited(const Expr& x, double clip) {
  return clip == 0 ? x : max(like(x, -clip), min(like(x, clip), x));
}

}  // namespace

double GateFunction::operator()(double given) const {
  const double x = limited(given, clip);
  switch (kind) {
    case kSigmoid:
      return 1 / (1 + std::exp(-x));
    case kTanh:
      return std::tanh(x);
    case kRelu:
      return x < 0 ? 0 : x;
    case kAffine:
      return alpha * x + beta;
    case kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case kThresholdedRelu:
      return x < alpha ? 0 : x;
    case kScaledTanh:
      return alpha * std::tanh(beta * x);
    case kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case kSoftsign:
      return x / (1 + std::abs(x));
    case kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

Expr GateFunction::operator()(const Expr& given) const {
  const Expr x = limited(given, clip);
  const Expr none = like(x, 0), one = like(x, 1), a = like(x, alpha), b = like(x, beta);
  auto absolute = [&] { return te::unary(UnaryOp::kAbs, x); };
  switch (kind) {
    case kSigmoid:
      return one / (one + te::unary(UnaryOp::kExp, -x));
    case kTanh:
      return te::unary(UnaryOp::kTanh, x);
    case kRelu:
      return max(none, x);
    case kAffine:
      return a * x + b;
    case kLeakyRelu:
      return select(x < none, a * x, x);
    case kThresholdedRelu:
      return select(x < a, none, x);
    case kScaledTanh:
      return a * te::unary(UnaryOp::kTanh, b * x);
    case kHardSigmoid:
      return max(none, min(one, a * x + b));
    case kElu:
      return select(x < none, a * exp_m1(x), x);
    case kSoftsign:
      return x / (one + absolute());
    case kSoftplus:
      return max(none, x) + log_1p(te::unary(UnaryOp::kExp, -absolute()));
  }
  return x;
}

void add_gate_attrs(std::vector<AttrSpec>& attrs) {
  attrs.push_back({"activations", Strings{},
                   "functions of the gates, as ONNX names them, for each direction; none: the "
                   "defaults"});
  attrs.push_back({"alpha", Floats{}, "of each of the activations; none: 0"});
  attrs.push_back({"beta", Floats{}, "of each of the activations; none: 0"});
  attrs.push_back({"clip", 0.0, "limit of the inputs of gates; 0: none"});
}

Result<std::vector<GateFunction>> gate_functions(const std::string& op, const Attrs& attrs,
                                                 std::span<const GateFunction::Kind> defaults,
                                                 int64_t directions) {
  const Strings names = attrs.strings("activations");
  const Floats alpha = attrs.floats("alpha"), beta = attrs.floats("beta");
  const double clip = attrs.f("clip", 0);
  BYOC_CHECK(!defaults.empty() && directions > 0, defaults.size(), " functions for ", directions,
             " directions");
  const size_t count = defaults.size() * static_cast<size_t>(directions);
  if (!(clip >= 0)) return invalid(cat(op, ": clip is ", clip, ", expected at least 0"));
  if (!names.empty() && names.size() != count)
    return invalid(cat(op, ": has ", names.size(), " activations, expected ", count));
  for (const Floats* list : {&alpha, &beta}) {
    if (!list->empty() && list->size() != names.size())
      return invalid(cat(op, ": has ", names.size(), " activations, and ", list->size(),
                         list == &alpha ? " values of alpha" : " values of beta"));
  }
  std::vector<GateFunction> out;
  for (size_t k = 0; k < count; ++k) {
    GateFunction& function = out.emplace_back();
    function.clip = k % defaults.size() == kCellOutput ? 0 : clip;
    function.kind = defaults[k % defaults.size()];
    if (names.empty()) continue;
    BYOC_TRY(function.kind, kind_of(op, names[k]));
    if (!alpha.empty()) function.alpha = alpha[k];
    if (!beta.empty()) function.beta = beta[k];
  }
  return out;
}

}  // namespace byoc::op
