// SPDX-License-Identifier: Apache-2.0
// Functions with open sizes at each size: elementwise ops, rows, products, moves.
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/knobs.h"
#include "plugins/llvm/open/flat_rows.h"
#include "plugins/llvm/open/schedule_as.h"
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

using at_sizes::expect_all;
using at_sizes::module_of;
using at_sizes::Sizes;

const Sizes kRows = {{"B", 1, 4}, {"T", 1, 33}};

TEST(OpenSizes, OfElementwiseOps) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",64], %b: f32[64]) {\n",
               "  %0 = add(%x, %b)\n  %1 = exp(%0)\n  %2 = multiply(%1, %x)\n  return %2\n}\n");
  });
}

TEST(OpenSizes, OfShortRows) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",5], %b: f32[", d[0], ",1,5]) {\n",
               "  %0 = add(%x, %b)\n  %1 = relu(%0)\n  return %1\n}\n");
  });
}

TEST(OpenSizes, OfTheLastDim) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",3,", d[1], "], %m: f32[", d[0], ",1,", d[1], "]) {\n",
               "  %0 = add(%x, %m)\n  %1 = tanh(%0)\n  return %1\n}\n");
  });
}

TEST(OpenSizes, OfNorms) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",48], %s: f32[48], %b: f32[48]) {\n",
               "  %0 = layer_norm(%x, %s, %b)\n  return %0\n}\n");
  });
}

TEST(OpenSizes, OfSoftmaxOverThem) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",2,", d[1], ",", d[1], "], %m: f32[", d[0], ",1,1,", d[1],
               "]) {\n  %0 = add(%x, %m)\n  %1 = softmax(%0)\n  return %1\n}\n");
  });
}

TEST(OpenSizes, OfMeansOverThem) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",40]) {\n",
               "  %0 = mean(%x) {axes=[1], keepdims=false}\n  return %0\n}\n");
  });
}

TEST(OpenSizes, OfQuantisedSteps) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",24], %s: f32[], %z: u8[], %w: i8[24,40]) {\n",
               "  %0 = quantize(%x, %s, %z)\n  %1 = matmul_integers(%0, %w)\n",
               "  %2 = requantize(%1, %s) {to=u8, min=0, max=255, zero_point=5}\n",
               "  %3 = dequantize(%2, %s, %z)\n  return %1, %2, %3\n}\n");
  });
}

TEST(OpenSizes, OfTransposes) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",4,16]) {\n",
               "  %0 = transpose(%x) {perm=[0,2,1,3]}\n  return %0\n}\n");
  });
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",40]) {\n",
               "  %0 = transpose(%x) {perm=[0,2,1]}\n  return %0\n}\n");
  });
}

TEST(OpenSizes, OfReshapes) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",", d[1], ",64]) {\n",
               "  %0 = reshape(%x) {shape=[0,0,4,16]}\n  %1 = transpose(%0) {perm=[0,2,1,3]}\n",
               "  %2 = relu(%1)\n  return %2\n}\n");
  });
}

TEST(OpenSizes, OfGathersOfRows) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%w: f32[9,24], %i: i64[", d[0], ",", d[1], "]) {\n",
               "  %0 = gather(%w, %i) {axis=0}\n  return %0\n}\n");
  });
}

TEST(OpenSizes, OfProductsWithWeights) {
  for (uint32_t threads : {1, 3}) {
    expect_all(
        kRows,
        [](auto& d) {
          return cat(
              "fn main(%x: f32[", d[0], ",", d[1], ",24], %w: f32[24,72], %b: f32[72]) {\n",
              "  %0 = matmul(%x, %w)\n  %1 = add(%0, %b)\n  %2 = relu(%1)\n  return %2\n}\n");
        },
        threads);
  }
}

TEST(OpenSizes, OfProductsOfTwoOperands) {
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%q: f32[", d[0], ",2,", d[1], ",16], %k: f32[", d[0], ",2,16,", d[1],
               "]) {\n  %0 = matmul(%q, %k)\n  return %0\n}\n");
  });
  expect_all(kRows, [](auto& d) {
    return cat("fn main(%p: f32[", d[0], ",2,", d[1], ",", d[1], "], %v: f32[", d[0], ",2,", d[1],
               ",16]) {\n  %0 = matmul(%p, %v)\n  return %0\n}\n");
  });
}

// One layer of attention, with a mask and with heads that are moved out of rows.
std::string attention(const std::vector<std::string>& d) {
  return cat(
      "fn main(%x: f32[", d[0], ",", d[1], ",48], %m: f32[", d[0], ",1,1,", d[1], "]) {\n",
      "  %0 = reshape(%x) {shape=[0,0,3,2,8]}\n", "  %1 = transpose(%0) {perm=[2,0,3,1,4]}\n",
      "  %2 = slice(%1) {axes=[0], ends=[1], starts=[0]}\n", "  %3 = squeeze(%2) {axes=[0]}\n",
      "  %4 = slice(%1) {axes=[0], ends=[2], starts=[1]}\n", "  %5 = squeeze(%4) {axes=[0]}\n",
      "  %6 = slice(%1) {axes=[0], ends=[3], starts=[2]}\n", "  %7 = squeeze(%6) {axes=[0]}\n",
      "  %8 = transpose(%5) {perm=[0,1,3,2]}\n",
      "  %9 = matmul(%3, %8)\n  %10 = add(%9, %m)\n  %11 = softmax(%10)\n",
      "  %12 = matmul(%11, %7)\n  return %12\n}\n");
}

TEST(OpenSizes, OfAttention) {
  for (uint32_t threads : {1, 3}) expect_all({{"B", 1, 3}, {"T", 1, 67}}, attention, threads);
}

// The moves before the products are in the kernel, as with numbers.
TEST(OpenSizes, OfAttentionAreOneGroup) {
  for (const std::vector<std::string>& dims :
       {std::vector<std::string>{"1<=B<=3", "1<=T<=67"}, std::vector<std::string>{"3", "67"}}) {
    const IRModule module = module_of(attention, dims);
    const auto groups = llvm_plugin::groups_of(module.function(module.entry));
    ASSERT_EQ(groups.size(), 1u) << dims[1];
    EXPECT_EQ(groups[0].family, "attention");
    EXPECT_EQ(groups[0].nodes.size(), 13u) << dims[1];
  }
  const IRModule small = module_of(attention, {"1<=B<=3", "1<=T<=9"});  // in every run
  EXPECT_TRUE(llvm_plugin::groups_of(small.function(small.entry)).empty());
}

TEST(OpenSizes, OfNormsOverChannels) {
  expect_all({{"B", 1, 3}, {"T", 3, 3}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",3,", d[1], ",3], %s: f32[3], %b: f32[3], %m: f32[3], ",
               "%v: f32[3]) {\n  %0 = exp(%v)\n  %1 = batch_norm(%x, %s, %b, %m, %0)\n",
               "  return %1\n}\n");
  });
}

TEST(OpenSizes, OfRowsAreOneAxis) {
  const IRModule module = module_of(
      [](auto& d) {
        return cat("fn main(%x: f32[", d[0], ",", d[1], ",24], %w: f32[24,72], %b: f32[72]) {\n",
                   "  %0 = matmul(%x, %w)\n  %1 = add(%0, %b)\n  return %1\n}\n");
      },
      {"1<=B<=4", "1<=T<=33"});
  const IRModule flat = llvm_plugin::with_flat_rows(module);
  const Function& function = flat.function(flat.entry);
  EXPECT_EQ(cat(function.type(function.results[0])), "f32[1,(B*T : 1<=B<=4, 1<=T<=33),72]");
  EXPECT_EQ(cat(function.nodes[0].types[0]), "f32[1,(B*T : 1<=B<=4, 1<=T<=33),24]");
  const IRModule heads = module_of(attention, {"1<=B<=3", "1<=T<=67"});
  EXPECT_EQ(print(llvm_plugin::with_flat_rows(heads)), print(heads));
}

// One axis of all rows would be a number, 0, and the function would have no open size left.
TEST(OpenSizes, OfNoRowsWhateverTheyAreKeepTheirAxes) {
  const at_sizes::TextOf none = [](auto& d) {
    return cat("fn main(%x: i64[", d[0], ",2,0,1]) {\n  %0 = bitwise_not(%x)\n  return %0\n}\n");
  };
  const IRModule module = module_of(none, {"1<=S<=5"});
  EXPECT_EQ(print(llvm_plugin::with_flat_rows(module)), print(module));
  EXPECT_TRUE(llvm_plugin::open_kernel(module, llvm_plugin::host_target()).ok());
  for (uint32_t threads : {1, 2}) expect_all({{"S", 1, 5}}, none, threads);
}

// A schedule of another function is an error, not another schedule.
TEST(OpenSizes, ReportASchedulesStepThatDoesNotFit) {
  const IRModule module = module_of(
      [](auto& d) {
        return cat("fn main(%x: f32[", d[0], ",8]) {\n  %0 = exp(%x)\n  return %0\n}\n");
      },
      {"1<=T<=9"});
  const te::Target target = llvm_plugin::host_target();
  const auto dags = llvm_plugin::translate_open(module, target);
  ASSERT_TRUE(dags.ok()) << dags.status().to_string();
  const auto trace = te::parse_trace("vectorize(tanh, i1)");
  ASSERT_TRUE(trace.ok());
  const auto schedule = llvm_plugin::schedule_as(dags->open, dags->nominal, *trace, target);
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.status().slug(), "open-schedule");
}

TEST(OpenSizes, OfConvolutionsOfABatch) {
  expect_all({{"B", 1, 5}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",3,9,9], %w: f32[16,3,3,3]) {\n",
               "  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}\n  %1 = relu(%0)\n  return %1\n}\n");
  });
}

TEST(OpenSizes, OfNothingInTheirBounds) {
  expect_all({{"T", 0, 3}}, [](auto& d) {
    return cat("fn main(%x: f32[", d[0], ",24], %w: f32[24,40]) {\n  %0 = matmul(%x, %w)\n",
               "  return %0\n}\n");
  });
}

TEST(OpenSizes, WithoutABoundAreDeclined) {
  auto module =
      parse_module("fn main(%x: f32[T,8]) {\n  %0 = relu(%x)\n  return %0\n}\n", all_ops());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto dags = llvm_plugin::translate_open(*module, llvm_plugin::host_target());
  ASSERT_FALSE(dags.ok());
  EXPECT_EQ(dags.status().message(),
            "the size T has no upper bound: give it one, as in --shape T=1..64");
}

TEST(OpenSizes, OfOpsThatNeedNumbersAreDeclined) {
  auto module = parse_module(
      "fn main(%x: f32[1<=T<=9,3,3]) {\n  %0 = mean_variance_norm(%x) {axes=[0]}\n"
      "  return %0\n}\n",
      all_ops());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto dags = llvm_plugin::translate_open(*module, llvm_plugin::host_target());
  ASSERT_FALSE(dags.ok());
  EXPECT_EQ(dags.status().message(),
            "mean_variance_norm needs numbers for its sizes, and gives f32[1<=T<=9,3,3]");
}

}  // namespace
}  // namespace byoc
