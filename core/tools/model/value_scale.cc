// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/value_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/element_type.h"

namespace byoc::driver {
namespace {

constexpr int kOctaves = 1025;       // [2^k, 2^(k+1)) for each k of a finite double from 0 on
constexpr int kFirstLarge = 10;      // 1024: networks' own values are seldom greater
constexpr double kLargestStep = 64;  // between consecutive magnitudes of values of one kind

/// The ranges of magnitudes: one range below 1024, and one per octave from there on.
struct Magnitudes {
  struct Range {
    double least = INFINITY, most = 0;
    bool is_empty() const { return least == INFINITY; }
    void add(double x) { least = std::min(least, x), most = std::max(most, x); }
  };
  Range ordinary;
  std::array<Range, kOctaves> large;

  void add(double magnitude) {
    const int octave = magnitude < 1 ? 0 : std::ilogb(magnitude);
    (octave < kFirstLarge ? ordinary : large[static_cast<size_t>(octave)]).add(magnitude);
  }
};

}  // namespace

double value_scale(const Tensor& tensor) {
  Magnitudes found;
  with_element_type(tensor.spec().dtype, [&](auto zero) {
    auto* data = reinterpret_cast<const decltype(zero)*>(tensor.data());
    const int64_t n = num_elements(tensor.spec());
    for (int64_t k = 0; k < n; ++k) {
      const double magnitude = std::abs(static_cast<double>(data[k]));
      if (std::isfinite(magnitude)) found.add(magnitude);
    }
  });
  bool has_any = !found.ordinary.is_empty();
  double scale = found.ordinary.most;
  for (const Magnitudes::Range& octave : found.large) {
    if (octave.is_empty()) continue;
    if (has_any && octave.least > kLargestStep * std::max(scale, 1.0)) return std::max(scale, 1.0);
    scale = octave.most;
    has_any = true;
  }
  return scale;
}

}  // namespace byoc::driver
