// SPDX-License-Identifier: Apache-2.0
// byoc verify and bench on networks that round: right results pass, and an error of three steps in
// one op is found and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A plugin that computes with the reference kernels, but for what its options spoil.
const std::string kPluginA =
    std::string(" --plugin ") + BYOC_BUILD_DIR + "/tests/support/plugins/libbyoc_a.so --compiler a";

/// Returns n weights of [-1, 1], others for another seed.
std::string weights(int n, int seed) {
  std::string out;
  for (int k = 0; k < n; ++k) {
    const int step = (k * 37 + seed * 11) % 13 - 6;
    out += cat(k > 0 ? "," : "", step / 6.0);
  }
  return cat("const([", out, "])");
}

/// Scale and zero point of u8, and the input in them.
std::string head(const std::string& shape) {
  return "fn main(%x: f32[" + shape + R"(]) {
    %s = const(0.01) : f32[]
    %z = const(128) : u8[]
    %q0 = quantize(%x, %s, %z) loc("q0")
)";
}

constexpr int kLayers = 8;

/// Convolutions of 1x1 between dequantize and quantize; with `adds` each adds its own input. Scales
/// differ, so that no two functions are equal and share a kernel.
std::string convolutions(bool adds) {
  std::string out = head("1,4,8,8") + "%s0 = const(0.01) : f32[]\n";
  for (int k = 1; k <= kLayers; ++k) {
    out += cat("%s", k, " = const(", 0.01 + 0.002 * k, ") : f32[]\n");
    out += cat("%w", k, " = ", weights(16, k), " : f32[4,4,1,1]\n");
    out += cat("%f", k, " = dequantize(%q", k - 1, ", %s", k - 1, ", %z) loc(\"f", k, "\")\n");
    out += cat("%c", k, " = conv2d(%f", k, ", %w", k, ") loc(\"c", k, "\")\n");
    if (adds) out += cat("%a", k, " = add(%c", k, ", %f", k, ") loc(\"a", k, "\")\n");
    out +=
        cat("%q", k, " = quantize(%", adds ? "a" : "c", k, ", %s", k, ", %z) loc(\"q", k, "\")\n");
  }
  return cat(out, "%y = dequantize(%q", kLayers, ", %s", kLayers, ", %z)\nreturn %y\n}");
}

/// Products, a softmax between them, and one after the last dequantize.
std::string attention() {
  return head("1,8,8") + cat("%w1 = ", weights(64, 1), " : f32[8,8]\n", R"(
    %f1 = dequantize(%q0, %s, %z)
    %m1 = matmul(%f1, %w1)
    %q1 = quantize(%m1, %s, %z) loc("q1")
    %f2 = dequantize(%q1, %s, %z)
    %m2 = matmul(%f2, %f2)
    %p = softmax(%m2) {axis=2}
    %t = const(0.004) : f32[]
    %z0 = const(0) : u8[]
    %q3 = quantize(%p, %t, %z0) loc("q3")
    %f3 = dequantize(%q3, %t, %z0)
    %m3 = matmul(%f3, %f2)
    %q4 = quantize(%m3, %s, %z) loc("q4")
    %f4 = dequantize(%q4, %s, %z)
    %y = softmax(%f4) {axis=2}
    return %y
  })");
}

/// Scales that are computed, as DynamicQuantizeLinear does, and products after the last rounding.
std::string dynamic() {
  constexpr int kWidths[] = {16, 12, 10, 8, 6};
  std::string out = "fn main(%q0: f32[4,16]) {\n%n = const(127.0) : f32[]\n";
  for (int k = 1; k <= 4; ++k) {
    const int rows = kWidths[k - 1], columns = kWidths[k];
    const std::string i = std::to_string(k);
    out += cat("%w", k, " = ", weights(rows * columns, k), " : f32[", rows, ",", columns, "]\n");
    out += cat("%abs", i, " = abs(%q", k - 1, ")\n%max", i, " = max(%abs", i,
               ") {keepdims=false}\n%s", i, " = divide(%max", i, ", %n)\n%d", i, " = divide(%q",
               k - 1, ", %s", i, ")\n%r", i, " = round(%d", i, ") loc(\"r", i, "\")\n");
    out += cat("%b", i, " = cast(%r", i, ") {to=i8} loc(\"b", i, "\")\n%f", i, " = cast(%b", i,
               ") {to=f32}\n%m", i, " = matmul(%f", i, ", %w", i, ")\n%q", i, " = multiply(%m", i,
               ", %s", i, ")\n");
  }
  return out + "return %q4\n}";
}

struct Network {
  const char* name;
  std::string text, op, node;  // the op that is spoiled, and its name
};

class Networks : public testing::TestWithParam<Network> {};

// Errors of 5e-5 in the sums are within the tolerance of f32. They change some integers by a step,
// and the next layers add such steps up.
TEST_P(Networks, PassWithSumsInAnotherOrder) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", GetParam().text);
  for (const char* ops : {"*", "conv2d,matmul", "quantize"}) {
    Ran ran = byoc(cat("verify ", model, kPluginA, " --plugin-option a.ops='", ops,
                       "' --plugin-option a.nudge=conv2d,matmul"));
    EXPECT_EQ(ran.code, 0) << ops << "\n" << ran.out << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("on equal inputs"));
  }
}

TEST_P(Networks, AreTimedWhenVerifyAcceptsThem) {
  Byoc byoc;
  Ran ran = byoc(cat("bench ", byoc.write("m.ir", GetParam().text), kPluginA,
                     " --plugin-option a.nudge=conv2d,matmul --min-time 0 --warmup 0 --no-peaks"));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST_P(Networks, ShowAnErrorOfThreeStepsWithItsRegionAndName) {
  Byoc byoc;
  const auto& [name, text, op, node] = GetParam();
  const std::string model = byoc.write("m.ir", text);
  for (const std::string& ops : {std::string("*"), op}) {
    Json json = byoc.json(cat("verify ", model, kPluginA, " --plugin-option a.ops='", ops,
                              "' --plugin-option a.spoil=", op, " --plugin-option a.spoil_by=3",
                              " --plugin-option a.spoil_node=", node, " -o ", byoc.file("piece")));
    EXPECT_EQ(json["passed"], false);
    ASSERT_TRUE(json["bad_region"].is_object()) << ops << ": " << json;
    EXPECT_EQ(json["bad_region"]["plugin"], "a");
    EXPECT_THAT(json["bad_region"]["function"].get<std::string>(), testing::StartsWith("a_main_"));
    std::vector<std::string> names;
    for (const Json& one : json["bad_region"]["smallest"]) names.push_back(one["name"]);
    EXPECT_THAT(names, testing::Contains(node)) << json;
    EXPECT_LE(names.size(), 3u) << json;
    EXPECT_EQ(json["bad_region"]["confirmed"], true) << json;
    Json replay = byoc.json("replay " + byoc.file("piece") +
                            kPluginA.substr(0, kPluginA.find(" --compiler")));
    EXPECT_EQ(replay["passed"], false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Networks,
                         testing::Values(Network{"Chain", convolutions(false), "quantize", "q3"},
                                         Network{"Residual", convolutions(true), "quantize", "q5"},
                                         Network{"Attention", attention(), "quantize", "q3"},
                                         Network{"Dynamic", dynamic(), "round", "r2"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(VerifyRounding, StatesStepsTheLimitAndItsReason) {
  Byoc byoc;
  Ran ran = byoc(cat("verify ", byoc.write("m.ir", convolutions(false)), kPluginA,
                     " --plugin-option a.ops=conv2d --plugin-option a.nudge=conv2d"));
  EXPECT_THAT(ran.out, HasSubstr(" of 0.026, worst ["));
  EXPECT_THAT(ran.out, AllOf(HasSubstr(" steps: 1 for the last rounding, and twice the "),
                             HasSubstr("when 1 in 64 of the values that it rounds is a step off")));
  EXPECT_THAT(ran.out, HasSubstr("9 rounded values within 1 step, "));
}

TEST(VerifyRounding, ComparesExactIntegersExactly) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: u8[8], %f: f32[8]) {
    %s = const(0.1) : f32[]
    %z = const(3) : u8[]
    %0 = relu(%x) loc("moved")
    %1 = quantize(%f, %s, %z)
    return %0, %1
  })");
  Json json = byoc.json("verify " + model + kPluginA + " --plugin-option a.ops=relu" +
                        " --plugin-option a.spoil=relu -o " + byoc.file("piece"));
  EXPECT_EQ(json["outputs"][0]["allowed_steps"], 0);
  EXPECT_EQ(json["outputs"][0]["equal"], false);
  EXPECT_EQ(json["bad_region"]["smallest"][0]["name"], "moved");
}

}  // namespace
}  // namespace byoc::test
