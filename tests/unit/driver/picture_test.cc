// SPDX-License-Identifier: Apache-2.0
// byoc partition --svg: the picture, and the errors when it cannot be drawn.
#include "command.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kWithA = cat(" --compiler a,json --plugin ", BYOC_BUILD_DIR,
                               "/tests/support/plugins/libbyoc_a.so --plugin-option a.ops=");

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(PartitionPicture, HasABoxPerRegionANodePerOpAndALegend) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
    %0 = relu(%x) loc("first")
    %1 = exp(%0) loc("second")
    %2 = tanh(%1) loc("third")
    %3 = relu(%2) loc("fourth")
    return %3
  })");
  Ran ran = byoc("partition " + model + kWithA + "relu,exp --svg " + byoc.file("m.svg"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("m.svg: 6 nodes\n"));
  std::string svg = get(byoc.file("m.svg"));
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_EQ(count(svg, "class=\"node\""), 6u);  // four ops, an input, an output
  EXPECT_EQ(count(svg, "class=\"cluster\""), 3u);
  EXPECT_EQ(count(svg, "class=\"b\""), 2u) << "into and out of tanh";
  for (const char* text : {"a · 2 ops", "a · 1 op", "a: 3 ops", "json: 1 op", "json · 1 op", "2×3",
                           "<title>second</title>", ">x</text>", ">output0</text>"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr("in no region")));
}

TEST(PartitionPicture, ShowsWhatNoPluginTakesAsSuch) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
    %0 = relu(%x)
    %1 = call_dps_packed(@elsewhere, %0) : f32[2,3]
    return %1
  })");
  std::string svg = byoc("partition " + model + kWithA + "relu --svg -").out;
  EXPECT_THAT(svg, HasSubstr("in no region: 1 op")) << "the host has externs";
}

TEST(PartitionPicture, HasTheNamesOfTheModelsOutputs) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {output_names=["scores","all"]} {
    %0 = relu(%x)
    return %0, %x
  })");
  std::string svg = byoc("partition " + model + " --svg -").out;
  EXPECT_THAT(svg, HasSubstr(">scores</text>"));
  EXPECT_THAT(svg, HasSubstr(">all</text>"));
}

TEST(PartitionPicture, NamesMayHoldAnything) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%"a\"]; x -> y": f32[2]) {
    %0 = relu(%"a\"]; x -> y") loc("<b>&amp;\\N\n\"\xff")
    return %0
  })");
  Ran ran = byoc("partition " + model + " --svg -");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(">a&quot;]; x -&gt; y</text>"));
  EXPECT_THAT(ran.out, HasSubstr("<title>&lt;b&gt;&amp;amp;\\N\n&quot;\xef\xbf\xbd</title>"));
}

TEST(PartitionPicture, IsTheSameEveryTime) {
  Byoc byoc;
  std::string line = "partition " + byoc.write("m.ir", kTwoOps) + " --svg -";
  EXPECT_EQ(byoc(line).out, byoc(line).out);
}

// Returns a chain of relus cut by tanhs: `pairs` regions of `length` ops, and `pairs` ops outside.
std::string chain(size_t pairs, size_t length) {
  std::string text = "fn main(%x: f32[2]) {\n", last = "%x";
  size_t n = 0;
  for (size_t k = 0; k < pairs * (length + 1); ++k) {
    text += cat("%", n, " = ", k % (length + 1) == length ? "tanh" : "relu", "(", last, ")\n");
    last = cat("%", n++);
  }
  return text + "return " + last + " }";
}

TEST(PartitionPicture, OfMoreThanTwoThousandNodesHasANodePerRegion) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", chain(10, 300));
  Ran ran = byoc("partition " + model + kWithA + "relu --svg " + byoc.file("m.svg"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("m.svg: 22 nodes, one per region; drawn whole it has 3012"));
  std::string svg = get(byoc.file("m.svg"));
  EXPECT_EQ(count(svg, "class=\"node\""), 22u);
  EXPECT_EQ(count(svg, ">300 ops</text>"), 10u);
}

TEST(PartitionPicture, WithANodePerRegionHasOneLineBetweenTwo) {
  Byoc byoc;
  std::string text = chain(1, 2100);  // its last op, a tanh, reads the region; %2101 does so, too
  std::string last = "return %2100 }";
  text.replace(text.find(last), last.size(),
               "%2101 = tanh(%1500) %2102 = add(%2101, %2100) %2103 = exp(%2102) "
               "%2104 = multiply(%2102, %2103) return %2104 }");
  std::string line = "partition " + byoc.write("m.ir", text) + kWithA + "relu,tanh,exp --svg -";
  std::string svg = byoc(line).out;
  EXPECT_EQ(count(svg, "class=\"node\""), 6u);  // x, relus and tanhs, add, exp, multiply, output
  EXPECT_EQ(count(svg, "class=\"edge\""), 6u) << "two tensors from tanh to add";
}

TEST(PartitionPicture, TooLargeEvenSoIsAnErrorThatSaysWhatElseThereIs) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", chain(10'100, 1));
  Ran ran = byoc("partition " + model + kWithA + "relu --svg " + byoc.file("m.svg"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[too-large]: too large to draw: 20202 nodes, and 20202 with "
                                 "one node per region; a picture has at most 20000"));
  EXPECT_THAT(ran.err, HasSubstr("help: "));
  EXPECT_FALSE(std::filesystem::exists(byoc.file("m.svg")));
}

TEST(PartitionPicture, NeedsNoOtherProgram) {
  Byoc byoc(std::string("PATH=/nonexistent ") + BYOC_BUILD_DIR + "/bin/byoc");
  Ran ran = byoc("partition " + byoc.write("m.ir", kTwoOps) + " --svg -");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("</svg>"));
}

TEST(PartitionPicture, CannotShareStdout) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  EXPECT_EQ(byoc("partition " + model + " --svg - -o -").code, 2);
  EXPECT_EQ(byoc("partition " + model + " --svg - --json").code, 2);
}

}  // namespace
}  // namespace byoc::test
