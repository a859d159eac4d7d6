// SPDX-License-Identifier: Apache-2.0
// Results whose sizes attributes and constants give, and that no machine has memory for: an error
// at once, by every plugin, that names the node and the size.
#include <gmock/gmock.h>

#include <ctime>

#include "one_node.h"

namespace byoc::test {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr double kTera = 4398046511104;          // 2^42 elements of f32: 17 TB
constexpr double kBeyond = 2305843009213693952;  // 2^61 elements do not fit in 63 bits

/// Returns nodes whose operand gives the size; the elements are those that are too large.
std::vector<OperandRow> rows_of_operands() {
  const Attrs nearest{{"mode", "nearest"}};
  const Attrs images{{"axes", Ints{0}}};
  return {
      {"Pad", 13, "f32[2] i64[2]@", {}, {}, {}, {{0, kTera}, {kBeyond, 0}}},
      {"Pad", 13, "f32[2] i64[2]@", {{"mode", "edge"}}, {}, {}, {{0, kTera}, {kBeyond, 0}}},
      {"Tile", 13, "f32[2] i64[1]@", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"Expand", 13, "f32[1] i64[1]@", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"ConstantOfShape", 13, "i64[1]@", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"Range", 13, "i64[]=0 i64[]@ i64[]=1", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"OneHot", 13, "i64[2] i64[]@ f32[2]=0,1", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"Resize",
       13,
       "f32[1,1,1,2] - - i64[4]@",
       nearest,
       {},
       {},
       {{1, 1, 1, kTera}, {1, 1, 1, kBeyond}}},
      {"Resize", 13, "f32[1,1,1,2] - f32[4]@", nearest, {}, {}, {{1, 1, 1, 1e13}, {1, 1, 1, 1e30}}},
      {"Upsample", 9, "f32[1,1,1,2] f32[4]@", {}, {}, {}, {{1, 1, 1, 1e13}, {1, 1, 1, 1e30}}},
      {"CenterCropPad", 18, "f32[3] i64[1]@", {}, {}, {}, {{kTera / 8}, {kBeyond}}},
      {"HannWindow", 17, "i64[]@", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"HammingWindow", 17, "i64[]@", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"BlackmanWindow", 17, "i64[]@", {}, {}, {}, {{kTera}, {kBeyond}}},
      {"MelWeightMatrix",
       17,
       "i64[]=2 i64[]@ i64[]=8000 f32[]=0 f32[]=4000",
       {},
       {},
       {},
       {{kTera}, {kBeyond}}},
      {"AffineGrid",
       20,
       "f32[1,2,3] i64[4]@",
       {},
       {},
       {},
       {{1, 1, 1, kTera}, {1, 1, kTera, kTera}}},
      {"Col2Im", 18, "f32[1,4,1] i64[2]@ i64[2]=2,2", {}, {}, {}, {{2, kTera}, {kTera, kTera}}},
      {"DFT", 17, "f32[1,4,1] i64[]@", {{"axis", 1}}, {}, {}, {{kTera}, {kBeyond}}},
      {"MaxUnpool",
       13,
       "f32[1,1,1,1] i64[1,1,1,1] i64[4]@",
       {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       {},
       {},
       {{1, 1, 2, kTera}, {1, 1, kTera, kTera}}},
  };
}

/// Returns nodes whose attributes or operands give the size; the operand @ is not used.
std::vector<OperandRow> rows_of_attributes() {
  const Ints huge = {1 << 21, 1 << 21};
  return {
      {"Conv",
       13,
       "f32[1,1,2,2] f32[1,1,1,1]",
       {{"pads", Ints{1 << 20, 1 << 20, 1 << 20, 1 << 20}}}},
      {"Conv",
       13,
       "f32[1,1,2,2] f32[1,1,1,1]",
       {{"pads", Ints{1 << 30, 1 << 30, 1 << 30, 1 << 30}}}},
      {"ConvTranspose", 13, "f32[1,1,2,2] f32[1,1,1,1]", {{"strides", huge}}},
      {"ConvTranspose",
       13,
       "f32[1,1,2,2] f32[1,1,1,1]",
       {{"output_shape", huge}, {"strides", huge}}},
      {"RoiAlign",
       16,
       "f32[1,1,2,2] f32[1,4] i64[1]=0",
       {{"output_height", 1 << 21}, {"output_width", 1 << 21}}},
      {"EyeLike", 13, "f32[2097152,2097152]", {}},
      {"MatMul", 13, "f32[2097152,1] f32[1,2097152]", {}},
      {"Add", 13, "f32[2097152,1] f32[1,2097152]", {}},
  };
}

struct TooLargeConfig {
  const char* name;
  std::vector<std::string> compilers;
};
const TooLargeConfig kTooLargeConfigs[] = {
    {"json", {"json"}}, {"llvm", {"llvm"}}, {"onednn,llvm", {"onednn", "llvm"}}};

/// Compiles, and checks the error and the time of the processor.
void expect_refusal(const OperandRow& row, const std::vector<double>& elements) {
  static const auto plugins = built_plugins();
  for (const TooLargeConfig& config : kTooLargeConfigs) {
    SCOPED_TRACE(cat(row.op, "(", row.operands, ") by ", config.name));
    const std::clock_t begin = std::clock();
    const Status status = compile_node(row, elements, plugins, config.compilers);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 1);
    ASSERT_FALSE(status.ok()) << "no error";
    EXPECT_THAT(status.to_string(), HasSubstr("the_node"));
    EXPECT_THAT(status.to_string(),
                AnyOf(ContainsRegex("[0-9]{9,}"), ContainsRegex("[0-9]e\\+[0-9]"),
                      HasSubstr("63 bits"), HasSubstr("2^")));
  }
}

TEST(TooLarge, SizesOfOperandsAreErrorsAtOnce) {
  for (const OperandRow& row : rows_of_operands())
    for (const auto& elements : row.wrong) expect_refusal(row, elements);
}

/// Its result has 512 GiB, and the table of its cells 1 TiB.
TEST(TooLarge, TablesOfReferenceKernelsAreErrorsAtOnce) {
  const OperandRow row{"Pad", 13, "f32[2] i64[2]@", {}, {}, {}, {}};
  const Status status = compile_node(row, {0, 0x1p37}, built_plugins(), {"json"});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.to_string(), HasSubstr("pad \"the_node\" is refused"));
}

TEST(TooLarge, SizesOfAttributesAreErrorsAtOnce) {
  for (const OperandRow& row : rows_of_attributes()) expect_refusal(row, {});
}

}  // namespace
}  // namespace byoc::test
