// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes of bytes and of structure, drawn from a seed.
#include <cstdint>

#include "mutants/targets.h"

namespace byoc::test {

/// Numbers from a seed: splitmix64, the same on all machines.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number below n; 0 for n = 0.
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>((*this)() % n); }
  template <class Range>
  const auto& of(const Range& range) {
    return *(std::begin(range) + static_cast<std::ptrdiff_t>(below(std::size(range))));
  }

 private:
  uint64_t state_;
};

/// Returns a mutant of `seed`: one to four changes that fit the form. `other` is a seed to take
/// parts from.
Bytes mutant(Target::Form form, const Bytes& seed, const Bytes& other, Draw& draw);

/// Changes any bytes, or the digits of a number in them.
void change_bytes(Bytes& bytes, const Bytes& other, Draw& draw);
/// Changes a value of a JSON text: its type, its size, or its presence. Other texts stay.
void change_json(Bytes& text, Draw& draw);
/// Changes a field of a protobuf message at any depth; the lengths around it stay right.
void change_protobuf(Bytes& message, Draw& draw);
/// Changes the manifest or a section of an artifact, and makes all hashes and sizes right again.
void change_artifact(Bytes& artifact, const Bytes& other, Draw& draw);
/// Makes sizes and hashes of an artifact's header right again, where it has a whole one.
void make_hashes_right(Bytes& artifact);

}  // namespace byoc::test
