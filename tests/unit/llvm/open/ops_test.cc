// SPDX-License-Identifier: Apache-2.0
// Functions with open sizes at each size: sorting, running sums, einsum.
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

using at_sizes::expect_all;
using at_sizes::Sizes;

const Sizes kOpenRows = {{"B", 1, 3}, {"T", 1, 19}};

TEST(OpenOps, OfEinsum) {
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",8], %y: f32[", d[0], ",", d[1], ",8]) {\n",
               "  %0 = einsum(%x, %y) {equation=\"bik,bjk->bij\"}\n  return %0\n}\n");
  });
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",4], %y: f32[4,6]) {\n",
               "  %0 = einsum(%x, %y) {equation=\"...k,kn->n...\"}\n  return %0\n}\n");
  });
}

TEST(OpenOps, OfRunningSums) {
  for (const char* attrs : {"axis=1", "axis=0, reverse=true", "axis=1, exclusive=true"}) {
    expect_all(kOpenRows, [=](auto& d) {
      return cat("fn main(%x: f32[", d[0], ",", d[1], ",5]) {\n  %0 = cumsum(%x) {", attrs,
                 "}\n  %1 = cumprod(%x) {", attrs, "}\n  return %0, %1\n}\n");
    });
  }
}

TEST(OpenOps, OfTheBest) {
  for (uint32_t threads : {1u, 3u}) {
    expect_all(
        {{"B", 1, 3}, {"T", 4, 40}},
        [](auto& d) {
          return cat("fn main(%x: f32[", d[0], ",", d[1], ",2]) {\n",
                     "  %0 = topk(%x) {k=4, axis=1}\n  return %0#0, %0#1\n}\n");
        },
        threads);
  }
  expect_all({{"B", 1, 40}, {"T", 1, 9}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",64]) {\n",
               "  %0 = topk(%x) {k=3, axis=-1, largest=false}\n  return %0#0, %0#1\n}\n");
  });
}

TEST(OpenOps, OfBlocksOfCells) {
  for (const char* mode : {"DCR", "CRD"}) {
    const auto attrs = cat(" {blocksize=2, mode=\"", mode, "\"}\n");
    expect_all({{"B", 1, 3}, {"H", 1, 9}, {"W", 1, 20}}, [&](auto& d) {
      return cat("fn main(%x: f32[", d[0], ",8,", d[1], ",", d[2], "]) {\n",
                 "  %0 = depth_to_space(%x)", attrs, "  %1 = space_to_depth(%0)", attrs,
                 "  return %0, %1\n}\n");
    });
  }
}

TEST(OpenOps, OfTilesDeterminantsAndRanges) {
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",3]) {\n",
               "  %0 = tile(%x) {repeats=[2,3,1]}\n  return %0\n}\n");
  });
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",3,3]) {\n",
               "  %0 = det(%x)\n  return %0\n}\n");
  });
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], "]) {\n", "  %0 = argmax(%x) {axis=1}\n",
               "  %1 = check_range(%0) {end=19, of=\"gather.indices\"}\n  return %1\n}\n");
  });
}

TEST(OpenOps, OfTransforms) {
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",12,1]) {\n",
               "  %0 = dft(%x) {onesided=true}\n  return %0\n}\n");
  });
}

TEST(OpenOps, OfLinearAttention) {
  for (uint32_t threads : {1u, 3u}) {
    expect_all(
        kOpenRows,
        [](auto& d) {
          const std::string rows = cat("f32[", d[0], ",", d[1], ",");
          return cat("fn main(%q: ", rows, "8], %k: ", rows, "8], %v: ", rows, "6], %s: f32[", d[0],
                     ",2,4,3], %g: ", rows,
                     "2]) {\n  %0 = linear_attention(%q, %k, %v, %s, %g) {rule=\"gated\", ",
                     "q_heads=2, kv_heads=2}\n  return %0#0, %0#1\n}\n");
        },
        threads);
  }
}

TEST(OpenOps, OfDiagonalsAndColumns) {
  expect_all(kOpenRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], "]) {\n  %0 = eye_like(%x) {k=1}\n",
               "  return %0\n}\n");
  });
  expect_all({{"B", 1, 3}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",8,9]) {\n  %0 = col2im(%x) {image_shape=[4,4], ",
               "block_shape=[2,2]}\n  return %0\n}\n");
  });
}

}  // namespace
}  // namespace byoc
