// SPDX-License-Identifier: Apache-2.0
// Artifacts of several sizes, from byoc compile to byoc-run.
#include "core/tools/sizes/size_lists.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A product with a table of 1 MiB.
constexpr const char* kProduct = R"(fn main(%x: f32[N,512]) {
  %w = const(0.5) : f32[512,512]
  %0 = matmul(%x, %w)
  %1 = relu(%0)
  return %1
})";

/// The plugins of the build.
std::vector<const char*> built_plugins() {
  std::vector<const char*> out = {"json", "onednn", "llvm"};
  std::erase_if(out, [](const char* id) {
    return !std::filesystem::exists(std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins/libbyoc_" +
                                    id + ".so");
  });
  return out;
}

class ArtifactOfSizes : public ::testing::TestWithParam<const char*> {
 protected:
  std::string compile(const std::string& shape, const std::string& name) const {
    Ran ran = byoc_("compile " + byoc_.write("m.ir", kProduct) + " --compiler " + GetParam() +
                    " --shape " + shape + " -o " + byoc_.file(name));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return byoc_.file(name);
  }
  Byoc byoc_;
};

TEST_P(ArtifactOfSizes, HasWeightsOnce) {
  auto bytes = [](const std::string& path) { return std::filesystem::file_size(path); };
  const double one = static_cast<double>(bytes(compile("N=1", "one.byoc")));
  EXPECT_LT(static_cast<double>(bytes(compile("N=1,4,300", "three.byoc"))), 1.03 * one);
}

TEST_P(ArtifactOfSizes, RunsTheSizeOfTheInput) {
  const std::string path = compile("N=1,4", "m.byoc");
  Json json = byoc_.json("run " + path + " --input x=f32[4,512]=1");
  EXPECT_EQ(json["size"], "N=4");
  EXPECT_EQ(json["sizes"], Json({"N=1", "N=4"}));
  EXPECT_EQ(json["outputs"][0]["dims"], Json({4, 512}));
  EXPECT_EQ(json["outputs"][0]["min"], 256);  // 512 products of 1 and 0.5
  EXPECT_EQ(byoc_.json("run " + path)["size"], "N=1");
  Byoc runtime(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  Ran ran = runtime(path + " --input x=f32[4,512]=1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("size N=4; compiled: N=1; N=4\n"));
  EXPECT_THAT(ran.out, HasSubstr("f32[4,512]  256  256   256"));
  ran = runtime(path + " --input x=f32[3,512]=1");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[input-size]: the model is not compiled for x f32[3,512]"));
  EXPECT_THAT(ran.err, HasSubstr("it has N=1: x f32[1,512]; N=4: x f32[4,512]"));
  ran = byoc_("bench " + path +
              " --input x=f32[4,512] --rounds 1 --min-time 0 --warmup 0 --no-peaks");
  EXPECT_THAT(ran.out, HasSubstr("size N=4;")) << ran.err;
}

// An exact size beside an open program serves the runs that it fits; weights are stored once.
TEST_P(ArtifactOfSizes, PrefersTheExactSize) {
  const std::string path = compile("N=1..300 --shape N=4 --shape N=256", "open.byoc");
  const auto bytes = std::filesystem::file_size(path);
  EXPECT_LT(
      static_cast<double>(bytes),
      1.06 * static_cast<double>(std::filesystem::file_size(compile("N=1..300", "alone.byoc"))));
  for (const char* n : {"4", "256"}) {
    const std::string rows(n);
    Json json = byoc_.json("run " + path + " --input x=f32[" + rows + ",512]=1");
    EXPECT_EQ(json["size"], "N=" + rows);
    EXPECT_EQ(json["sizes"], Json({"N=1..300", "N=4", "N=256"}));
    EXPECT_EQ(byoc_.json("run " + path + " --shape N=" + rows)["size"], "N=" + rows);
  }
  Json json = byoc_.json("run " + path + " --input x=f32[5,512]=1");
  EXPECT_EQ(json["size"], "N=1..300");
  EXPECT_EQ(json["outputs"][0]["dims"], Json({5, 512}));
  EXPECT_EQ(json["outputs"][0]["min"], 256);
  json = byoc_.json("run " + path + " --shape N=7");
  EXPECT_EQ(json["size"], "N=1..300");
  EXPECT_EQ(json["outputs"][0]["dims"], Json({7, 512}));
  Ran ran = byoc_("run " + path + " --shape N=301");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[input-size]: the size N is 301"));
}

INSTANTIATE_TEST_SUITE_P(Plugins, ArtifactOfSizes, testing::ValuesIn(built_plugins()),
                         [](const auto& info) { return std::string(info.param); });

std::vector<std::string> labels(const std::vector<std::string>& shapes) {
  std::vector<std::string> out;
  auto choices = driver::expand_sizes(shapes);
  EXPECT_TRUE(choices.ok()) << choices.status().to_string();
  for (const driver::SizeChoice& choice : *choices) {
    std::string text = choice.label + ":";
    for (const std::string& shape : choice.shapes) text += " " + shape;
    out.push_back(text);
  }
  return out;
}

TEST(SizeLists, GiveEveryCombination) {
  EXPECT_THAT(labels({}), ElementsAre(":"));
  EXPECT_THAT(labels({"N=1"}), ElementsAre(": N=1"));
  EXPECT_THAT(labels({"N=1,S=2"}), ElementsAre(": N=1 S=2"));
  EXPECT_THAT(labels({"N=1,4,S=2,3", "x=1x2"}),
              ElementsAre("N=1,S=2: N=1 S=2 x=1x2", "N=1,S=3: N=1 S=3 x=1x2",
                          "N=4,S=2: N=4 S=2 x=1x2", "N=4,S=3: N=4 S=3 x=1x2"));
  EXPECT_THAT(labels({"x=1x2,3x2"}), ElementsAre("x=1x2: x=1x2", "x=3x2: x=3x2"));
  EXPECT_THAT(labels({"a,b=2"}), ElementsAre(": a,b=2"));  // a name with a comma
}

TEST(SizeLists, AddSizesToRanges) {
  EXPECT_THAT(
      labels({"B=1..4", "T=1..128", "T=128", "B=2,T=64"}),
      ElementsAre("B=1..4,T=1..128: B=1..4 T=1..128", "T=128: B=1..4 T=128", "B=2,T=64: B=2 T=64"));
  EXPECT_THAT(labels({"T=1..128", "T=16,32"}),
              ElementsAre("T=1..128: T=1..128", "T=16: T=16", "T=32: T=32"));
  EXPECT_THAT(driver::expand_sizes({"T=1..128", "T=128", "T=128"}).status().message(),
              HasSubstr("lists T=128 twice"));
  EXPECT_THAT(driver::expand_sizes({"T=128", "T=1..128"}).status().message(),
              HasSubstr("names \"T\" twice"));
}

TEST(SizeLists, RefuseRepetitionsAndTooMany) {
  EXPECT_THAT(driver::expand_sizes({"N=1,4,1"}).status().message(), HasSubstr("lists N=1 twice"));
  std::string many = "N=1";
  for (int k = 2; k <= 9; ++k) many += "," + std::to_string(k);
  EXPECT_THAT(driver::expand_sizes({many, "S" + many.substr(1)}).status().message(),
              HasSubstr("more than 64 sizes"));
}

TEST(SizeLists, AreForCompileAlone) {
  Byoc byoc;
  Ran ran = byoc("run " + byoc.write("m.ir", kProduct) + " --shape N=1,4");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("error[usage]: --shape:"));
}

}  // namespace
}  // namespace byoc::test
