// SPDX-License-Identifier: Apache-2.0
// Messages to users about how onednn runs their ops, and the right values from it.
#include "byoc/runtime/tensor.h"
#include "plugins/onednn/library/implementations.h"
#include "support/paths.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kConv = R"(fn main(%x: f32[1,16,8,8], %w: f32[16,16,3,3]) {
  %0 = conv2d(%x, %w) {pads=[1,1,1,1]} loc("conv")
  %1 = relu(%0) loc("act")
  %2 = sin(%1) loc("sine")
  return %2
})";

/// Returns the text after `before`, up to a space or a comma.
std::string word_after(const std::string& text, const std::string& before) {
  size_t at = text.find(before);
  if (at == text.npos) return "";
  at += before.size();
  return text.substr(at, text.find_first_of(" ,\n", at) - at);
}

TEST(ExplainOnednn, NamesTheImplementationOfWhatOnednnTook) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", kConv) + " --compiler onednn,json";
  Ran ran = byoc(line + " --op conv");
  EXPECT_THAT(ran.out, HasSubstr("as part of onednn.conv2d"));
  EXPECT_TRUE(onednn::is_generated(word_after(ran.out, "onednn: taken: "))) << ran.out;
  Json json = byoc.json(line);
  for (const Json& op : json["ops"]) {
    if (op["name"] == "sine") {
      EXPECT_EQ(op["opinions"][0]["verdict"], "refused") << op;
    } else {
      EXPECT_EQ(op["opinions"][0]["verdict"], "taken") << op;
      EXPECT_NE(op["opinions"][0]["reason"], "") << op;
    }
  }
  EXPECT_THAT(byoc(line).out, HasSubstr("taken by onednn, run by (2)\n"));
}

TEST(ExplainOnednn, SaysThatWeightsGivenAtRunTimeAreReorderedInTheCall) {
  Byoc byoc;
  std::string line = "explain " + byoc.write("m.ir", kConv) + " --compiler onednn --op conv";
  EXPECT_THAT(byoc(line).out, HasSubstr("weights given at run time, reordered in each call"));
  std::string model = cat(BYOC_TEST_DATA, "/models/digits/model.onnx");
  EXPECT_THAT(byoc("explain " + model + " --shape N=1 --compiler onednn").out,
              Not(HasSubstr("run time")));
}

// At -O0 no op is folded: the plugin gets the graph that was read.
TEST(RunOnednn, GivesTheSameWithoutOptimisation) {
  Byoc byoc;
  for (const char* model : {"digits", "blocks/resnet_basic_bn", "blocks/transformer_17"}) {
    std::string folder = cat(BYOC_TEST_DATA, "/models/", model);
    for (const char* level : {"-O0", "-O2"}) {
      Ran ran = byoc(cat("verify ", folder, "/model.onnx --compiler onednn,json ", level,
                         " --against ", folder, "/test_data_set_0 -o ", byoc.file("wrong")));
      EXPECT_EQ(ran.code, 0) << model << " " << level << "\n" << ran.out << ran.err;
    }
  }
}

// oneDNN 2.6 computes both of these wrong, 3.x does not; the plugin's values are right with either.
TEST(RunOnednn, HonoursBothSlopesOfTwoRelusInOneChain) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[3,5], %v: f32[5,7]) {
    %0 = matmul(%x, %v)
    %1 = leaky_relu(%0) {alpha=0.5}
    %2 = leaky_relu(%1) {alpha=0.25}
    return %2
  })");
  Ran ran = byoc(cat("verify ", model, " --compiler onednn -o ", byoc.file("wrong")));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST(RunOnednn, GivesZeroForTheLogSoftmaxOfOneElement) {
  Byoc byoc;
  std::string model =
      byoc.write("m.ir", "fn main(%x: f32[3,1]) { %0 = log_softmax(%x)  return %0 }");
  Json json =
      byoc.json("run " + model + " --compiler onednn,json --output-dir " + byoc.file("out"));
  auto y = read_npy(byoc.file("out/" + json["outputs"][0]["name"].get<std::string>() + ".npy"));
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  const auto* data = reinterpret_cast<const float*>(y->data());
  EXPECT_THAT(std::vector<float>(data, data + 3), testing::ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace byoc::test
