// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the tuner's search that a program or a library may replace: the model that predicts
// how fast points are, and the choice of the points that are measured.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "byoc/base/status.h"
#include "byoc/tune/space.h"

namespace byoc::tune {

/// Rows of numbers; NaN: the row has no such property.
struct Matrix {
  size_t columns = 0;                                                        ///< of each row
  std::vector<float> cells;                                                  ///< row by row
  size_t rows() const { return columns == 0 ? 0 : cells.size() / columns; }  ///< their number
  /// Returns one row.
  std::span<const float> row(size_t k) const { return {cells.data() + k * columns, columns}; }
};

/// Returns a score per row: greater is faster. Errors: those of the library.
using Predictor = std::function<Result<std::vector<float>>(const Matrix& rows)>;
/// Trains on rows and their scores, of which there is at least one. Deterministic. Errors: those of
/// the library.
using Trainer = std::function<Result<Predictor>(const Matrix& rows, std::span<const float> scores)>;

/// A kind of model.
struct CostModel {
  std::string name;  ///< with the library's version, such as "xgboost 1.7.4"
  Trainer train;     ///< makes a model of this kind
};

/// A point that was measured.
struct TriedPoint {
  Point point;    ///< inside of the space
  double ns = 0;  ///< its time; infinity: it failed
};

/// Returns at most `count` points of the space that are measured next. Points that were returned
/// before are left out; none: the task is done. A point outside of the space is an error, slug
/// "library-fault". The first points of a task are the plugin's guesses, which `tried` has.
using PointSearch = std::function<std::vector<Point>(
    const Space& space, std::span<const TriedPoint> tried, size_t count)>;

}  // namespace byoc::tune
