// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pseudo-random numbers that are the same on every machine and with every standard library.
#include <cstddef>
#include <cstdint>

namespace byoc::tune {

/// SplitMix64. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// Returns 64 random bits.
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number below n, which is at least 1.
  size_t below(size_t n) { return next() % n; }
  /// Returns a number of [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace byoc::tune
