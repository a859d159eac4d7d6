// SPDX-License-Identifier: Apache-2.0
#pragma once
// The machine that code is generated for.
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::te {

/// The machine that code is made for.
struct Target {
  std::string arch = "x86_64";        ///< "x86_64" or "aarch64"
  std::string cpu;                    ///< as LLVM names it: "x86-64-v3", "znver3"
  std::vector<std::string> features;  ///< those the code may use: "avx2", "fma", ...
  int vector_bits = 256;              ///< the width of a vector register
  int vector_registers = 16;          ///< the number of vector registers
  int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10;  ///< sizes of the data caches of one core
  uint32_t threads = 1;                               ///< workers of a run
  bool shares_all = false;  ///< for tests: workers share short loops, too, which costs time
  bool has(std::string_view feature) const;  ///< true when the feature is in `features`
  /// Elements of `bytes` bytes in a vector register.
  int64_t lanes(size_t bytes) const { return vector_bits / 8 / static_cast<int64_t>(bytes); }
};
/// Parses "native", "x86-64-v2" to "x86-64-v4" with or without "+avxvnni" or "+avx512vnni",
/// "aarch64", or {"cpu":..., ...} as in ABI calls. Errors: kInvalidArgument naming the known ones.
Result<Target> parse_target(std::string_view text);
/// Returns {"cpu":"x86-64-v3","features":[...],...}, which parse_target turns back into `target`.
std::string print(const Target& target);

}  // namespace byoc::te
