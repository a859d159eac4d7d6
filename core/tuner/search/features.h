// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points as rows of numbers, for the cost model. Spaces of all kinds share one set of columns, so
// that measurements of one task teach about others.
#include <span>
#include <vector>

#include "byoc/tune/search.h"

namespace byoc::tune {

/// The task of a point, as far as features depend on it.
struct Subject {
  std::string kind;              ///< Space::kind
  double flops = 0, bytes = 0;   ///< Space::flops, Space::bytes
  const Space* space = nullptr;  ///< null for tasks of which records alone are there
};

/// The columns: per number of a knob (a knob whose values are such as "6x2" has two) its log2, its
/// ratio to the first guess, and its place among the values; per pair of numbers the product; per
/// other knob and value a 0 or 1; log2 of flops, bytes and their ratio; per kind a 0 or 1. The
/// object is immutable.
class Features {
 public:
  explicit Features(std::span<const Space* const> spaces);
  size_t width() const { return names_.size(); }  ///< the number of columns
  /// Returns the columns' names, such as "log2 chunk" or "ratio tile.1".
  const std::vector<std::string>& names() const { return names_; }
  /// Appends the row of a point. Knobs and values that no space has are left out.
  void append(const Subject& subject, const Point& point, Matrix& out) const;

 private:
  struct Number {
    size_t log, ratio, place;  // columns
  };
  using Pair = std::pair<size_t, size_t>;                    // columns of logarithms
  using Values = std::map<std::string, std::vector<float>>;  // per number, by value
  void add_knobs(std::span<const Space* const> spaces);
  void add_places(const Space& space);
  void add_pairs(const Space& space);
  size_t add_column(std::string name);
  void fill_knobs(const Subject& subject, const Point& point, std::span<float> row) const;

  std::vector<std::string> names_;
  std::map<std::string, std::vector<Number>> numbers_;               // by knob
  std::map<std::string, std::map<std::string, size_t>> categories_;  // by knob and value
  std::map<Pair, size_t> pairs_;                                     // the product's column
  std::map<std::string, size_t> kinds_;
  std::map<const Space*, std::map<std::string, Values>> places_;  // by knob; for look-ups alone
  size_t flops_ = 0, bytes_ = 0, intensity_ = 0;
};

}  // namespace byoc::tune
