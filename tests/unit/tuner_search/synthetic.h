// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spaces whose times are given by formulas, so that the best point is there by enumeration.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "core/tuner/search/grid.h"

namespace byoc::tune {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

inline std::vector<std::string> numbers(int from, int to) {
  std::vector<std::string> out;
  for (int k = from; k <= to; ++k) out.push_back(std::to_string(k));
  return out;
}

inline std::vector<std::string> powers(int n) {
  std::vector<std::string> out;
  for (int k = 0; k < n; ++k) out.push_back(std::to_string(1 << k));
  return out;
}

// A space with the time of each of its points; infinity: it fails.
struct Synthetic {
  std::unique_ptr<Space> space;
  std::function<double(const Point&)> time_ns;

  double best_ns() const {
    const Grid grid(*space);
    double best = kNever;
    Genes genes(space->knobs.size());
    for (size_t k = 0; k < static_cast<size_t>(grid.size()); ++k, grid.advance(genes))
      best = std::min(best, time_ns(grid.point(genes)));
    return best;
  }
};

// A convolution of 3x3 in tiles of registers, with `width` columns and c blocks of terms. Tiles
// that exceed 16 registers fail, small ones wait for sums, data that exceed a cache cost time, and
// so do the remainders of rows. 10,000 points. The guess is a tile of one sum.
inline Synthetic convolution(int width, int c, const std::string& kind = "conv") {
  auto space = std::make_unique<Space>();
  space->task = kind + " " + std::to_string(width) + " " + std::to_string(c);
  space->kind = kind;
  space->flops = 2.0 * 9 * width * width * c * 8 * c * 8;
  space->bytes = 4.0 * (2 * width * width * c * 8 + 9 * c * c * 64);
  space->knobs = {{"cells", numbers(1, 10)},
                  {"vectors", numbers(1, 4)},
                  {"o_panel", powers(5)},
                  {"chunk", powers(10)},
                  {"taps", {"loop", "around", "inside", "split", "none"}}};
  space->guesses = {
      {{"cells", "1"}, {"vectors", "1"}, {"o_panel", "1"}, {"chunk", "1"}, {"taps", "loop"}}};
  const double flops = space->flops;
  const auto time_ns = [=](const Point& point) {
    const auto knob = [&](const char* name) { return std::stod(point.at(name)); };
    const double cells = knob("cells"), vectors = knob("vectors"), sums = cells * vectors;
    if (sums + vectors + 1 > 16) return kNever;
    const double chunk = std::min<double>(knob("chunk"), c);
    double cycles = flops / 16 * std::max({1.0, 10 / sums, (cells + vectors) / sums});
    cycles *= std::ceil(width / cells) * cells / width;
    const double panel_bytes = knob("o_panel") * vectors * chunk * 9 * 64 * 4;
    const double tile_bytes = vectors * chunk * 9 * 64 * 4 + chunk * 3 * (cells + 2) * 32;
    cycles *= 1 + 0.4 / (1 + std::exp2(2 * (std::log2(32768) - std::log2(tile_bytes))));
    cycles *= 1 + 1.0 / (1 + std::exp2(2 * (std::log2(524288) - std::log2(panel_bytes))));
    cycles *= 1 + 0.2 * (c / chunk - 1) / c * 8;
    cycles *= 1 + 0.3 / knob("o_panel");
    const std::string& taps = point.at("taps");
    if (taps == "loop") cycles *= 1.15;
    if (taps == "around") cycles *= sums > 8 ? 1.02 : 1.1;
    if (taps == "inside") cycles *= sums > 8 ? 1.2 : 1.0;
    if (taps == "split") cycles *= 1.08;
    if (taps == "none") cycles *= 1.4;
    return cycles / 3.5;
  };
  return {std::move(space), time_ns};
}

// A bowl in the logarithms of four knobs of ten values, with one valley across two of them.
inline Synthetic bowl(double a, double b) {
  auto space = std::make_unique<Space>();
  space->task = "bowl " + std::to_string(a) + " " + std::to_string(b);
  space->kind = "bowl";
  space->flops = space->bytes = 1e6;
  for (const char* name : {"k", "m", "n", "u"}) space->knobs.push_back({name, powers(10)});
  space->guesses = {{{"k", "1"}, {"m", "512"}, {"n", "1"}, {"u", "512"}}};
  const auto time_ns = [a, b](const Point& point) {
    const auto log = [&](const char* name) { return std::log2(std::stod(point.at(name))); };
    const double valley = log("m") + log("n") - 9, along = log("m") - a, u = log("u") - b;
    return 1e5 * (1 + 0.10 * valley * valley + 0.04 * along * along + 0.06 * u * u +
                  0.02 * std::abs(log("k") - 4));
  };
  return {std::move(space), time_ns};
}

}  // namespace byoc::tune
