// SPDX-License-Identifier: Apache-2.0
// byoc partition --svg: the picture, and the errors when it cannot be drawn.
#include <sys/stat.h>

#include "command.h"
#include "core/tools/show/graphviz.h"
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

// Writes a program named dot and returns a PATH in which its folder is the first.
std::string fake_dot(const Byoc& byoc, const std::string& script) {
  std::filesystem::create_directories(byoc.file("bin"));
  byoc.write("bin/dot", "#!/bin/sh\n" + script + "\n");
  chmod(byoc.file("bin/dot").c_str(), 0755);
  return byoc.file("bin") + ":/usr/bin:/bin";
}

Byoc with_path(const std::string& path) {
  return Byoc("PATH=" + path + " " + BYOC_BUILD_DIR + "/bin/byoc");
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
  EXPECT_EQ(count(svg, "class=\"cluster\""), 2u);
  EXPECT_EQ(count(svg, "class=\"edge\""), 5u);
  EXPECT_EQ(count(svg, "stroke-width=\"2.2\" d="), 2u) << "into and out of tanh";
  for (const char* text :
       {"a · 2 ops", "a · 1 op", "a: 3 ops", "in no region: 1 op", "2×3", "xlink:title=\"second\""})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(PartitionPicture, NamesMayHoldAnything) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", R"(fn main(%"a\"]; x -> y": f32[2]) {
    %0 = relu(%"a\"]; x -> y") loc("<b>&amp;\\N\n\"\xff")
    return %0
  })");
  Ran ran = byoc("partition " + model + " --svg -");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(">a&quot;]; x &#45;&gt; y</text>"));
  EXPECT_THAT(ran.out, HasSubstr("xlink:title=\"&lt;b&gt;&amp;amp;\\N&#10;&quot;\xef\xbf\xbd"));
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
  std::string model = byoc.write("m.ir", chain(1100, 1));
  Ran ran = byoc("partition " + model + kWithA + "relu --svg " + byoc.file("m.svg"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[too-large]: too large to draw: 2202 nodes, and 2202 with "
                                 "one node per region; a picture has at most 2000"));
  EXPECT_THAT(ran.err, HasSubstr("help: "));
  EXPECT_FALSE(std::filesystem::exists(byoc.file("m.svg")));
}

TEST(PartitionPicture, WithoutGraphvizSaysHowToGetIt) {
  Byoc byoc = with_path("/nonexistent");
  Ran ran = byoc("partition " + byoc.write("m.ir", kTwoOps) + " --svg " + byoc.file("m.svg"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[graphviz]: cannot run Graphviz's dot: No such file"));
  EXPECT_THAT(ran.err, HasSubstr("install graphviz"));
}

TEST(PartitionPicture, AFailureOfDotIsQuotedAndLeavesTheOldFile) {
  Byoc outer;
  Byoc byoc = with_path(fake_dot(outer, "echo 'bad edge' >&2; exit 3"));
  byoc.write("m.svg", "old");
  Ran ran = byoc("partition " + byoc.write("m.ir", kTwoOps) + " --svg " + byoc.file("m.svg"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[graphviz]: Graphviz's dot failed: bad edge"));
  EXPECT_EQ(get(byoc.file("m.svg")), "old");
}

TEST(Graphviz, IsEndedWhenItTakesTooLong) {
  Byoc byoc;
  std::string path = getenv("PATH");
  setenv("PATH", fake_dot(byoc, "exec sleep 100").c_str(), 1);
  auto start = std::chrono::steady_clock::now();
  auto svg = driver::dot_to_svg("digraph { a -> b }", std::chrono::seconds(1));
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(svg.ok());
  EXPECT_THAT(svg.status().to_string(), HasSubstr("was ended after 1 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
}

TEST(PartitionPicture, CannotShareStdout) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  EXPECT_EQ(byoc("partition " + model + " --svg - -o -").code, 2);
  EXPECT_EQ(byoc("partition " + model + " --svg - --json").code, 2);
}

}  // namespace
}  // namespace byoc::test
