// SPDX-License-Identifier: Apache-2.0
// The json plugin, called through the ABI: text -> graph JSON -> compile -> save -> load -> run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "byoc/host/plugins.h"
#include "byoc/runtime/tensor.h"
#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"
#include "support/allocations.h"
#include "support/paths.h"

namespace byoc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Plugin& json_plugin() {
  static auto* set = new auto(PluginSet::load({.files = {BYOC_PLUGIN_DIR "/libbyoc_json.so"}}));
  EXPECT_TRUE((*set)->refused().empty());
  return **(*set)->get("json");
}

IRModule parse(std::string_view text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

TensorSpec spec_of(TypeId type) { return {type->dtype, static_extents(type->shape)}; }

// The data that a host has in order to compile and run @main.
struct Compiled {
  explicit Compiled(std::string_view text)
      : module(parse(text)), main(module.function(module.entry)) {
    CompileFunction function;
    function.symbol = "f_0";
    write_graph_json(module, main, "f_0", function.graph_json);
    for (const ConstantRef& constant : graph_constants(module, main)) {
      function.constants.push_back({"c", constant.key, spec_of(constant.type)});
      function.buffers.push_back(module.constants.at(constant.key));
    }
    buffers = function.buffers;
    function.n_in = static_cast<uint32_t>(main.num_params());
    function.n_out = static_cast<uint32_t>(main.results.size());
    result = json_plugin().compile({&function, 1}, "{}", 1, 0);
  }
  const ExternalFunction& external() const { return result.module.functions[0]; }

  IRModule module;
  const Function& main;
  std::vector<std::shared_ptr<const Buffer>> buffers;
  CompileResult result;
};

// A loaded kernel, with tensors for its arguments.
class LoadedRun {
 public:
  explicit LoadedRun(const Compiled& compiled) : compiled_(compiled) {
    auto loaded = json_plugin().load(compiled.result.module, compiled.buffers, 1);
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    if (loaded.ok()) module_ = *std::move(loaded);
    const Function& f = compiled.main;
    for (size_t k = 0; k < f.num_params(); ++k)
      tensors_.push_back(*Tensor::make(spec_of(f.nodes[k].types[0])));
    for (TypeId type : f.result_types()) tensors_.push_back(*Tensor::make(spec_of(type)));
    for (Tensor& tensor : tensors_) views_.push_back(tensor.view());
    for (DLTensor& view : views_) pointers_.push_back(&view);
    const auto bytes = static_cast<int64_t>(module_.kernels()[0].workspace_bytes);
    workspace_ = *Tensor::make({DType::kU8, {bytes}});
  }
  template <class T>
  void set(size_t k, const std::vector<T>& values) {
    ASSERT_EQ(tensors_[k].size_bytes(), values.size() * sizeof(T));
    std::memcpy(tensors_[k].data(), values.data(), tensors_[k].size_bytes());
  }
  DLTensor& view(size_t k) { return views_[k]; }
  byoc_status* run() {
    byoc_call call{};
    call.h = {sizeof call, BYOC_TAG_CALL, nullptr};
    call.args = pointers_.data();
    call.n_args = static_cast<uint32_t>(pointers_.size());
    call.workspace = workspace_.data();
    call.workspace_bytes = workspace_.size_bytes();
    return module_.table()->run(module_.kernel(0), &call);
  }
  template <class T = float>
  std::vector<T> out(size_t k) {
    const Tensor& tensor = tensors_[compiled_.main.num_params() + k];
    std::vector<T> values(tensor.size_bytes() / sizeof(T));
    std::memcpy(values.data(), tensor.data(), tensor.size_bytes());
    return values;
  }

 private:
  const Compiled& compiled_;
  LoadedModule module_;
  std::vector<Tensor> tensors_;
  std::vector<DLTensor> views_;
  std::vector<const DLTensor*> pointers_;
  Tensor workspace_;
};

TEST(JsonPlugin, IsADefaultCodegenOfLowPriority) {
  EXPECT_EQ(json_plugin().version(), "0.1.0");
  EXPECT_TRUE(json_plugin().is_default_codegen());
  EXPECT_EQ(json_plugin().priority(), 10);
  EXPECT_TRUE(json_plugin().patterns().empty());
}

TEST(JsonPlugin, ComputesAChainWithAConstant) {
  Compiled compiled(
      "fn main(%x: f32[4]) { %0 = const([1,2,3,4]) : f32[4]  %1 = add(%x, %0)  %2 = relu(%1)"
      "  %3 = multiply(%2, %2)  return %3 }");
  ASSERT_TRUE(compiled.result.status.ok()) << compiled.result.status.to_string();
  LoadedRun run(compiled);
  run.set<float>(0, {-5, 0, 1, -4});
  ASSERT_EQ(run.run(), nullptr);
  EXPECT_THAT(run.out(0), ElementsAre(0, 4, 16, 0));
}

TEST(JsonPlugin, WritesEveryKindOfOutput) {
  // The results are: one that is read inside, the same one again, an input, and a constant.
  Compiled compiled(
      "fn main(%x: f32[2]) { %0 = const([7,8]) : f32[2]  %1 = relu(%x)  %2 = add(%1, %1)"
      "  return %1, %2, %1, %x, %0 }");
  ASSERT_TRUE(compiled.result.status.ok()) << compiled.result.status.to_string();
  LoadedRun run(compiled);
  run.set<float>(0, {-1, 3});
  ASSERT_EQ(run.run(), nullptr);
  EXPECT_THAT(run.out(0), ElementsAre(0, 3));
  EXPECT_THAT(run.out(1), ElementsAre(0, 6));
  EXPECT_THAT(run.out(2), ElementsAre(0, 3));
  EXPECT_THAT(run.out(3), ElementsAre(-1, 3));
  EXPECT_THAT(run.out(4), ElementsAre(7, 8));
}

TEST(JsonPlugin, WalksThroughComposites) {
  Compiled compiled(R"(
    fn main(%x: f32[2]) { %0 = const([1,-1]) : f32[2]  %1 = @c(%x, %0)  %2 = @c(%1, %1)  return %2 }
    fn c(%a: f32[2], %b: f32[2]) {composite="json.add_relu"} { %0 = add(%a, %b)  %1 = relu(%0)  return %1 })");
  ASSERT_TRUE(compiled.result.status.ok()) << compiled.result.status.to_string();
  LoadedRun run(compiled);
  run.set<float>(0, {2, -3});
  ASSERT_EQ(run.run(), nullptr);
  EXPECT_THAT(run.out(0), ElementsAre(6, 0));  // relu(2+1)=3, relu(-3-1)=0, doubled
}

TEST(JsonPlugin, TakesEmptyTensors) {
  Compiled compiled("fn main(%x: f32[0,3]) { %0 = relu(%x)  return %0, %x }");
  ASSERT_TRUE(compiled.result.status.ok()) << compiled.result.status.to_string();
  LoadedRun run(compiled);
  run.view(0).data = nullptr;  // the ABI allows it
  EXPECT_EQ(run.run(), nullptr);
}

TEST(JsonPlugin, HonoursByteOffsets) {
  Compiled compiled("fn main(%x: f32[2]) { %0 = relu(%x)  return %0 }");
  LoadedRun run(compiled);
  const float values[] = {9, 9, 5, 6};
  run.view(0).data = const_cast<float*>(values);
  run.view(0).byte_offset = 8;
  ASSERT_EQ(run.run(), nullptr);
  EXPECT_THAT(run.out(0), ElementsAre(5, 6));
}

std::string message_of(byoc_status* status) {
  // The status is an object of the host and opaque here, so it is only compared with null.
  if (status == nullptr) return "";
  host_table()->status_free(status);
  return "a status";
}

TEST(JsonPlugin, RefusesTensorsThatAreNotCompact) {
  Compiled compiled("fn main(%x: f32[2,2]) { %0 = relu(%x)  return %0 }");
  LoadedRun run(compiled);
  int64_t transposed[] = {1, 2}, compact[] = {2, 1};
  run.view(0).strides = compact;
  EXPECT_EQ(message_of(run.run()), "");
  run.view(0).strides = transposed;
  EXPECT_EQ(message_of(run.run()), "a status");
}

TEST(JsonPlugin, KeepsConstantsInPlaceAndReportsThem) {
  Compiled compiled(
      "fn main(%x: f32[2]) { %0 = const([1,2]) : f32[2]  %1 = const([3,4]) : f32[2]"
      "  %2 = add(%x, %1)  return %2 }");
  ASSERT_TRUE(compiled.result.status.ok());
  ASSERT_EQ(compiled.external().constants.size(), 2u);
  EXPECT_EQ(compiled.external().constants[0].use, BYOC_CONST_UNUSED);
  EXPECT_EQ(compiled.external().constants[1].use, BYOC_CONST_KEPT);
}

TEST(JsonPlugin, ReusesTheWorkspaceOfDeadTensors) {
  std::string text = "fn main(%x: f32[1024]) { %0 = relu(%x) ";
  for (int k = 1; k < 50; ++k) text += cat("%", k, " = relu(%", k - 1, ") ");
  Compiled compiled(text + "return %49 }");
  ASSERT_TRUE(compiled.result.status.ok());
  EXPECT_LT(compiled.external().workspace_bytes,
            2 * 4096 + 4096u);  // two tensors and tables, not 49
}

TEST(JsonPlugin, RunsWithoutAllocatingAndFromManyThreads) {
  Compiled compiled(
      "fn main(%x: f32[256]) { %0 = relu(%x)  %1 = add(%0, %x)  %2 = multiply(%1, %0)  return %2 "
      "}");
  auto loop = [&](float value) {
    LoadedRun run(compiled);
    run.set<float>(0, std::vector<float>(256, value));
    for (int k = 0; k < 200; ++k) EXPECT_EQ(run.run(), nullptr);
    EXPECT_EQ(run.out(0), std::vector<float>(256, 2 * value * value));
  };
  std::vector<std::thread> threads;
  for (int k = 1; k <= 4; ++k) threads.emplace_back(loop, static_cast<float>(k));
  for (std::thread& thread : threads) thread.join();
  LoadedRun run(compiled);
  uint64_t before = test::allocations();
  byoc_status* status = run.run();
  EXPECT_EQ(test::allocations() - before, 0u);
  EXPECT_EQ(status, nullptr);
}

TEST(JsonPlugin, TakesSizesWithoutBoundsAndDeclinesExterns) {
  Compiled compiled("fn main(%x: f32[2], %n: f32[N]) { %0 = relu(%x)  %1 = relu(%n)  return %0 }");
  EXPECT_TRUE(compiled.result.status.ok()) << compiled.result.status.to_string();
  Compiled external(
      "fn main(%x: f32[2]) { %0 = relu(%x)  %1 = call_dps_packed(@e, %x) : f32[2]  return %1 }");
  EXPECT_FALSE(external.result.status.ok());
}

Verdict judged(std::string_view text) {
  IRModule module = parse(text);
  std::string json;
  write_graph_json(module, module.function(module.entry), "candidate", json);
  auto verdict = json_plugin().judge(BYOC_NO_PATTERN, json);
  EXPECT_TRUE(verdict.ok()) << verdict.status().to_string();
  return verdict.ok() ? *verdict : Verdict();
}

TEST(JsonPlugin, JudgesByTheReferenceKernels) {
  EXPECT_EQ(judged("fn main(%x: f32[2]) { %0 = relu(%x)  return %0 }").accept, Verdict::kYes);
  EXPECT_EQ(
      judged("fn main(%x: f32[2]) { %0 = const(1) : f32[100,2]  %1 = add(%x, %0)  return %1 }")
          .accept,
      Verdict::kYes);  // judge gets no bytes of constants
  EXPECT_EQ(judged("fn main(%x: f32[N]) { %0 = relu(%x)  return %0 }").accept, Verdict::kYes);
}

}  // namespace
}  // namespace byoc
