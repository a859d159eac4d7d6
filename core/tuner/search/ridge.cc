// SPDX-License-Identifier: Apache-2.0 Ridge regression by the normal equations and Cholesky's
// factors. The unknowns are a weight for each standardised column and for its square; with the
// squares of products of pairs, that is a polynomial of degree two in the logarithms of all knobs.
#include <cmath>
#include <numeric>

#include "byoc/base/check.h"
#include "core/tuner/search/cost_model.h"

namespace byoc::tune {
namespace {

// A column as (x - mean) * scale; a constant or absent one has scale 0.
struct Column {
  double mean = 0, scale = 0;
  double of(float x) const { return std::isnan(x) ? 0 : (x - mean) * scale; }
};

std::vector<Column> standardise(const Matrix& rows) {
  std::vector<Column> columns(rows.columns);
  for (size_t c = 0; c < rows.columns; ++c) {
    double n = 0, sum = 0, squares = 0;
    for (size_t r = 0; r < rows.rows(); ++r) {
      const double x = rows.row(r)[c];
      if (!std::isnan(x)) n += 1, sum += x, squares += x * x;
    }
    if (n == 0) continue;
    columns[c].mean = sum / n;
    const double variance = squares / n - columns[c].mean * columns[c].mean;
    if (variance > 1e-9) columns[c].scale = 1 / std::sqrt(variance);
  }
  return columns;
}

// Writes the terms of a row: two per column.
void expand(const std::vector<Column>& columns, std::span<const float> row,
            std::vector<double>& out) {
  out.clear();
  BYOC_CHECK(row.size() == columns.size(), "a row of ", row.size(), " cells for ", columns.size(),
             " columns");
  for (size_t c = 0; c < columns.size(); ++c) {
    const double x = columns[c].of(row[c]);
    out.push_back(x);
    out.push_back(x * x);
  }
}

// Solves a * x = b for a positive definite a of n * n; x replaces b. Only the lower half is read.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const size_t n = b.size();
  BYOC_CHECK(a.size() == n * n, a.size(), " factors of ", n, " unknowns");
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) {
      for (size_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    const double root = std::sqrt(a[j * n + j]);
    for (size_t i = j; i < n; ++i) a[i * n + j] /= root;
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

// Returns the weights for scores without their mean.
std::vector<double> fit(const std::vector<Column>& columns, const Matrix& rows,
                        std::span<const float> scores, double mean) {
  constexpr double kPenalty = 0.3;  // per weight, in units of one row
  const size_t n = 2 * columns.size();
  BYOC_CHECK(scores.size() == rows.rows(), scores.size(), " scores of ", rows.rows(), " rows");
  std::vector<double> a(n * n), b(n), x;
  for (size_t c = 0; c < n; ++c) a[c * n + c] = kPenalty;
  for (size_t r = 0; r < rows.rows(); ++r) {
    expand(columns, rows.row(r), x);
    for (size_t i = 0; i < n; ++i) {
      if (x[i] == 0) continue;
      b[i] += x[i] * (scores[r] - mean);
      for (size_t j = 0; j <= i; ++j) a[i * n + j] += x[i] * x[j];
    }
  }
  solve(a, b);
  return b;
}

Result<Predictor> train_ridge(const Matrix& rows, std::span<const float> scores) {
  double mean = 0;
  for (float score : scores) mean += score / static_cast<double>(scores.size());
  const std::vector<Column> columns = standardise(rows);
  const std::vector<double> weights = fit(columns, rows, scores, mean);
  return Predictor([columns, weights, mean](const Matrix& points) -> Result<std::vector<float>> {
    std::vector<float> out;
    std::vector<double> x;
    for (size_t r = 0; r < points.rows(); ++r) {
      expand(columns, points.row(r), x);
      BYOC_CHECK(x.size() == weights.size(), x.size(), " terms have ", weights.size(), " weights");
      out.push_back(
          static_cast<float>(std::inner_product(x.begin(), x.end(), weights.begin(), mean)));
    }
    return out;
  });
}

}  // namespace

CostModel ridge_regression() { return {"ridge regression", train_ridge}; }

CostModel best_model([[maybe_unused]] uint64_t seed) {
#ifdef BYOC_XGBOOST
  return boosted_trees(seed);
#else
  return ridge_regression();
#endif
}

}  // namespace byoc::tune
