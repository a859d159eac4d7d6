// SPDX-License-Identifier: Apache-2.0
// The llvm plugin, called by the host: it makes native modules, which run without a plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "byoc/runtime/artifact.h"
#include "byoc/te/target.h"
#include "byoc/text/builder.h"
#include "support/flow.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kProgram =
    R"(fn main(%x: f32[2,3,9,9], %w: f32[8,3,3,3], %b: f32[8,1,1]) {
  %0 = conv2d(%x, %w) {strides=[1,1], pads=[1,1,1,1]}
  %1 = add(%0, %b)
  %2 = relu(%1)
  %3 = global_average_pool(%2)
  %4 = softmax(%2) {axis=1}
  return %3, %4
})";

std::shared_ptr<const PluginSet> plugins(const std::string& cache_dir) {
  PluginSearch search;
  search.files = {cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so"),
                  cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so")};
  search.options = {{"llvm", {{"cache_dir", cache_dir}}}};
  return PluginSet::load(search);
}

Executable built(std::string_view text, const std::string& compiler, const std::string& cache_dir) {
  BuildOptions options;
  options.plugins = plugins(cache_dir);
  options.compilers = {compiler};
  options.strict = true;
  Result<Executable> out = build(parse(text), options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

TEST(LlvmPlugin, MakesModulesThatRunWithoutIt) {
  TempFolder folder;
  Executable llvm = built(kProgram, "llvm", folder.file("cache"));
  ASSERT_EQ(llvm.modules.size(), 1u);
  EXPECT_EQ(llvm.modules[0].flags, uint64_t{BYOC_MODULE_NATIVE});
  EXPECT_TRUE(llvm.modules[0].compat.starts_with("cpu="));
  std::vector<Tensor> reference = execute(built(kProgram, "json", ""), plugins(folder.path()));
  expect_close(execute(llvm, nullptr), reference);
}

TEST(LlvmPlugin, RunsFromAnArtifactUnlessNativeCodeIsRefused) {
  TempFolder folder;
  Executable llvm = built(kProgram, "llvm", folder.file("cache"));
  std::vector<Tensor> before = execute(llvm, nullptr);
  ASSERT_TRUE(save_artifact(llvm, folder.file("m.byoc")).ok());
  auto loaded = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  expect_close(execute(*loaded, nullptr), before);
  auto refused = Session::load(*std::move(loaded), nullptr, {.allow_native = false});
  EXPECT_EQ(refused.status().code(), Code::kPermissionDenied);
}

// A host may give a saved module back to the plugin, with the constants of the function and without
// the packed ones, which are four times as large for filters of Winograd's tiles.
TEST(LlvmPlugin, MakesPackedConstantsAgainWhenItLoadsAModule) {
  std::vector<float> weight(4 * 4 * 3 * 3 * 16 * 16);
  for (size_t k = 0; k < weight.size(); ++k) weight[k] = static_cast<float>(k * 37 % 101) / 50 - 1;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, {1, 4, 14, 14, 16}});
  ValueId w = f.constant_f32({4, 4, 3, 3, 16, 16}, weight);
  ValueId y = f.call("conv2d_nchwc", {x, w}, {{"pads", Ints{1, 1, 1, 1}}});
  ASSERT_TRUE(f.finish("main", {y}).ok());
  TempFolder folder;
  BuildOptions options;
  options.plugins = plugins(folder.file("cache"));
  options.compilers = {"llvm"};
  options.strict = true;
  Result<Executable> native = build(module, options);
  ASSERT_TRUE(native.ok()) << native.status().to_string();
  options.compilers = {"json"};
  Result<Executable> json = build(module, options);
  ASSERT_TRUE(json.ok()) << json.status().to_string();
  const std::vector<Tensor> expected = execute(*json, options.plugins);

  ASSERT_EQ(native->modules.size(), 1u);
  ASSERT_EQ(native->modules[0].functions.size(), 1u);
  ASSERT_EQ(native->modules[0].functions[0].packed.size(), 1u);
  expect_close(execute(*native, nullptr), expected);
  Executable lent = *std::move(native);
  lent.modules[0].flags = 0;  // so that the session loads it by the plugin
  lent.modules[0].functions[0].packed.clear();
  auto original = Buffer::copy(std::as_bytes(std::span(weight)));
  lent.constants = {{original->key(), original}};
  expect_close(execute(lent, options.plugins), expected);
}

// Both modules define byoc_native_entry_v1. The host must call that of the right module.
constexpr std::string_view kTwice = R"(fn first(%x: f32[64]) {compiler="llvm"} {
  %0 = exp(%x)
  return %0
}
fn main(%x: f32[64]) {
  %0 = @first(%x)
  %1 = const(3.0) : f32[]
  %2 = multiply(%0, %1)
  return %2
})";

Executable of_two_modules(const std::shared_ptr<const PluginSet>& plugins) {
  IRModule module = parse(kTwice);
  PassContext context = context_of(module, plugins, {"llvm"});
  module = run(std::move(module), "infer_types,run_codegen=llvm", context);
  module = run(std::move(module), "fuse_ops,run_codegen,eliminate_dead_code,plan_memory", context);
  Result<Executable> out = make_executable(module);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

TEST(LlvmPlugin, TwoNativeModulesRunFromOneArtifactWithTheRuntimeAlone) {
  TempFolder folder;
  Executable two = of_two_modules(plugins(folder.file("cache")));
  ASSERT_EQ(two.modules.size(), 2u);
  for (const ExternalModule& module : two.modules)
    EXPECT_EQ(module.flags, uint64_t{BYOC_MODULE_NATIVE});
  std::vector<Tensor> x;
  x.push_back(tensor_f32({64}, std::vector<float>(64, 0.5f)));
  std::vector<Tensor> y = execute(two, nullptr, x);
  for (float value : floats(y[0])) EXPECT_NEAR(value, 4.9461638, 1e-6);  // 3 e^(1/2)

  TempFolder empty;  // gets byoc-run and the artifact, no plugins
  std::filesystem::copy(cat(BYOC_BUILD_DIR, "/bin/byoc-run"), empty.path());
  ASSERT_TRUE(save_artifact(two, empty.file("m.byoc")).ok());
  Byoc runtime(cat("cd ", empty.path(), " && env -i ./byoc-run"));
  Ran ran = runtime("m.byoc --input x=f32[64]=0.5");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("4.946"), std::string::npos) << ran.out;
  Ran refused = runtime("m.byoc --no-native");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("native"));
}

TEST(LlvmPlugin, CompilesToEqualBytesWithAndWithoutACache) {
  TempFolder folder;
  Executable first = built(kProgram, "llvm", folder.file("cache"));
  EXPECT_GT(folder.count(), 0u);
  Executable second = built(kProgram, "llvm", folder.file("cache"));
  Executable third = built(kProgram, "llvm", folder.file("other"));
  EXPECT_EQ(first.modules[0].blob->key(), second.modules[0].blob->key());
  EXPECT_EQ(first.modules[0].blob->key(), third.modules[0].blob->key());
}

TEST(LlvmPlugin, ShowsItsCodeInTwoFormsAndNoOther) {
  TempFolder folder;
  auto set = plugins(folder.file("cache"));
  const Plugin& llvm = *set->find("llvm");
  IRModule module = parse("fn main(%x: f32[4]) { %0 = relu(%x) return %0 }");
  CompileFunction function = compile_input(module, module.entry);
  auto text = llvm.show(function, {}, "llvm"), assembly = llvm.show(function, {}, "asm");
  ASSERT_TRUE(text.ok() && assembly.ok()) << text.status().to_string();
  EXPECT_THAT(*text, HasSubstr("define hidden"));
  EXPECT_THAT(*assembly, HasSubstr("\tret"));
  Status other = llvm.show(function, {}, "ptx").status();
  EXPECT_EQ(other.code(), Code::kUnimplemented);
  EXPECT_EQ(other.message(), "llvm: shows no code of the form \"ptx\"");
}

TEST(LlvmPlugin, HasPanelsOfWholeVectors) {
  TempFolder folder;
  auto set = plugins(folder.file("cache"));
  for (auto [target, lanes] : {std::pair("x86-64-v3", 8), std::pair("x86-64-v4", 16)}) {
    auto rows = set->find("llvm")->layouts(te::print(*te::parse_target(target)));
    ASSERT_TRUE(rows.ok()) << rows.status().to_string();
    for (const WantedLayout& row : *rows) {
      if (row.op != "matmul") continue;
      EXPECT_EQ(row.block % lanes, 0) << target;
    }
  }
}

TEST(LlvmPlugin, FusesNoMultiplyAddWhereSumsAreExact) {
  TempFolder folder;
  auto set = plugins(folder.file("cache"));
  IRModule module = parse("fn main(%x: f32[4,8], %y: f32[8,4]) { %0 = matmul(%x, %y) return %0 }");
  CompileFunction function = compile_input(module, module.entry);
  CompileOptions options{.target_json = te::print(*te::parse_target("x86-64-v3"))};
  auto fused = set->find("llvm")->show(function, options, "asm");
  options.flags = BYOC_STRICT_FP;
  auto exact = set->find("llvm")->show(function, options, "asm");
  ASSERT_TRUE(fused.ok() && exact.ok()) << fused.status().to_string();
  EXPECT_THAT(*fused, HasSubstr("vfmadd"));
  EXPECT_THAT(*exact, Not(HasSubstr("vfmadd")));
  EXPECT_THAT(*exact, HasSubstr("vmulps"));
}

/// Returns the number of kernels among the files of the cache.
int kernels_in(const std::string& cache) {
  int out = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache))
    out += entry.path().filename().string().starts_with('k');
  return out;
}

TEST(LlvmPlugin, CachesKernelsOfExactSumsApart) {
  TempFolder folder;
  auto set = plugins(folder.file("cache"));
  IRModule module = parse("fn main(%x: f32[4,8], %y: f32[8,4]) { %0 = matmul(%x, %y) return %0 }");
  CompileFunction function = compile_input(module, module.entry);
  CompileResult fused = set->find("llvm")->compile({&function, 1}, {});
  CompileResult exact = set->find("llvm")->compile({&function, 1}, {.flags = BYOC_STRICT_FP});
  ASSERT_TRUE(fused.status.ok() && exact.status.ok()) << exact.status.to_string();
  EXPECT_NE(fused.module.blob->key(), exact.module.blob->key());
  EXPECT_EQ(kernels_in(folder.file("cache")), 2);
}

// A rebuild replaces the file of the plugin that is loaded. The new build must not use the cache
// entries of the old one, so their key is the build ID of the loaded image.
TEST(LlvmPlugin, CachesUnderTheBuildThatRunsWhateverItsFileIsNow) {
  namespace fs = std::filesystem;
  TempFolder folder;
  const std::string library = folder.file("libbyoc_llvm.so"), cache = folder.file("cache");
  fs::copy_file(cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so"), library);
  PluginSearch search;
  search.files = {library};
  search.options = {{"llvm", {{"cache_dir", cache}}}};
  auto set = PluginSet::load(search);
  ASSERT_NE(set->find("llvm"), nullptr);
  auto compile = [&](std::string_view text) {
    IRModule module = parse(text);
    CompileFunction function = compile_input(module, module.entry);
    EXPECT_TRUE(set->find("llvm")->compile({&function, 1}, {}).status.ok());
  };
  fs::copy_file(library, folder.file("rebuilt"));
  put(folder.file("rebuilt"), get(library) + "another build");
  fs::rename(folder.file("rebuilt"), library);
  compile("fn main(%x: f32[5]) { %0 = relu(%x) return %0 }");
  fs::copy_file(cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so"), folder.file("rebuilt"));
  put(folder.file("rebuilt"), get(library) + "a third build");
  fs::rename(folder.file("rebuilt"), library);
  compile("fn main(%x: f32[6]) { %0 = relu(%x) return %0 }");
  std::set<std::string> compilers;
  for (const auto& entry : fs::directory_iterator(cache)) {
    const std::string name = entry.path().filename().string();
    const size_t dash = name.find('-');
    if (dash != std::string::npos) compilers.insert(name.substr(dash + 1));  // not "growth"
  }
  EXPECT_THAT(compilers, ::testing::SizeIs(1));
  auto other = plugins(cache);  // the same build, from another file
  set = other;
  compile("fn main(%x: f32[5]) { %0 = relu(%x) return %0 }");
  EXPECT_EQ(kernels_in(cache), 2) << "expected no new kernel";
}

/// Returns the number of threads of this process.
size_t count_threads() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

TEST(LlvmPlugin, CompilesOnAsManyThreadsAsItIsGivenAndNoMore) {
  TempFolder folder;
  auto set = plugins(folder.file("cache"));
  std::vector<IRModule> modules;
  std::vector<CompileFunction> functions;
  for (int k = 0; k < 6; ++k) {
    modules.push_back(parse(cat("fn main(%x: f32[", k + 3, "]) { %0 = tanh(%x) return %0 }")));
    functions.push_back(compile_input(modules.back(), modules.back().entry));
    functions.back().symbol = cat("f", k);
  }
  const size_t before = count_threads();
  for (uint32_t threads : {1u, 3u}) {
    Cancellation watched;
    std::atomic<size_t> most{0};
    watched.set_progress(
        [&](uint32_t, std::string_view) { most = std::max(most.load(), count_threads()); });
    CompileOptions options{.threads = threads, .cancel = &watched};
    ASSERT_TRUE(set->find("llvm")->compile(functions, options).status.ok());
    EXPECT_EQ(most, before + threads - 1);
  }
}

TEST(LlvmPlugin, ReportsProgressPerKernelAndStopsWhenCancelled) {
  TempFolder folder;
  auto set = plugins(folder.file("cache"));
  IRModule module = parse(R"(fn a(%x: f32[4]) { %0 = relu(%x) return %0 }
fn main(%x: f32[4]) { %0 = tanh(%x) return %0 })");
  std::vector<CompileFunction> functions = {compile_input(module, Symbol("a")),
                                            compile_input(module, module.entry)};
  Cancellation cancellation;
  std::vector<uint32_t> seen;
  cancellation.set_progress([&](uint32_t permille, std::string_view) { seen.push_back(permille); });
  CompileOptions options{.cancel = &cancellation};
  ASSERT_TRUE(set->find("llvm")->compile(functions, options).status.ok());
  std::sort(seen.begin(), seen.end());
  EXPECT_THAT(seen, ::testing::ElementsAre(500, 1000));
  cancellation.cancel();
  Status stopped = set->find("llvm")->compile(functions, options).status;
  EXPECT_EQ(stopped.code(), Code::kCancelled);
  EXPECT_EQ(stopped.slug(), "interrupted");
}

TEST(LlvmPlugin, SaysWhyItRefusesAnOp) {
  Report report;
  BuildOptions options;
  TempFolder folder;
  options.plugins = plugins(folder.file("cache"));
  options.compilers = {"llvm"};
  options.strict = true;
  Result<Executable> out =
      build(parse("fn main(%x: f32[N,4]) { %0 = relu(%x) return %0 }"), options);
  EXPECT_FALSE(out.ok());
  EXPECT_THAT(out.status().to_string(), HasSubstr("N"));
}

}  // namespace
}  // namespace byoc::test
