// SPDX-License-Identifier: Apache-2.0
// One program for every size: compiled with ranges, run at sizes of the inputs. Right values are
// those of programs that were compiled for these sizes, and of elements that are easily computed.
#include <cmath>

#include "byoc/compile.h"
#include "byoc/ir/dim.h"
#include "byoc/op/registry.h"
#include "byoc/pass/bind.h"
#include "byoc/runtime/session.h"
#include "byoc/text/text.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

constexpr const char* kOpenProduct = R"(fn main(%x: f32[1<=B<=4,1<=T<=16,8]) {
  %w = const(0.5) : f32[8,6]
  %0 = reshape(%x) {shape=[-1,8]}
  %1 = matmul(%0, %w)
  %2 = reshape(%1) {open_shape=["1<=B<=4","1<=T<=16","6"]}
  return %2
})";

std::shared_ptr<const PluginSet> plugins() {
  static const auto all = [] {
    PluginSearch search;
    search.folders = {BYOC_BUILD_DIR "/lib/byoc/plugins"};
    return PluginSet::load(search);
  }();
  return all;
}

IRModule module_of(const std::string& text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

/// A loaded program.
struct Loaded {
  explicit Loaded(IRModule module) {
    auto built = build(std::move(module), {.plugins = plugins(), .compilers = {"json"}});
    EXPECT_TRUE(built.ok()) << built.status().to_string();
    if (!built.ok()) return;
    auto loaded = Session::load(*std::move(built), plugins());
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    if (loaded.ok()) session = *std::move(loaded);
    if (session) context = *session->make_context();
  }
  /// Runs; the outputs have the types of `output_types`.
  Status run(const std::vector<Tensor>& inputs) {
    std::vector<DLTensor> in, out;
    for (const Tensor& tensor : inputs) in.push_back(tensor.view());
    BYOC_TRY(std::vector<TensorSpec> types, session->output_types(in));
    outputs.clear();
    for (const TensorSpec& type : types) outputs.push_back(*Tensor::make(type));
    for (const Tensor& tensor : outputs) out.push_back(tensor.view());
    return session->run(*context, in, out);
  }
  std::unique_ptr<Session> session;
  std::unique_ptr<Context> context;
  std::vector<Tensor> outputs;
};

Tensor random(TensorSpec spec, uint64_t seed) {
  Tensor out = *Tensor::make(spec);
  fill_random(out, seed);
  return out;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.size_bytes()};
}

/// Runs both programs, the second compiled for the sizes, and compares all bytes.
void expect_same(const std::string& text, Loaded& open, const GivenShapes& sizes,
                 const std::vector<Tensor>& inputs) {
  auto fixed = bind_shapes(module_of(text), sizes, {});
  ASSERT_TRUE(fixed.ok()) << fixed.status().to_string();
  Loaded exact(*std::move(fixed));
  const Status ran = open.run(inputs), right = exact.run(inputs);
  ASSERT_TRUE(ran.ok()) << ran.to_string();
  ASSERT_TRUE(right.ok()) << right.to_string();
  for (size_t k = 0; k < open.outputs.size(); ++k) {
    EXPECT_EQ(open.outputs[k].spec(), exact.outputs[k].spec());
    EXPECT_EQ(bytes_of(open.outputs[k]), bytes_of(exact.outputs[k]));
  }
}

TEST(OpenPrograms, EqualProgramsOfEachSize) {
  Loaded open(module_of(kOpenProduct));
  for (int64_t b : {1, 4, 2, 3, 1}) {
    for (int64_t t : {16, 1, 5, 16, 7}) {
      std::vector<Tensor> inputs;
      inputs.push_back(random({DType::kF32, {b, t, 8}}, static_cast<uint64_t>(b * 100 + t)));
      expect_same(kOpenProduct, open, {{"B", {b}}, {"T", {t}}}, inputs);
    }
  }
}

// Sums, products, quotients and limits of sizes, in the types of values in between.
TEST(OpenPrograms, ComputeSizes) {
  const std::string text = R"ir(fn main(%x: f32[1<=B<=3,1<=T<=9,4], %y: f32[1<=B<=3,2<=P<=5,4]) {
    %0 = concat(%x, %y) {axis=1}
    %1 = slice(%0) {axes=[1], ends=[-1], starts=[1]}
    %2 = slice(%0) {axes=[1], ends=[7], starts=[0]}
    %3 = slice(%0) {axes=[1], ends=[9223372036854775807], starts=[0], steps=[2]}
    %4 = flatten(%0) {axis=2}
    %5 = shape(%1)
    %6 = iota() {open_shape=["(B*T : 1<=B<=3, 1<=T<=9)"], to=i64}
    %7 = transpose(%x) {perm=[1,0,2]}
    %8 = reshape(%7) {shape=[0,-1]}
    return %1, %2, %3, %4, %5, %6, %8
  })ir";
  Loaded open(module_of(text));
  for (int64_t t : {9, 1, 4}) {
    std::vector<Tensor> inputs;
    inputs.push_back(random({DType::kF32, {2, t, 4}}, 1));
    inputs.push_back(random({DType::kF32, {2, 3, 4}}, 2));
    expect_same(text, open, {{"B", {2}}, {"T", {t}}, {"P", {3}}}, inputs);
    const auto* shape = reinterpret_cast<const int64_t*>(open.outputs[4].data());
    EXPECT_EQ(shape[0], 2);
    EXPECT_EQ(shape[1], t + 3 - 2);
    const auto* count = reinterpret_cast<const int64_t*>(open.outputs[5].data());
    EXPECT_EQ(open.outputs[5].spec().dims, std::vector{2 * t});
    EXPECT_EQ(count[2 * t - 1], 2 * t - 1);
  }
}

// A counted dim after an open one, and control flow whose values are open.
TEST(OpenPrograms, CountAndBranch) {
  const std::string text = R"(module {
    fn main(%c: bool[], %x: f32[1<=T<=9,2]) {
      %0 = nonzero(%x) {size="n"}
      %1 = if(%c, @double, @same, %x) : f32[1<=T<=9,2]
      return %0, %1
    }
    fn double(%x: f32[1<=T<=9,2]) {
      %0 = add(%x, %x)
      return %0
    }
    fn same(%x: f32[1<=T<=9,2]) {
      %0 = negative(%x)
      return %0
    }
  })";
  Loaded open(module_of(text));
  for (int64_t t : {9, 2, 5}) {
    for (bool is_double : {true, false}) {
      std::vector<Tensor> inputs;
      inputs.push_back(*Tensor::make({DType::kBool, {}}));
      *inputs[0].data() = static_cast<std::byte>(is_double);
      inputs.push_back(random({DType::kF32, {t, 2}}, 3));
      auto* x = reinterpret_cast<float*>(inputs[1].data());
      x[0] = 0;
      x[1] = 2;
      const Status ran = open.run(inputs);
      ASSERT_TRUE(ran.ok()) << ran.to_string();
      EXPECT_EQ(open.session->output_dims(*open.context, 0)[1], 2 * t - 1);
      EXPECT_EQ(open.outputs[1].spec().dims, (std::vector<int64_t>{t, 2}));
      EXPECT_EQ(reinterpret_cast<const float*>(open.outputs[1].data())[1], is_double ? 4 : -2);
    }
  }
}

// Carried values, the counter and values from before a loop have memory in each iteration.
TEST(OpenPrograms, Loop) {
  const std::string text = R"(module {
    fn main(%n: i64[], %x: f32[1<=T<=9,2]) {
      %true = const(true) : bool[]
      %0 = exp(%x)
      %1 = loop(%n, %true, @step, %0, %x) {carried=1} : f32[1<=T<=9,2]
      %2 = negative(%1)
      %3 = add(%2, %0)
      return %3
    }
    fn step(%i: i64[], %v: f32[1<=T<=9,2], %x: f32[1<=T<=9,2]) {
      %go = const(true) : bool[]
      %0 = add(%v, %x)
      %1 = add(%0, %x)
      return %go, %1
    }
  })";
  Loaded open(module_of(text));
  EXPECT_GT(open.session->program().blocks(), 3u);
  for (int64_t t : {9, 2, 5, 9, 1}) {
    for (int64_t n : {0, 1, 4}) {
      std::vector<Tensor> inputs;
      inputs.push_back(*Tensor::make({DType::kI64, {}}));
      *reinterpret_cast<int64_t*>(inputs[0].data()) = n;
      inputs.push_back(random({DType::kF32, {t, 2}}, static_cast<uint64_t>(10 * t + n)));
      const Status ran = open.run(inputs);
      ASSERT_TRUE(ran.ok()) << ran.to_string();
      const auto* x = reinterpret_cast<const float*>(inputs[1].data());
      const auto* y = reinterpret_cast<const float*>(open.outputs[0].data());
      for (int64_t k = 0; k < 2 * t; ++k)
        EXPECT_NEAR(y[k], -2.0f * static_cast<float>(n) * x[k], 1e-5) << t << " " << n;
    }
  }
}

TEST(OpenPrograms, NameTheSizeThatDoesNotFit) {
  Loaded open(
      module_of("fn main(%x: f32[2<=T<=4], %y: f32[2<=T<=4]) { %0 = add(%x, %y)  return %0 }"));
  auto ran = [&](int64_t x, int64_t y) {
    std::vector<Tensor> inputs;
    inputs.push_back(*Tensor::make({DType::kF32, {x}}));
    inputs.push_back(*Tensor::make({DType::kF32, {y}}));
    return open.run(inputs);
  };
  EXPECT_TRUE(ran(4, 4).ok());
  EXPECT_EQ(ran(5, 5).slug(), "input-size");
  EXPECT_THAT(ran(5, 5).message(), HasSubstr("the size T is 5 in \"x\", the model takes 2 to 4"));
  EXPECT_THAT(ran(5, 5).help(), HasSubstr("--shape T=2..5"));
  EXPECT_EQ(ran(1, 1).slug(), "input-size");
  EXPECT_EQ(ran(0, 0).slug(), "input-size");
  EXPECT_EQ(ran(3, 4).slug(), "input-shape");
  EXPECT_THAT(ran(3, 4).message(), HasSubstr("the size T is 4 in \"y\" and 3 in \"x\""));
  EXPECT_TRUE(ran(2, 2).ok());
  Tensor matrix = *Tensor::make({DType::kF32, {2, 2}});
  std::vector<DLTensor> in = {matrix.view(), matrix.view()}, out = {matrix.view()};
  EXPECT_EQ(open.session->run(*open.context, in, out).slug(), "output-shape");
}

TEST(OpenPrograms, HaveNoTypesOfOutputsForOtherNumbers) {
  const Loaded open(module_of("fn main(%x: f32[1<=N<=4,8]) { %0 = relu(%x)  return %0 }"));
  const Loaded exact(module_of("fn main(%x: f32[4,8]) { %0 = relu(%x)  return %0 }"));
  for (const Loaded* one : {&open, &exact}) {
    auto took = [&](DType dtype, std::vector<int64_t> dims) {
      const Tensor x = *Tensor::make({dtype, std::move(dims)});
      const std::vector<DLTensor> in = {x.view()};
      const Status types = one->session->output_types(in).status();
      EXPECT_EQ(types.slug(), one->session->take_sizes(*one->context, in).slug());
      return types.slug();
    };
    EXPECT_EQ(took(DType::kF32, {4, 8}), "");
    EXPECT_EQ(took(DType::kF32, {4, 9}), "input-shape");
    EXPECT_EQ(took(DType::kF32, {4}), "input-shape");
    EXPECT_EQ(took(DType::kF64, {4, 8}), "input-dtype");
    EXPECT_EQ(one->session->output_types({}).status().slug(), "input-count");
  }
}

TEST(OpenPrograms, HaveBoundsOfCountedDimsBeforeARun) {
  Loaded open(
      module_of("fn main(%x: f32[1<=N<=4,3]) { %0 = nonzero(%x) {size=\"n\"}  return %0 }"));
  const auto dims = [&] {
    const std::span<const int64_t> now = open.session->output_dims(*open.context, 0);
    return std::vector<int64_t>(now.begin(), now.end());
  };
  for (int64_t n : {2, 3, 1}) {
    std::vector<Tensor> inputs;
    inputs.push_back(*Tensor::make({DType::kF32, {n, 3}}));
    reinterpret_cast<float*>(inputs[0].data())[1] = 1;
    const std::vector<DLTensor> in = {inputs[0].view()};
    ASSERT_TRUE(open.session->take_sizes(*open.context, in).ok());
    EXPECT_EQ(dims(), (std::vector<int64_t>{2, 12}));  // of the largest size
    ASSERT_TRUE(open.run(inputs).ok());
    EXPECT_EQ(dims(), (std::vector<int64_t>{2, 1}));
  }
}

// The rank of the result would depend on the size.
TEST(OpenPrograms, RefuseToSqueezeWhatMayBeOne) {
  const std::string text = "fn main(%x: f32[1<=T<=4,1,3]) { %0 = squeeze(%x)  return %0 }";
  auto module = parse_module(text, all_ops());
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.status().message(), HasSubstr("the axes must be given"));
  Loaded open(module_of("fn main(%x: f32[2<=T<=4,1,3]) { %0 = squeeze(%x)  return %0 }"));
  EXPECT_EQ(cat(open.session->outputs()[0].type), "f32[T<=4,3]");
}

TEST(OpenPrograms, HaveRangesOrAreRefused) {
  Byoc byoc;
  const std::string model =
      byoc.write("m.ir", "fn main(%x: f32[N,8]) { %0 = relu(%x)  return %0 }");
  Ran ran = byoc("compile " + model + " --compiler json -o " + byoc.file("m.byoc"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  ran = byoc("compile " + model + " --compiler json --shape N=2..1 -o " + byoc.file("m.byoc"));
  EXPECT_EQ(ran.code, 2);
  ran = byoc("compile " + model + " --compiler json --shape N=1..9223372036854775807 -o " +
             byoc.file("m.byoc"));
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("[symbolic-shape]"));
  EXPECT_THAT(ran.err, HasSubstr("--shape N=1..64"));
}

/// Returns the greatest difference of two tensors of f32, and the greatest value of the second.
std::pair<double, double> difference(const Tensor& got, const Tensor& right) {
  std::pair<double, double> out;
  EXPECT_EQ(got.spec(), right.spec());
  if (got.spec() != right.spec()) return {1, 0};
  const auto* a = reinterpret_cast<const float*>(got.data());
  const auto* b = reinterpret_cast<const float*>(right.data());
  for (int64_t k = 0; k < num_elements(right.spec()); ++k) {
    out.first = std::max(out.first, std::abs(static_cast<double>(a[k]) - b[k]));
    out.second = std::max(out.second, std::abs(static_cast<double>(b[k])));
  }
  return out;
}

class OpenEncoder : public ::testing::TestWithParam<const char*> {};

// The model's own shape arithmetic is folded, and one artifact gives PyTorch's values at each size.
TEST_P(OpenEncoder, GivesTheValuesOfPytorch) {
  Byoc byoc;
  const std::string models = std::string(BYOC_SOURCE_DIR) + "/tests/models/open/";
  const std::string artifact = byoc.file("m.byoc");
  const std::string plugin =
      std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins/libbyoc_" + GetParam();
  if (!std::filesystem::exists(plugin + ".so")) GTEST_SKIP() << "it is not built";
  Ran ran = byoc("compile " + models + "encoder.onnx --shape B=1..4 --shape T=2..128 --compiler " +
                 GetParam() + " -o " + artifact);
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* size : {"1_2", "2_64", "3_17"}) {
    const std::string out = byoc.file(std::string("out_") + size);
    ran =
        byoc("run " + artifact + " --input x=" + models + "x_" + size + ".npy --output-dir " + out);
    ASSERT_EQ(ran.code, 0) << ran.err;
    auto got = read_npy(out + "/add_3.npy"), right = read_npy(models + "y_" + size + ".npy");
    ASSERT_TRUE(got.ok() && right.ok());
    const auto [error, largest] = difference(*got, *right);
    EXPECT_LE(error, 1e-5 * largest) << size;
  }
}

// One kernel with numbers is one kernel with open sizes.
TEST(OpenPrograms, HaveAsManyKernelsAsWithNumbers) {
  Byoc byoc;
  const std::string plugin = std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins/libbyoc_llvm.so";
  if (!std::filesystem::exists(plugin)) GTEST_SKIP() << "llvm is not built";
  const std::string model = std::string(BYOC_SOURCE_DIR) + "/tests/models/open/encoder.onnx";
  for (const char* sizes : {"--shape B=1..4 --shape T=2..128", "--shape B=2 --shape T=64"}) {
    const Ran ran = byoc("compile " + model + " " + sizes + " --compiler llvm --json -o " +
                         byoc.file("kernels.byoc"));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\"steps\": 16,")) << sizes;
  }
}

// Functions over sizes of other names are one kernel, and each has memory for its own sizes. A row
// of equal elements is a row of 1 / 64 after softmax, and of 1 after a product with ones.
TEST(OpenPrograms, ShareAKernelOverSizesOfOtherNames) {
  Byoc byoc;
  const std::string plugin = std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins/libbyoc_llvm.so";
  if (!std::filesystem::exists(plugin)) GTEST_SKIP() << "llvm is not built";
  const std::string model = byoc.write("m.ir", R"(
fn main(%x: f32[1<=A<=65536,1,64], %z: f32[1<=B<=65536,1,64]) {output_names=["a","b"]} {
  %v = const(0.5) : f32[64,64]  %w = const(1.0) : f32[64,64]
  %0 = matmul(%x, %v)  %1 = softmax(%0)  %2 = matmul(%1, %w)
  %3 = matmul(%z, %v)  %4 = softmax(%3)  %5 = matmul(%4, %w)
  return %2, %5 })");
  Ran ran = byoc("compile " + model + " --compiler llvm -o " + byoc.file("m.byoc"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string out = byoc.file("out");
  ran = byoc("run " + byoc.file("m.byoc") +
             " --input x=f32[1,1,64]=0.5 --input z=f32[50000,1,64]=0.5" + " --output-dir " + out);
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* name : {"/a.npy", "/b.npy"}) {
    auto rows = read_npy(out + name);
    ASSERT_TRUE(rows.ok()) << rows.status().to_string();
    const auto* got = reinterpret_cast<const float*>(rows->data());
    for (int64_t k = 0; k < num_elements(rows->spec()); ++k)
      ASSERT_FLOAT_EQ(got[k], 1) << name << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, OpenEncoder, testing::Values("json", "llvm", "onednn"),
                         [](const auto& info) { return std::string(info.param); });

TEST(OpenPrograms, RunFromFiles) {
  Byoc byoc;
  const std::string model =
      byoc.write("m.ir", "fn main(%x: f32[N,8]) { %0 = relu(%x)  return %0 }");
  Ran ran = byoc("compile " + model + " --compiler json --shape N=1..64 -o " + byoc.file("m.byoc"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  Byoc runtime(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  for (const char* n : {"1", "64", "7"}) {
    ran = runtime(byoc.file("m.byoc") + " --input x=f32[" + n + ",8]=3");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("f32[" + std::string(n) + ",8]"));
  }
  ran = runtime(byoc.file("m.byoc") + " --input x=f32[65,8]");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[input-size]: the size N is 65 in \"x\""));
  ran = byoc("bench " + byoc.file("m.byoc") + " --rounds 1 --min-time 0 --warmup 0 --no-peaks");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

}  // namespace
}  // namespace byoc::test
