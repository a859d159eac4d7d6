// SPDX-License-Identifier: Apache-2.0
// The knob spaces of the llvm plugin and the compilation of their points, as the host calls them.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "byoc/text/graph_json.h"
#include "support/flow.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using PluginJson = nlohmann::json;

constexpr std::string_view kMatmul = R"(fn main(%a: f32[9,40], %b: f32[40,70]) {
  %0 = matmul(%a, %b)
  %1 = relu(%0)
  return %1
})";

std::shared_ptr<const PluginSet> llvm_with_cache(const std::string& folder) {
  PluginSearch search;
  search.files = {cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so")};
  search.options = {{"llvm", {{"cache_dir", folder}}}};
  return PluginSet::load(search);
}

CompileFunction function_of(std::string_view text, const std::string& symbol,
                            const std::string& point = "") {
  const IRModule module = parse(text);
  CompileFunction out;
  out.symbol = symbol;
  const Function& function = module.function(module.entry);
  write_graph_json(module, function, symbol, out.graph_json);
  out.n_in = function.num_params();
  out.n_out = static_cast<uint32_t>(function.results.size());
  out.point_json = point;
  return out;
}

class LlvmKnobs : public ::testing::Test {
 protected:
  PluginJson space_of(std::string_view text) const {
    auto space = plugin().knobs(function_of(text, "f"), {});
    EXPECT_TRUE(space.ok()) << space.status().to_string();
    return space->empty() ? PluginJson() : PluginJson::parse(*space);
  }
  // Returns the first guess and a point of another tile.
  std::pair<std::string, std::string> two_points() const {
    const PluginJson space = space_of(kMatmul);
    const PluginJson first = space.at("guesses").at(0);
    PluginJson other = first;
    for (const PluginJson& knob : space.at("knobs")) {
      if (knob.at("name") != "tile") continue;
      for (const PluginJson& tile : knob.at("values")) {
        if (tile != first.at("tile")) other["tile"] = tile;
      }
    }
    return {first.dump(), other.dump()};
  }
  const Plugin& plugin() const { return *plugins_->find("llvm"); }
  size_t cached_kernels() const {
    size_t out = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      out += entry.path().filename().string().starts_with('k');
    return out;
  }
  void compile(const std::string& point) const {
    const CompileFunction function = function_of(kMatmul, "f", point);
    CompileResult result = plugin().compile({&function, 1}, {});
    ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  }

  TempFolder folder_;
  std::shared_ptr<const PluginSet> plugins_ = llvm_with_cache(folder_.path());
};

TEST_F(LlvmKnobs, DescribeAFunction) {
  const PluginJson space = space_of(kMatmul);
  EXPECT_EQ(space.at("kind"), "matmul");
  EXPECT_EQ(space.at("flops"), 2.0 * 9 * 40 * 70 + 9 * 70);
  EXPECT_EQ(space.at("bytes"), 4.0 * (9 * 40 + 40 * 70 + 9 * 70));
  EXPECT_GE(space.at("knobs").size(), 2u);
  EXPECT_GE(space.at("guesses").size(), 2u);
  EXPECT_EQ(space, space_of(kMatmul)) << "the space is not deterministic";
}

TEST_F(LlvmKnobs, AreAbsentWithoutChoice) {
  EXPECT_TRUE(space_of("fn main(%x: f32[]) {\n  %0 = exp(%x)\n  return %0\n}").is_null());
}

constexpr std::string_view kOpenMatmul = R"(fn main(%a: f32[1<=N<=64,40], %b: f32[40,70]) {
  %0 = matmul(%a, %b)
  %1 = relu(%0)
  return %1
})";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  out.replace(out.find(from), from.size(), to);
  return out;
}

// A task is a class of sizes: the numbers that schedules are chosen for, here 64.
TEST_F(LlvmKnobs, OfOpenSizesServeARange) {
  const PluginJson space = space_of(kOpenMatmul);
  ASSERT_FALSE(space.is_null());
  EXPECT_THAT(space.at("kind").get<std::string>(), HasSubstr("open_"));
  EXPECT_EQ(space.at("flops"), 2.0 * 64 * 40 * 70 + 64 * 70);
  EXPECT_EQ(space_of(replaced(kOpenMatmul, "1<=N<=64", "2<=M<=79")).at("task"), space.at("task"));
  EXPECT_NE(space_of(replaced(kOpenMatmul, "1<=N<=64", "1<=N<=8")).at("task"), space.at("task"));
  EXPECT_NE(space_of(replaced(kOpenMatmul, "1<=N<=64", "64")).at("task"), space.at("task"));
}

// Kernels are keyed by loops: the first guess is the schedule without a point, another is not.
TEST_F(LlvmKnobs, PointsShareTheCacheOfKernels) {
  const auto [first, other] = two_points();
  compile("");
  const size_t one = cached_kernels();
  ASSERT_GE(one, 1u);
  compile(first);
  EXPECT_EQ(cached_kernels(), one);
  compile(other);
  EXPECT_GT(cached_kernels(), one);
}

TEST_F(LlvmKnobs, PointsOutsideOfTheSpaceNameKnobAndFunction) {
  PluginJson point = space_of(kMatmul).at("guesses").at(0);
  point["tile"] = "100x100";
  const CompileFunction functions[] = {function_of(kMatmul, "f"),
                                       function_of(kMatmul, "g", point.dump())};
  CompileResult result = plugin().compile(functions, {});
  EXPECT_EQ(result.status.code(), Code::kInvalidArgument) << result.status.to_string();
  EXPECT_EQ(result.function, 1);
  EXPECT_THAT(result.status.message(), HasSubstr("knob \"tile\" is \"100x100\""));
}

// Compiles the only region of the program at a point, and replaces its code.
Executable at_point(const Executable& usual, const Plugin& plugin, const std::string& point) {
  Executable out = usual;
  EXPECT_EQ(out.modules.size(), 1u);
  const CompileFunction function = function_of(kMatmul, out.modules[0].functions[0].symbol, point);
  CompileResult result = plugin.compile({&function, 1}, {});
  EXPECT_TRUE(result.status.ok()) << result.status.to_string();
  out.modules[0].blob = result.module.blob;
  return out;
}

TEST_F(LlvmKnobs, GuessesGiveEqualResults) {
  BuildOptions options;
  options.plugins = plugins_;
  options.compilers = {"llvm"};
  options.strict = true;
  auto usual = build(parse(kMatmul), options);
  ASSERT_TRUE(usual.ok()) << usual.status().to_string();
  const std::vector<Tensor> expected = execute(*usual, nullptr);
  for (const PluginJson& guess : space_of(kMatmul).at("guesses"))
    expect_close(execute(at_point(*usual, plugin(), guess.dump()), nullptr), expected);
}

TEST_F(LlvmKnobs, EqualFunctionsOfOneRequestMayHaveDifferentPoints) {
  const auto [first, other] = two_points();
  const CompileFunction functions[] = {function_of(kMatmul, "f", first),
                                       function_of(kMatmul, "g", other)};
  const size_t before = cached_kernels();
  CompileResult result = plugin().compile(functions, {});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  EXPECT_EQ(result.module.functions.size(), 2u);
  EXPECT_EQ(cached_kernels(), before + 2);
}

}  // namespace
}  // namespace byoc::test
