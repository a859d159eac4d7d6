// SPDX-License-Identifier: Apache-2.0
// Code generation of large graphs by the shipped plugins: the compiled code grows with the number
// of different ops, the artifact grows with the graph, and the numbers are right.
#include <gtest/gtest.h>

#include "bench/support/onnx_graphs.h"
#include "byoc/import.h"
#include "byoc/op/registry.h"
#include "support/flow.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

using bench::Shape;

std::shared_ptr<const PluginSet> shipped_plugins() {
  PluginSearch search;
  for (const char* id : {"json", "onednn", "llvm"})
    search.files.push_back(cat(BYOC_PLUGIN_DIR, "/libbyoc_", id, ".so"));
  search.options["llvm"] = {{"cache", "0"}};
  return PluginSet::load(search);
}

struct Compiled {
  Executable executable;
  uint64_t ops = 0, functions = 0, code_bytes = 0;
};

// Compiles a graph, and compares its outputs with arithmetic in f64.
Compiled compile(Shape shape, uint32_t ops, const std::vector<std::string>& compilers) {
  TempFolder folder;
  std::string path = folder.file("model.onnx");
  float expected = static_cast<float>(bench::write_onnx_graph(path, shape, ops, 0.25));
  Result<IRModule> module = import_onnx(path, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  BuildOptions options;
  options.plugins = shipped_plugins();
  options.compilers = compilers;
  Result<Executable> executable = build(*std::move(module), options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  if (!executable.ok()) return {};
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({1, 64}, std::vector<float>(64, 0.25f)));
  for (float y : floats(execute(*executable, options.plugins, inputs)[0]))
    EXPECT_NEAR(y, expected, 1e-5) << ops << " ops";  // errors do not add up in any shape
  Compiled out{*std::move(executable)};
  for (const ExternalModule& made : out.executable.modules) {
    out.functions += made.functions.size();
    out.code_bytes += made.blob->size();
  }
  for (const Step& step : out.executable.program.steps)
    out.ops += out.executable.modules[step.module].functions[step.function].ops;
  return out;
}

TEST(CodegenAtScale, OfLlvmCompilesAChainAsAFewKernelsAndATable) {
  for (Shape shape : {Shape::kChain, Shape::kLadder}) {
    Compiled small = compile(shape, 1000, {"llvm"}), large = compile(shape, 10000, {"llvm"});
    EXPECT_EQ(small.functions, 1u);
    EXPECT_EQ(large.functions, 1u);
    EXPECT_LE(large.code_bytes - small.code_bytes, 9000u * 5 * sizeof(int32_t) + 8192)
        << "a call is four or five numbers";
  }
}

TEST(CodegenAtScale, OfARandomGraphIsLinearByEveryCombination) {
  const std::vector<std::string> combinations[] = {
      {"json"}, {"llvm"}, {"onednn", "llvm"}, {"json", "llvm"}, {"onednn", "json", "llvm"}};
  for (const auto& compilers : combinations) {
    Compiled small = compile(Shape::kRandom, 1000, compilers);
    Compiled large = compile(Shape::kRandom, 10000, compilers);
    EXPECT_GT(small.ops, 700u) << "equal nodes are merged, and few are";
    EXPECT_LE(large.ops, 12 * small.ops);
    EXPECT_LE(large.functions, 12 * small.functions + 4096);
    EXPECT_LE(large.code_bytes, 14 * small.code_bytes);
  }
}

}  // namespace
}  // namespace byoc::test
