// SPDX-License-Identifier: Apache-2.0
// Images of open sizes at the least, the largest and every size between: convolutions, windows,
// Pad, Resize.
#include "plugins/llvm/families/chain/schedule.h"
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

using at_sizes::expect_all;
using at_sizes::Sizes;

const Sizes kImages = {{"H", 3, 15}, {"W", 4, 19}};

// Returns the text of a function of an image, an operand `more` and the node `%0`.
at_sizes::TextOf of_image(int64_t channels, std::string more, std::string node) {
  return [=](const std::vector<std::string>& d) {
    return cat("fn main(%x: f32[1,", channels, ",", d[0], ",", d[1], "]", more, ") {\n  ", node,
               "\n  return %0\n}\n");
  };
}

TEST(OpenImages, OfConvolutions) {
  expect_all(kImages, of_image(3, ", %w: f32[16,3,3,3]", "%0 = conv2d(%x, %w) {pads=[1,1,1,1]}"));
  expect_all(kImages, of_image(16, ", %w: f32[32,16,3,3]",
                               "%0 = conv2d(%x, %w) {pads=[1,1,1,1], strides=[2,2]}"));
  expect_all(kImages, of_image(16, ", %w: f32[24,16,1,1]", "%0 = conv2d(%x, %w)"));
  expect_all(kImages, of_image(8, ", %w: f32[8,8,1,1]", "%0 = conv2d(%x, %w) {strides=[2,2]}"));
}

TEST(OpenImages, OfConvolutionsInGroups) {
  expect_all(kImages,
             of_image(16, ", %w: f32[16,1,3,3]", "%0 = conv2d(%x, %w) {pads=[1,1,1,1], group=16}"));
  expect_all(kImages, of_image(16, ", %w: f32[16,1,5,5]",
                               "%0 = conv2d(%x, %w) {pads=[2,2,2,2], strides=[2,2], group=16}"));
  expect_all(kImages,
             of_image(16, ", %w: f32[32,4,3,3]", "%0 = conv2d(%x, %w) {pads=[1,1,1,1], group=4}"));
}

TEST(OpenImages, OfConvolutionsInBlocks) {
  const Sizes sizes = {{"B", 1, 3}, {"H", 3, 6}, {"W", 4, 18}};
  for (const char* window : {"3,3,16,16]) {\n  %0 = conv2d_nchwc(%x, %w) {pads=[1,1,1,1]}",
                             "1,1,16,16]) {\n  %0 = conv2d_nchwc(%x, %w) {strides=[2,2]}",
                             "1,1,16,16]) {\n  %0 = conv2d_nchwc(%x, %w)"}) {
    expect_all(sizes, [=](auto& d) {
      return cat("fn main(%x: f32[", d[0], ",2,", d[1], ",", d[2], ",16], %w: f32[3,2,", window,
                 "\n  %1 = relu(%0)\n  return %1\n}\n");
    });
  }
}

// A convolution of one pixel, a depthwise one and another of one pixel are one kernel, whose
// buffer rolls along the rows of each image.
TEST(OpenImages, OfChainsOfConvolutions) {
  for (const uint32_t threads : {1u, 2u}) {
    const at_sizes::TextOf chain = [](auto& d) {
      return cat("fn main(%x: f32[", d[0],
                 ",2,9,11,8], %a: f32[4,2,1,1,8,8], %w: f32[4,1,3,3,1,8],",
                 " %b: f32[2,4,1,1,8,8]) {\"llvm.families\"=\"+chain\"} {\n",
                 "  %0 = conv2d_nchwc(%x, %a)\n  %1 = relu(%0)\n",
                 "  %2 = conv2d_nchwc(%1, %w) {pads=[1,1,1,1], group=32}\n  %3 = relu(%2)\n",
                 "  %4 = conv2d_nchwc(%3, %b)\n  %5 = add(%4, %x)\n  return %5\n}\n");
    };
    const Sizes batches = {{"B", 1, 5}};
    const IRModule module = at_sizes::module_of(chain, {batches[0].text()});
    auto dags = llvm_plugin::translate_open(module, llvm_plugin::host_target());
    ASSERT_TRUE(dags.ok()) << dags.status().to_string();
    EXPECT_TRUE(std::ranges::any_of(dags->open.stages, [](const te::Stage& stage) {
      return stage.compute == llvm_plugin::chain::kCompute;
    }));
    expect_all(batches, chain, threads);
  }
}

TEST(OpenImages, OfConvolutionsOfSignals) {
  expect_all({{"B", 1, 3}, {"T", 3, 40}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",8,", d[1], "], %w: f32[24,8,3]) {\n",
               "  %0 = conv1d(%x, %w) {pads=[1,1], strides=[2]}\n  return %0\n}\n");
  });
}

TEST(OpenImages, OfTransposedConvolutions) {
  expect_all({{"B", 1, 2}, {"H", 1, 5}, {"W", 1, 9}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",6,", d[1], ",", d[2], "], %w: f32[6,8,3,3]) {\n",
               "  %0 = conv2d_transpose(%x, %w) {strides=[2,2], pads=[1,1,1,1]}\n",
               "  return %0\n}\n");
  });
}

TEST(OpenImages, OfPools) {
  constexpr const char* kWindow = "{kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]";
  for (const char* op : {"max_pool(%x) ", "average_pool(%x) "}) {
    for (const char* more : {"}", ", ceil_mode=true}"})
      expect_all(kImages, of_image(4, "", cat("%0 = ", op, kWindow, more)));
    expect_all(kImages, of_image(4, "", cat("%0 = ", op, "{kernel_shape=[2,2], strides=[2,2]}")));
  }
  expect_all(kImages,
             of_image(4, "", cat("%0 = average_pool(%x) ", kWindow, ", count_include_pad=true}")));
}

TEST(OpenImages, OfPoolsOfPlanes) {
  expect_all(kImages, of_image(5, "", "%0 = global_average_pool(%x)"));
  expect_all(kImages, of_image(5, "", "%0 = global_max_pool(%x)"));
}

TEST(OpenImages, OfPads) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    expect_all(kImages,
               of_image(2, "", cat("%0 = pad(%x) {pads=[0,0,1,2,0,0,2,1], mode=\"", mode, "\"}")));
  }
}

void expect_resizes(const std::string& how, const char* scales) {
  SCOPED_TRACE(cat(how, " by ", scales));
  expect_all({{"H", 3, 9}, {"W", 4, 18}},
             of_image(2, "", cat("%0 = resize(%x) {scales=[1.0,1.0,", scales, "], ", how, "}")));
}

TEST(OpenImages, OfResizesToTheNearestCells) {
  for (const char* how : {"coordinates=\"asymmetric\", nearest=\"floor\"",
                          "nearest=\"round_prefer_ceil\"", "coordinates=\"pytorch_half_pixel\""})
    expect_resizes(how, "2.0,2.0");
}

TEST(OpenImages, OfResizesBetweenCells) {
  for (const char* how : {"mode=\"linear\"", "mode=\"linear\", coordinates=\"align_corners\"",
                          "mode=\"linear\", coordinates=\"pytorch_half_pixel\"",
                          "mode=\"linear\", coordinates=\"half_pixel_symmetric\"", "mode=\"cubic\"",
                          "mode=\"linear\", antialias=true"}) {
    expect_resizes(how, "2.0,2.0");
    expect_resizes(how, "0.5,1.5");
  }
}

// Facts about loops of one extent are not used where only the sizes of the other are: the channels
// of a convolution over pools, from blocks.
TEST(OpenImages, OfExtentsThatAreExpressionsOfOneSize) {
  expect_all({{"S", 6, 13}}, [](auto& d) {
    const bool is_open = d[0].find("S") != std::string::npos;
    const int64_t s = is_open ? 0 : std::stoll(d[0]);
    const std::string height =
        is_open ? cat("(div(div(div(S+1,2)+1,2),2) : ", d[0], ")") : cat(((s + 1) / 2 + 1) / 2 / 2);
    const std::string width = is_open ? cat("(div(S+1,2)-1 : ", d[0], ")") : cat((s + 1) / 2 - 1);
    return cat("fn main(%s: f32[", d[0], "], %x: f32[1,1,", height, ",", width, ",8]) {\n",
               "  %0 = transpose(%x) {perm=[0,1,4,2,3]}\n  return %0\n}\n");
  });
}

TEST(OpenImages, OfConcats) {
  expect_all(kImages, of_image(3, "",
                               "%1 = max_pool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
                               "  %0 = concat(%x, %1) {axis=1}"));
}

TEST(OpenImages, TooSmallForAWindowAreRefused) {
  auto module = parse_module(
      "fn main(%x: f32[1,2,2<=H<=9,8]) {\n  %0 = max_pool(%x) {kernel_shape=[3,3]}\n"
      "  return %0\n}\n",
      all_ops());
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.status().message().find(
                "a window that reaches over 3 needs an extent of 3, and 2<=H<=9 may be 2"),
            std::string::npos)
      << module.status().to_string();
}

TEST(OpenImages, OfMeansOfVolumes) {
  expect_all({{"B", 1, 3}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",5,2,3,4]) {\n  %0 = global_average_pool(%x)\n",
               "  %1 = global_lp_pool(%x) {p=3}\n  return %0, %1\n}\n");
  });
  expect_all({{"D", 1, 4}}, [](auto& d) {
    return cat("fn main(%x: f32[2,3,", d[0], ",3,2]) {\n  %0 = global_max_pool(%x)\n",
               "  return %0\n}\n");
  });
}

// Its cells are one axis with numbers, and must be one with an open depth, which schedules with
// numbers are replayed on.
TEST(OpenImages, PoolsOfWholeVolumes) {
  at_sizes::expect_all({{"D", 1, 9}}, [](auto& d) {
    return cat("fn main(%x: f32[1,2,1,", d[0], ",1], %y: f32[2,3,", d[0], ",4,5]) {\n",
               "  %0 = global_lp_pool(%x) {p=1}\n  %1 = global_average_pool(%y)\n",
               "  %2 = global_max_pool(%y)\n  return %0, %1, %2\n}\n");
  });
}

}  // namespace
}  // namespace byoc
