// SPDX-License-Identifier: Apache-2.0
// The result is round(a * (a_scale / y_scale) + (b * (b_scale / y_scale) + shift)), with all zero
// points in the shift. ONNX Runtime's kernel computes the same, in multiply-adds.
#include "core/codegen/integers/sums.h"

#include <algorithm>
#include <cmath>

#include "core/codegen/integers/constants.h"

namespace byoc::integers {
namespace {

constexpr float kMostFactor = 1 << 20, kMostShift = 1 << 30;  // of add_integers

struct Sum {
  DType to = DType::kU8;
  float factors[2] = {1, 1}, shift = 0;
  int64_t min = 0, max = 255;
};

std::string sum_pattern() {
  return cat(
      R"({"op": "quantize", "args": [{"optional": {"op": "relu", "args": ["$"], "as": "relu"},
      "on": {"op": "add", "args": [)",
      dequantized("a", "any"), ", ", dequantized("b", "any"),
      R"(], "as": "add"}}, {"const": true, "as": "y_scale"}, {"const": true, "as": "y_zero"}],
      "as": "quantize"})");
}

// Returns nullopt for scales per channel, broadcasts and factors that are too large.
std::optional<Sum> read_sum(const Function& from, const Match& match) {
  const TypeId a = from.type(*captured(match, "a")), b = from.type(*captured(match, "b"));
  Sum out{.to = from.type(*captured(match, "y_zero"))->dtype};
  if (!is_byte(a->dtype) || !is_byte(b->dtype) || !is_byte(out.to) || a->shape != b->shape)
    return std::nullopt;
  const std::optional<Scale> scales[] = {scale_of(from, match, "a"), scale_of(from, match, "b"),
                                         scale_of(from, match, "y")};
  for (const std::optional<Scale>& scale : scales)
    if (!scale || !scale->is_single() || scale->zero_points.size() != 1) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) out.factors[k] = scales[k]->factor(0) / scales[2]->factor(0);
  const float zero = scales[2]->zero_point(0);
  out.shift = zero - std::fma(out.factors[0], scales[0]->zero_point(0),
                              out.factors[1] * scales[1]->zero_point(0));
  for (float factor : out.factors)
    if (!(factor <= kMostFactor)) return std::nullopt;
  if (!(std::fabs(out.shift) <= kMostShift)) return std::nullopt;
  out.min = out.to == DType::kI8 ? -128 : 0, out.max = out.to == DType::kI8 ? 127 : 255;
  if (captured(match, "relu")) out.min = std::max(out.min, static_cast<int64_t>(zero));
  return out;
}

}  // namespace

Result<Function> with_integer_sums(IRModule& module, const Function& function,
                                   const OpRegistry& ops) {
  BYOC_TRY(Pattern pattern, Pattern::parse(sum_pattern()));
  return rewrite(
      function, pattern,
      [&](const Match& match, Rewriter& rewriter) -> Result<std::optional<ValueId>> {
        const std::optional<Sum> sum = read_sum(function, match);
        if (!sum) return std::optional<ValueId>();
        Adder add(module, ops, rewriter.to(), function.nodes[captured(match, "add")->node].loc);
        return std::optional(
            add.add("add_integers",
                    {{"to", sum->to},
                     {"a_factor", double{sum->factors[0]}},
                     {"b_factor", double{sum->factors[1]}},
                     {"shift", double{sum->shift}},
                     {"min", sum->min},
                     {"max", sum->max}},
                    {rewriter.map(*captured(match, "a")), rewriter.map(*captured(match, "b"))}));
      });
}

}  // namespace byoc::integers
