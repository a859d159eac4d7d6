// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

#include "byoc/op/evaluate.h"
#include "ranges.h"
#include "sums.h"

namespace byoc::fuzz {
namespace {

constexpr size_t kEvaluations = 3;
constexpr double kSafety = 8;  // errors allowed per error seen, as few evaluations see few

/// Returns true for ops whose results jump: a small error of an operand may change them by much.
bool jumps(const OpDef& op, const std::vector<TypeId>& types) {
  static const std::set<std::string_view> kJumping = {
      "floor",   "ceil",     "round",        "sign",      "hardmax",   "thresholded_relu",
      "shrink",  "mod",      "topk",         "cast",      "roi_align", "grid_sample",
      "lp_norm", "bit_cast", "encode_float", "round_rows"};
  bool decides =
      std::any_of(types.begin(), types.end(), [](TypeId type) { return !is_float(type->dtype); });
  return decides || kJumping.contains(op.name);
}

double symmetric(std::mt19937_64& next) { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }

/// Returns true for functions that a plugin may compute with an error relative to 1 after an op
/// that it fuses them with: plugins/onednn/region/chain.cc.
bool is_near_one(const OpDef& op) { return op.name == "sigmoid" || op.name == "mish"; }

/// Moves every element by half a unit to one: less would be next to nothing for some elements in
/// all trials. A zero that was computed gets a sign at random.
Bytes moved_by_rounding(TypeId type, const Buffer& data, bool is_computed, std::mt19937_64& next) {
  std::vector<double> values = elements(type, data);
  const double unit = precision_of(type->dtype).unit;
  for (double& value : values) {
    const double r = symmetric(next);
    if (value != 0) value *= 1 + unit * (r + std::copysign(1, r)) / 2;
    else if (is_computed) value = std::copysign(0.0, r);
  }
  return from_elements(type, values);
}

/// Moves every element up or down by `error`, times the magnitude of its operand if there is one. A
/// part of it, drawn at random, would be next to nothing for some elements in all trials.
Bytes moved_by(double error, const std::vector<double>& operand, TypeId type, const Buffer& data,
               std::mt19937_64& next) {
  std::vector<double> values = elements(type, data);
  for (size_t k = 0; k < values.size(); ++k) {
    const double scale = operand.empty() ? 1 : std::abs(operand[k]);
    if (std::isfinite(scale)) values[k] += std::copysign(error * scale, symmetric(next));
  }
  return from_elements(type, values);
}

/// Returns one of two signs for an element, as if drawn at random.
double sign_of(size_t element) {
  uint64_t x = (element + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return (x >> 63) != 0 ? 1 : -1;
}

/// Moves every element by its error. All sums of the first evaluation move the same way, as those
/// of equal terms do. Each sum moves up in one of the next two and down in the other: where a clip
/// follows, one of them shows on which side of its edge the result may be. Others move at random.
Bytes moved_by_sums(const SumErrors& errors, size_t trial, TypeId type, const Buffer& data,
                    std::mt19937_64& next) {
  std::vector<double> values = elements(type, data);
  const double common = symmetric(next);
  for (size_t k = 0; k < values.size(); ++k) {
    const double random = symmetric(next);
    const double sign = trial == 0   ? common
                        : trial == 1 ? sign_of(k)
                        : trial == 2 ? -sign_of(k)
                                     : random;
    values[k] += std::copysign(errors[k], sign);
  }
  return from_elements(type, values);
}

using Buffers = std::vector<Bytes>;

Result<Buffers> run(const OpDef& op, const Attrs& attrs, const std::vector<TypeId>& in,
                    const std::vector<TypeId>& out, const Buffers& args) {
  std::vector<const Buffer*> data;
  for (const Bytes& arg : args) data.push_back(arg.get());
  return byoc::evaluate(op, attrs, in, out, data);
}

/// Returns the middle magnitude of the finite elements.
double middle(const std::vector<double>& values) {
  std::vector<double> magnitudes;
  for (double value : values) {
    if (std::isfinite(value)) magnitudes.push_back(std::abs(value));
  }
  if (magnitudes.empty()) return 0;
  auto at = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), at, magnitudes.end());
  return *at;
}

bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

/// Checks that all evaluations agree as far as a comparison requires.
Status check_agreement(const OpDef& op, const Known& known) {
  std::vector<double> right = elements(known.type, *known.right);
  if (!is_float(known.type->dtype)) {
    for (const Bytes& moved : known.moved) {
      if (moved->key() != known.right->key()) return undetermined(op, "a decision is too close");
    }
    return {};
  }
  for (const Bytes& bytes : known.moved) {
    std::vector<double> moved = elements(known.type, *bytes);
    for (size_t k = 0; k < right.size(); ++k) {
      if (!same_kind(moved[k], right[k])) return undetermined(op, "a NaN or infinity is too close");
    }
  }
  std::vector<double> allowed = allowed_errors(known);
  const double scale = middle(right), unclear = precision_of(known.type->dtype).unclear;
  for (size_t k = 0; k < allowed.size(); ++k) {
    if (std::isfinite(right[k]) && allowed[k] > unclear * std::max(std::abs(right[k]), scale))
      return undetermined(op, "rounding errors grow too large");
  }
  return {};
}

/// Checks that a jump is far from operands with their largest allowed error.
Status check_jumps(const OpDef& op, const Attrs& attrs, const std::vector<const Known*>& args,
                   const std::vector<Known>& results, std::mt19937_64& next) {
  std::vector<TypeId> in, out;
  for (const Known* arg : args) in.push_back(arg->type);
  for (const Known& result : results) out.push_back(result.type);
  for (int trial = 0; trial < 4; ++trial) {
    Buffers shifted;
    for (const Known* arg : args) {
      std::vector<double> allowed = allowed_errors(*arg), values = elements(arg->type, *arg->right);
      for (size_t k = 0; k < allowed.size(); ++k) {
        double sign = trial == 0 ? 1 : trial == 1 ? -1 : symmetric(next) < 0 ? -1 : 1;
        values[k] += sign * allowed[k];
      }
      shifted.push_back(arg->is_exact() ? arg->right : from_elements(arg->type, values));
    }
    BYOC_TRY(Buffers got, run(op, attrs, in, out, shifted));
    for (size_t k = 0; k < results.size(); ++k) {
      std::vector<double> a = elements(out[k], *got[k]), b = elements(out[k], *results[k].right);
      double unclear = is_float(out[k]->dtype) ? precision_of(out[k]->dtype).unclear : 0;
      for (size_t i = 0; i < a.size(); ++i) {
        double bound = unclear * std::max(std::abs(b[i]), middle(b));
        if (!same_kind(a[i], b[i]) || (std::isfinite(b[i]) && std::abs(a[i] - b[i]) > bound))
          return undetermined(op, "a decision is too close");
      }
    }
  }
  return {};
}

/// Evaluates once with rounding errors.
Result<Buffers> evaluate_moved(const OpDef& op, const Attrs& attrs,
                               const std::vector<const Known*>& args,
                               const std::vector<TypeId>& types, const std::vector<SumErrors>& sums,
                               size_t trial, std::mt19937_64& next) {
  const bool rounds = !is_exact_op(op);
  std::vector<TypeId> in;
  Buffers operands;
  for (const Known* arg : args) {
    Bytes data = arg->is_exact() ? arg->right : arg->moved[trial];
    in.push_back(arg->type);
    if (rounds && is_float(arg->type->dtype))
      data = moved_by_rounding(arg->type, *data, !arg->is_exact(), next);
    operands.push_back(std::move(data));
  }
  BYOC_TRY(Buffers results, run(op, attrs, in, types, operands));
  for (size_t k = 0; k < results.size() && rounds; ++k) {
    if (!is_float(types[k]->dtype)) continue;
    if (is_near_one(op)) results[k] = moved_by(0x1p-23, {}, types[k], *results[k], next);
    if (op.name == "gelu")  // as exact as its operand: plugins/onednn/README.md
      results[k] = moved_by(0x1p-23, elements(in[0], *operands[0]), types[k], *results[k], next);
    // A plugin may take a sigmoid below the smallest normal number for zero.
    if (op.name == "swish" && types[k]->dtype == DType::kF32)
      results[k] = moved_by(0x1p-126, elements(in[0], *operands[0]), types[k], *results[k], next);
    if (!sums[k].empty()) results[k] = moved_by_sums(sums[k], trial, types[k], *results[k], next);
    results[k] = moved_by_rounding(types[k], *results[k], true, next);
  }
  return results;
}

bool rounds_anything(const OpDef& op, const std::vector<const Known*>& args,
                     const std::vector<TypeId>& types) {
  bool floats =
      std::any_of(types.begin(), types.end(), [](TypeId type) { return is_float(type->dtype); });
  bool from_inexact =
      std::any_of(args.begin(), args.end(), [](const Known* arg) { return !arg->is_exact(); });
  return from_inexact || (floats && !is_exact_op(op));
}

std::string index_text(int64_t flat, const Shape& shape) {
  std::string out;
  for (size_t k = shape.size(); k-- > 0;) {
    out = cat(flat % shape[k].extent(), out.empty() ? "" : ",", out);
    flat /= shape[k].extent();
  }
  return cat("[", out, "]");
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

Known exact(TypeId type, Bytes data) { return {type, std::move(data), {}}; }

Result<std::vector<Known>> evaluate_step(const OpDef& op, const Attrs& attrs,
                                         const std::vector<const Known*>& args,
                                         const std::vector<TypeId>& types, uint64_t seed,
                                         Sums sums) {
  std::mt19937_64 next(seed);
  std::vector<TypeId> in;
  Buffers operands;
  for (const Known* arg : args) {
    in.push_back(arg->type);
    operands.push_back(arg->right);
  }
  BYOC_TRY(Buffers right, run(op, attrs, in, types, operands));
  std::vector<Known> out;
  for (size_t k = 0; k < types.size(); ++k) out.push_back(exact(types[k], right[k]));
  BYOC_TRY_STATUS(check_integers(op, out));
  if (!rounds_anything(op, args, types)) return out;
  BYOC_TRY_STATUS(check_range(op, args, out));
  if (!args.empty()) BYOC_TRY_STATUS(check_image(op, attrs, *args[0]));
  BYOC_TRY_STATUS(check_products(op, attrs, args, out));
  BYOC_TRY(std::vector<SumErrors> errors, errors_of_sums(op, attrs, args, out));
  if (sums == Sums::kInTiles) BYOC_TRY_STATUS(add_errors_of_tiles(op, attrs, args, out, errors[0]));
  for (size_t trial = 0; trial < kEvaluations; ++trial) {
    BYOC_TRY(Buffers moved, evaluate_moved(op, attrs, args, types, errors, trial, next));
    for (size_t k = 0; k < out.size(); ++k) out[k].moved.push_back(std::move(moved[k]));
  }
  // Sums of no terms are zeros, however large the usual error of a zero is.
  const bool has_terms =
      std::ranges::all_of(args, [](const Known* arg) { return element_count(arg->type) > 0; });
  for (Known& known : out) {
    if (has_terms) BYOC_TRY_STATUS(check_agreement(op, known));
    if (!is_float(known.type->dtype)) known.moved.clear();  // decided, whatever the rounding
  }
  if (jumps(op, types)) BYOC_TRY_STATUS(check_jumps(op, attrs, args, out, next));
  return out;
}

Result<std::vector<Known>> evaluate_case(const Case& graph, uint64_t seed, Sums sums) {
  std::vector<Known> leaves, out;
  std::vector<std::vector<Known>> steps;
  for (const Leaf& leaf : graph.leaves) leaves.push_back(exact(leaf.type, leaf.data));
  auto known = [&](Ref ref) -> const Known& {
    return ref.is_leaf ? leaves[ref.index] : steps[ref.index][ref.output];
  };
  for (size_t k = 0; k < graph.steps.size(); ++k) {
    const Step& step = graph.steps[k];
    std::vector<const Known*> args;
    for (Ref arg : step.args) args.push_back(&known(arg));
    BYOC_TRY(std::vector<Known> results,
             evaluate_step(*step.op, *step.attrs, args, step.types, seed + k, sums));
    steps.push_back(std::move(results));
  }
  for (Ref result : graph.results) out.push_back(known(result));
  return out;
}

std::vector<double> allowed_errors(const Known& known) {
  if (known.is_exact()) return {};
  std::vector<double> right = elements(known.type, *known.right), seen(right.size());
  for (const Bytes& bytes : known.moved) {
    std::vector<double> moved = elements(known.type, *bytes);
    for (size_t k = 0; k < seen.size(); ++k) {
      double error = std::abs(moved[k] - right[k]);
      if (std::isfinite(error)) seen[k] = std::max(seen[k], error);
    }
  }
  // All three evaluations may miss the error of one element, but not that of half of them.
  const Precision precision = precision_of(known.type->dtype);
  const double usual = middle(seen) / 2;
  for (size_t k = 0; k < seen.size(); ++k) {
    double unit = std::isfinite(right[k]) ? precision.unit * std::abs(right[k]) : 0;
    seen[k] = kSafety * std::max({seen[k], usual, unit, precision.tiny});
  }
  return seen;
}

std::string difference(const std::byte* got, const Known& wanted) {
  const TypeId type = wanted.type;
  std::vector<double> right = elements(type, *wanted.right), allowed = allowed_errors(wanted);
  std::vector<double> have = elements(type, *Buffer::copy({got, wanted.right->size()}));
  size_t wrong = 0, worst = 0;
  double worst_excess = -1;
  for (size_t k = 0; k < right.size(); ++k) {
    double bound = allowed.empty() ? 0 : allowed[k], error = std::abs(have[k] - right[k]);
    bool is_same = have[k] == right[k] || (std::isnan(have[k]) && std::isnan(right[k]));
    if (!is_float(type->dtype)) {
      size_t size = dtype_size(type->dtype);
      is_same = std::memcmp(got + k * size, wanted.right->data() + k * size, size) == 0;
    }
    if (is_same || error <= bound) continue;
    ++wrong;
    double excess = std::isfinite(error) ? error / (bound + 1e-300) : INFINITY;
    if (excess <= worst_excess) continue;
    worst_excess = excess, worst = k;
  }
  if (wrong == 0) return "";
  return cat(wrong, " of ", right.size(), " elements differ; ", type, " ",
             index_text(static_cast<int64_t>(worst), type->shape), " is ", number_text(have[worst]),
             " instead of ", number_text(right[worst]), ", allowed error ",
             number_text(allowed.empty() ? 0 : allowed[worst]));
}

}  // namespace byoc::fuzz
