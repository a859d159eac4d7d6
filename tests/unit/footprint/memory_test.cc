// SPDX-License-Identifier: Apache-2.0
// Weights are in memory once: in the plugin's layout when the plugin
// packs them, or else in the mapped file.
#ifdef BYOC_MEASURES_MEMORY
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "byoc/base/json.h"
#include "byoc/export.h"
#include "byoc/host/plugins.h"
#include "byoc/runtime/session.h"
#include "byoc/text/builder.h"
#include "support/flow.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "support/traced.h"

namespace byoc::test {
namespace {

using Dims = std::vector<int64_t>;
constexpr uint64_t kMiB = uint64_t{1} << 20;

/// Adds a constant of random values. Every seed gives different values, so no two are merged.
ValueId weight(FunctionBuilder& f, const Dims& dims, uint64_t seed) {
  Tensor tensor = *Tensor::make({DType::kF32, dims});
  fill_random(tensor, seed);
  return f.constant({DType::kF32, Shape(dims.begin(), dims.end())},
                    Buffer::copy({tensor.data(), tensor.size_bytes()}));
}

/// Returns 8 convolutions of few pixels, with 72 MiB of weights and 0.5 MiB of other tensors.
IRModule convolutions() {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId value = f.param("x", {DType::kF32, {1, 512, 4, 4}});
  Attrs attrs;
  attrs.set("pads", std::vector<int64_t>{1, 1, 1, 1});
  for (uint64_t k = 0; k < 8; ++k)
    value = f.call("relu", {f.call("conv2d", {value, weight(f, {512, 512, 3, 3}, k)}, attrs)});
  EXPECT_TRUE(f.finish("main", {value}).ok());
  return module;
}

/// Returns 5 products of a row and a matrix, with 80 MiB of weights.
IRModule products() {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId value = f.param("x", {DType::kF32, {1, 2048}});
  for (uint64_t k = 0; k < 5; ++k) value = f.call("matmul", {value, weight(f, {2048, 2048}, k)});
  EXPECT_TRUE(f.finish("main", {value}).ok());
  return module;
}

struct Footprint {
  uint64_t packed = 0, arena = 0, workspace = 0, constants = 0;  // from --profile
  uint64_t file = 0;                                             // resident pages after the run
  uint64_t peak_anonymous = 0;                                   // measured by the system
};

/// Measures `byoc-run` on the artifact that `compiler` makes of the module.
Footprint footprint(IRModule module, const std::string& compiler,
                    const std::map<std::string, std::string>& options = {}) {
  TempFolder folder;
  PluginSearch search{.folders = {BYOC_PLUGIN_DIR}};
  search.options[compiler] = options;
  auto executable =
      build(std::move(module), {.plugins = PluginSet::load(search), .compilers = {compiler}});
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  EXPECT_TRUE(save_artifact(*executable, folder.file("m.byoc")).ok());
  Traced traced = run_traced({std::string(BYOC_BUILD_DIR) + "/bin/byoc-run", folder.file("m.byoc"),
                              "--profile", "--json"});
  EXPECT_EQ(traced.code, 0) << traced.out;
  auto json = parse_json(traced.out);
  EXPECT_TRUE(json.ok()) << traced.out;
  const Json& memory = (*json)["memory"];
  auto bytes = [&](const char* name) { return memory[name].get<uint64_t>(); };
  return {bytes("packed_bytes"),   bytes("arena_bytes"), bytes("workspace_bytes"),
          bytes("constant_bytes"), bytes("file_bytes"),  traced.peak_anonymous_bytes};
}

TEST(Memory, PackedWeightsAreMappedAndTheOriginalsNotRead) {
  Footprint f = footprint(convolutions(), "onednn");
  EXPECT_GE(f.packed, 72 * kMiB);
  EXPECT_LE(f.packed, 80 * kMiB);  // a layout may round channels up; no second copy
  EXPECT_LE(f.peak_anonymous, 8 * kMiB + f.arena + f.workspace) << "packed weights were copied";
  EXPECT_LE(f.constants, kMiB);
  EXPECT_GE(f.file, f.packed) << "the measurement misses packed weights";
  EXPECT_LT(f.file, f.packed + 72 * kMiB) << "originals are resident";  // besides: code of plugins
}

TEST(Memory, WeightsPackedByALoadAreHeldOnceAndTheOriginalsLetGo) {
  Footprint f = footprint(convolutions(), "onednn", {{"store_packed", "0"}});
  EXPECT_GE(f.packed, 72 * kMiB);
  EXPECT_LE(f.packed, 80 * kMiB);
  EXPECT_GE(f.peak_anonymous, f.packed) << "the measurement misses packed weights";
  EXPECT_LE(f.peak_anonymous, 1.15 * static_cast<double>(f.packed + f.arena + f.workspace));
  EXPECT_LE(f.constants, kMiB);
  EXPECT_LT(f.file, 72 * kMiB) << "the artifact is still resident";  // expected: code of plugins
}

TEST(Memory, WeightsReadAsTheyAreStayInTheMappedFile) {
  Footprint f = footprint(products(), "json");
  EXPECT_EQ(f.packed, 0u);
  EXPECT_EQ(f.constants, 80 * kMiB);
  EXPECT_GE(f.file, 80 * kMiB) << "constants in use were released";
  EXPECT_LE(f.peak_anonymous, 8 * kMiB) << "copied weights or unused plugins";
}

bool has_llvm() { return std::ifstream(cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so")).good(); }

/// The resident bytes of a file's mappings in this process.
struct MappedBytes {
  uint64_t shared_clean = 0, private_clean = 0, dirty = 0;
};

MappedBytes mapped_bytes(const std::string& path) {
  MappedBytes out;
  std::ifstream smaps("/proc/self/smaps");
  bool is_ours = false;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kib = 0;
    words >> name;
    if (!name.ends_with(':')) is_ours = line.ends_with(path);  // the first line of a mapping
    if (!is_ours || !(words >> kib)) continue;
    if (name == "Shared_Clean:") out.shared_clean += kib << 10;
    if (name == "Private_Clean:") out.private_clean += kib << 10;
    if (name == "Shared_Dirty:" || name == "Private_Dirty:") out.dirty += kib << 10;
  }
  return out;
}

/// Loads the artifact and runs it once. The session is held as long as the result.
std::unique_ptr<const Session> run_once(const std::string& path,
                                        const std::shared_ptr<const PluginSet>& plugins) {
  auto executable = load_artifact(path);
  if (!executable.ok()) return nullptr;
  const TensorSpec input = executable->program.inputs[0].type;
  const TensorSpec output = executable->program.outputs[0].type;
  auto session = Session::load(*std::move(executable), plugins);
  if (!session.ok()) return nullptr;
  auto context = (*session)->make_context();
  Tensor in = *Tensor::make(input), out = *Tensor::make(output);
  fill_random(in, 1);
  DLTensor x = in.view(), y = out.view();
  const bool is_right = context.ok() && (*session)->run(**context, {&x, 1}, {&y, 1}).ok();
  return is_right ? *std::move(session) : nullptr;
}

/// Compiles the module to a file. Nothing else stays of it: sessions would share packed weights.
void compile_to(IRModule module, const std::string& compiler,
                const std::shared_ptr<const PluginSet>& plugins, const std::string& path) {
  auto executable = build(std::move(module), {.plugins = plugins, .compilers = {compiler}});
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  ASSERT_TRUE(save_artifact(*executable, path).ok());
}

/// Runs the artifact in a child, and while that holds its session in this process: both read the
/// weights from the same pages.
void expect_shared_pages(IRModule module, const std::string& compiler, uint64_t weights) {
  TempFolder folder;
  const std::string path = folder.file("m.byoc");
  auto plugins = PluginSet::load({.folders = {BYOC_PLUGIN_DIR}});
  ASSERT_NO_FATAL_FAILURE(compile_to(std::move(module), compiler, plugins, path));
  int ready[2], finish[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(finish), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(finish[1]);
    auto session = run_once(path, plugins);
    char byte = session ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) == 1) (void)!::read(finish[0], &byte, 1);
    ::_exit(0);
  }
  char state = 0;
  EXPECT_EQ(::read(ready[0], &state, 1), 1);
  EXPECT_EQ(state, 'y');
  auto session = run_once(path, plugins);
  EXPECT_NE(session, nullptr);
  const MappedBytes mapped = mapped_bytes(path);
  EXPECT_GE(mapped.shared_clean, weights) << compiler;
  EXPECT_LE(mapped.private_clean, kMiB) << compiler;
  EXPECT_EQ(mapped.dirty, 0u) << compiler;
  for (int fd : {finish[1], finish[0], ready[0], ready[1]}) ::close(fd);
  ::waitpid(child, nullptr, 0);
}

TEST(Memory, TwoProcessesShareThePagesOfWeights) {
  expect_shared_pages(convolutions(), "onednn", 72 * kMiB);
  if (has_llvm()) expect_shared_pages(convolutions(), "llvm", 72 * kMiB);
}

/// Returns the peak of resident memory of `byoc compile` on a model with 192 MiB of weights.
uint64_t peak_of_compile(const std::string& compiler) {
  TempFolder folder;
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId value = f.param("x", {DType::kF32, {1, 2048}});
  for (uint64_t k = 0; k < 3; ++k)
    value = f.call("matmul", {value, weight(f, k % 2 ? Dims{8200, 2048} : Dims{2048, 8200}, k)});
  EXPECT_TRUE(f.finish("main", {value}).ok());
  EXPECT_TRUE(export_onnx(module, folder.file("m.onnx")).ok());
  Traced traced =
      run_traced({std::string(BYOC_BUILD_DIR) + "/bin/byoc", "compile", folder.file("m.onnx"),
                  "--compiler", compiler, "-o", folder.file("m.byoc")});
  EXPECT_EQ(traced.code, 0) << traced.out;
  ::testing::Test::RecordProperty(compiler + "_mib", cat(traced.peak_resident_bytes / kMiB));
  EXPECT_EQ(folder.count(), 2u) << "files are left";
  auto artifact = load_artifact(folder.file("m.byoc"));
  EXPECT_TRUE(artifact.ok()) << artifact.status().to_string();
  return traced.peak_resident_bytes;
}

/// Writes a model of 24 products of N rows with matrices of 8 MiB each.
void write_many_products(const std::string& path) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId value = f.param("x", {DType::kF32, {Dim::symbol("N"), 2048}});
  for (uint64_t k = 0; k < 24; ++k)
    value = f.call("matmul", {value, weight(f, k % 2 ? Dims{1024, 2048} : Dims{2048, 1024}, k)});
  EXPECT_TRUE(f.finish("main", {value}).ok());
  EXPECT_TRUE(export_onnx(module, path).ok());
}

uint64_t peak_of(const std::vector<std::string>& command) {
  Traced traced = run_traced(command);
  EXPECT_EQ(traced.code, 0) << traced.out;
  return traced.peak_resident_bytes;
}

// 192 MiB of weights, which each way to run holds once, as kernels read them: the original ones are
// in files meanwhile, and so are those of the reference. Plugins, mostly LLVM, have about 100 MiB.
// Twice the weights are more than the limit without any plugin.
TEST(Memory, EachWayToRunAModelHoldsItsWeightsOnce) {
  TempFolder folder;
  const std::string model = folder.file("m.onnx"), build = BYOC_BUILD_DIR;
  write_many_products(model);
  constexpr uint64_t kMost = 2 * 192 * kMiB;
  for (const char* compiler : {"onednn", "llvm"}) {
    if (std::string_view(compiler) == "llvm" && !has_llvm()) continue;
    EXPECT_LE(peak_of({build + "/bin/byoc", "run", model, "--compiler", compiler}), kMost)
        << compiler;
    EXPECT_LE(peak_of({build + "/bin/byoc", "bench", model, "--compiler", compiler, "--min-time",
                       "0.01", "--no-peaks"}),
              kMost)
        << compiler;
  }
  if (!has_llvm()) return;
  EXPECT_LE(peak_of({build + "/bin/c_program", "compile-cycles", build + "/lib/libbyoc.so", model,
                     BYOC_PLUGIN_DIR, "1", folder.file("m.byoc")}),
            kMost)
      << "the C API";
}

// Weights and their packed forms have 384 MiB together, which would be in memory beside 80 to 150
// MiB of the plugins' own.
TEST(Memory, CompilingHoldsAPartOfTheWeightsAtOnce) {
  EXPECT_LE(peak_of_compile("onednn"), 288 * kMiB);
  if (!has_llvm()) return;
  EXPECT_LE(peak_of_compile("llvm"), 288 * kMiB);
}

}  // namespace
}  // namespace byoc::test
#endif
