// SPDX-License-Identifier: Apache-2.0
// One reader for libFuzzer; BYOC_FUZZED names it.
#include <cstdint>
#include <cstdlib>

#include "mutants/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const byoc::test::Target* target = [] {
    if (const char* plugin = std::getenv("BYOC_MUTANT_PLUGIN")) byoc::test::use_plugin(plugin);
    return byoc::test::find_target(BYOC_FUZZED);
  }();
  target->read({reinterpret_cast<const char*>(data), size});
  return 0;
}
