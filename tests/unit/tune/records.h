// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records and spaces that the tests of this folder share.
#include "byoc/tune/record.h"

namespace byoc::tune::test {

/// A machine with AVX2, as Record::target has it.
inline const std::string kHere =
    R"({"arch":"x86_64","cpu":"x86-64-v3","features":["avx","avx2","fma"],"vector_bits":256,)"
    R"("vector_registers":16,"l1_bytes":32768,"l2_bytes":524288})";

/// A space of two knobs: tile 1, 2, 4, 8 and unroll 1, 4.
inline Space space_of(const std::string& task, double flops = 1000) {
  return {task,
          "conv",
          flops,
          2 * flops,
          {{"tile", {"1", "2", "4", "8"}}, {"unroll", {"1", "4"}}},
          {{{"tile", "4"}, {"unroll", "1"}}}};
}

inline Point point(const std::string& tile, const std::string& unroll = "1") {
  return {{"tile", tile}, {"unroll", unroll}};
}

inline Record record_of(const std::string& task, Point chosen, double ns) {
  Record out;
  out.plugin = "llvm", out.plugin_version = "1.2.3";
  out.task = task, out.key = key_of(out.plugin, task), out.kind = "conv";
  out.target = kHere;
  out.flops = 1000, out.bytes = 2000;
  out.point = std::move(chosen);
  out.samples_ns = {ns + 5, ns, ns + 0.25};
  out.build_ns = 1e6, out.ref_ns = 123.5;
  out.time = 1700000000, out.worker = "host:1";
  return out;
}

}  // namespace byoc::tune::test
