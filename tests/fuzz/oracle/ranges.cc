// SPDX-License-Identifier: Apache-2.0
#include "ranges.h"

#include <algorithm>
#include <cmath>

namespace byoc::fuzz {
namespace {

double largest_finite(const Known& known) {
  double largest = 0;
  for (double value : elements(known.type, *known.right))
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Returns true for ops on single elements and softmax, which may get numbers as large as the
/// -3.4e38 of a mask. Other ops may square and add them, and the order and format of that are open.
bool takes_masks(const OpDef& op) {
  return op.kind == FusionKind::kElementwise || op.kind == FusionKind::kBroadcast ||
         op.kind == FusionKind::kInjective || is_exact_op(op) || op.name == "softmax" ||
         op.name == "log_softmax";
}

/// Returns true for numbers below the normal ones, whose squares and reciprocals are not in range.
/// Usual values of 16 bits are such numbers.
bool has_denormals(const Known& known) {
  const DType dtype = known.type->dtype;
  if (dtype == DType::kF16) return false;
  const double least = dtype == DType::kF64 ? 0x1p-1022 : 0x1p-126;
  std::vector<double> values = elements(known.type, *known.right);
  return std::any_of(values.begin(), values.end(),
                     [&](double x) { return x != 0 && std::abs(x) < least; });
}

bool has_nan(const Known& known) {
  const std::vector<double> values = elements(known.type, *known.right);
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

/// Returns true for functions with a pole at zero, where numbers below the normal ones become
/// others than zero does. onednn computes some quotients as 1 / (y / x), which is zero for them.
bool has_pole_at_zero(const OpDef& op) {
  static const std::set<std::string_view> kPoles = {"divide", "reciprocal", "rsqrt",
                                                    "log",    "power",      "mod"};
  return kPoles.contains(op.name);
}

}  // namespace

Precision precision_of(DType dtype) {
  if (dtype == DType::kF64) return {0x1p-49, 1e-290, 1e100, 1e-2};
  if (dtype == DType::kF16) return {0x1p-10, 0x1p-22, 2e3, 0.3};
  if (dtype == DType::kBF16) return {0x1p-7, 1e-37, 1e10, 0.6};
  return {0x1p-21, 1e-36, 1e10, 1e-2};
}

bool is_exact_op(const OpDef& op) {
  static constexpr std::string_view kExact =
      " abs negative relu maximum minimum max min clip floor ceil round sign identity "
      "where is_nan is_inf hardmax argmax argmin topk max_pool equal not_equal greater "
      "greater_equal less less_equal logical_and logical_or logical_xor logical_not "
      "cast bit_cast encode_float decode_float global_max_pool thresholded_relu shape "
      "reverse_sequence ";
  if (kExact.find(cat(" ", op.name, " ")) != std::string_view::npos) return true;
  return op.kind == FusionKind::kInjective && op.name != "resize";
}

Status undetermined(const OpDef& op, std::string_view why) {
  return Status(Code::kFailedPrecondition, cat(op.name, ": ", why));
}

Status check_image(const OpDef& op, const Attrs& attrs, const Known& image) {
  auto holds = [&](bool (*is_special)(double)) {
    std::vector<double> values = elements(image.type, *image.right);
    return std::any_of(values.begin(), values.end(), is_special);
  };
  const bool spreads =
      op.name.starts_with("conv") || op.name == "dft" || op.name == "matmul_blocks";
  if (spreads && !image.is_exact() && holds([](double x) { return std::isinf(x); }))
    return undetermined(op, "an infinity may become NaN");
  const bool interpolates = op.name == "resize" || op.name == "grid_sample" ||
                            op.name == "roi_align" || op.name == "deform_rows";
  if (interpolates && attrs.s("mode", "") != "nearest" &&
      holds([](double x) { return !std::isfinite(x); }))
    return undetermined(op, "a cell that is no number may have the weight zero");
  return {};
}

Status check_integers(const OpDef& op, const std::vector<Known>& results) {
  constexpr double kExact = 0x1p53;
  if (op.name != "l2" && op.name != "mean" && !op.name.starts_with("log_sum")) return {};
  for (const Known& known : results)
    if (is_int(known.type->dtype) && largest_finite(known) > kExact)
      return undetermined(op, "f64 rounds an integer");
  return {};
}

Status check_range(const OpDef& op, const std::vector<const Known*>& args,
                   const std::vector<Known>& results) {
  double largest = 0;
  for (const Known* arg : args) {
    if (!is_float(arg->type->dtype)) continue;
    largest = std::max(largest, largest_finite(*arg));
    if (!takes_masks(op) && largest > precision_of(arg->type->dtype).largest)
      return undetermined(op, "an operand is too large");
    const bool is_small_alike = takes_masks(op) && (arg->is_exact() || !has_pole_at_zero(op));
    if (!is_small_alike && has_denormals(*arg)) return undetermined(op, "an operand is too small");
  }
  // Which NaN an operation gives is open, its sign too (IEEE 754, 6.2.3).
  if (op.name == "bit_cast" && is_float(args[0]->type->dtype) && has_nan(*args[0]))
    return undetermined(op, "the bits of a NaN may be others");
  for (const Known& known : results) {
    if (!is_float(known.type->dtype)) continue;
    if (largest_finite(known) > std::max(precision_of(known.type->dtype).largest, 2 * largest))
      return undetermined(op, "a result is too large");
  }
  return {};
}

}  // namespace byoc::fuzz
