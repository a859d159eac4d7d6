// SPDX-License-Identifier: Apache-2.0
// One reader for libFuzzer: BYOC_FUZZED is its function, BYOC_FORM the form of its input.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "mutants/mutate.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* plugin = std::getenv("BYOC_MUTANT_PLUGIN")) byoc::test::use_plugin(plugin);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  byoc::test::BYOC_FUZZED({reinterpret_cast<const char*>(data), size});
  return 0;
}

/// Half of the changes are by libFuzzer, which follows comparisons; others keep the form of a file.
/// Hashes of artifacts are right except in one of 16: libFuzzer cannot guess them.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace byoc::test;
  constexpr Target::Form kForm = Target::BYOC_FORM;
  Draw draw(seed);
  if (draw.below(2) == 0) size = LLVMFuzzerMutate(data, size, max_size);
  Bytes bytes(reinterpret_cast<const char*>(data), size);
  if (draw.below(2) == 0) bytes = mutant(kForm, bytes, bytes, draw);
  if (kForm == Target::kArtifact && draw.below(16) != 0) make_hashes_right(bytes);
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
