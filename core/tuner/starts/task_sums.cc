// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/starts/task_sums.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "byoc/base/check.h"
#include "core/tuner/search/task_text.h"

namespace byoc::tune {
namespace {

double rounded_up(double n, double block) { return std::ceil(n / block) * block; }

}  // namespace

std::string text_of(double count) { return cat(static_cast<int64_t>(std::clamp(count, 1.0, 1e9))); }

std::string first_value(const Space& space, const char* knob) {
  BYOC_CHECK(!space.guesses.empty(), "a space that starts have been found for has a guess");
  const auto at = space.guesses.front().find(knob);
  return at == space.guesses.front().end() ? std::string() : at->second;
}

std::optional<SumExtents> extents_of(const Space& space) {
  const auto anchor = anchor_of(space.task);
  if (!anchor || anchor->shape.size() < 2) return std::nullopt;
  const auto& y = anchor->shape;
  const auto& terms = anchor->terms;
  SumExtents out{.is_conv = anchor->op == "conv2d_nchwc"};
  if (out.is_conv) {  // y: [n, blocks, h, w, block], sum: [blocks, kh, kw, block]
    if (y.size() != 5 || terms.size() != 4) return std::nullopt;
    out.rows = 1.0 * y[0] * y[2] * y[3], out.columns = 1.0 * y[1] * y[4];
    out.terms = 1.0 * terms[0] * terms[3];
    out.kh = terms[1], out.kw = terms[2], out.column_block = y[4], out.term_block = terms[3];
    return out;
  }
  const auto ops = {"matmul", "gemm", "matmul_packed"};
  if (std::find(ops.begin(), ops.end(), anchor->op) == ops.end() || terms.size() != 1)
    return std::nullopt;
  out.rows = std::accumulate(y.begin(), y.end() - 1, 1.0, std::multiplies<double>());
  out.columns = y.back(), out.terms = terms[0];
  for (const auto& tensor : anchor->tensors) {  // weights: [blocks of columns, terms, block]
    if (anchor->op == "matmul_packed" && tensor.size() == 3 && tensor[1] == out.terms &&
        1.0 * tensor[0] * tensor[2] >= out.columns)
      out.column_block = tensor[2];
  }
  return out;
}

bool is_same_shape(const SumExtents& record, const SumExtents& task) {
  const int64_t columns = rounded_up(record.columns, task.column_block);
  return record.is_conv == task.is_conv && record.rows == task.rows && record.kh == task.kh &&
         record.kw == task.kw && rounded_up(task.columns, task.column_block) == columns &&
         rounded_up(record.terms, task.term_block) == task.terms;
}

}  // namespace byoc::tune
