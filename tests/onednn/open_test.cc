// SPDX-License-Identifier: Apache-2.0
// Functions with open sizes by onednn: values at each size beside programs that were compiled for
// it, the kernels that are kept, several threads, and what is refused.
#include <gmock/gmock.h>
#include <malloc.h>

#include <fstream>
#include <random>
#include <thread>

#include "byoc/pass/bind.h"
#include "support/flow.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

using SizeValues = std::map<std::string, int64_t>;

constexpr const char* kLayer =
    R"ir(fn main(%x: f32[1<=B<=4,1<=T<=40,32], %m: f32[1<=B<=4,1,1<=T<=40]) {
  %w = const(0.25) : f32[32,48]
  %b = const(-0.5) : f32[48]
  %v = const(0.125) : f32[48,32]
  %0 = matmul(%x, %w)
  %1 = add(%0, %b)
  %2 = relu(%1)
  %3 = matmul(%2, %v)
  %4 = add(%3, %x)
  %5 = layer_norm(%4) {axis=-1}
  %6 = transpose(%5) {perm=[0,2,1]}
  %7 = matmul(%5, %6)
  %8 = add(%7, %m)
  %9 = softmax(%8)
  %10 = matmul(%9, %5)
  %11 = reshape(%10) {open_shape=["(B*T : 1<=B<=4, 1<=T<=40)","32"]}
  return %11, %4
})ir";

constexpr const char* kImages = R"(fn main(%x: f32[1<=N<=6,16,10,12]) {
  %w = const(0.0625) : f32[32,16,3,3]
  %d = const(0.25) : f32[32,1,3,3]
  %v = const(-0.03125) : f32[16,32,1,1]
  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}
  %1 = relu(%0)
  %2 = conv2d(%1, %d) {group=32, pads=[1,1,1,1]}
  %3 = relu(%2)
  %4 = conv2d(%3, %v)
  %5 = add(%4, %x)
  %6 = max_pool(%5) {kernel_shape=[2,2], strides=[2,2]}
  %7 = global_average_pool(%6)
  %8 = flatten(%7)
  return %8
})";

/// A session of a program by onednn, with json for what it refuses.
struct OpenProgram {
  explicit OpenProgram(IRModule module, const std::string& plugin = "onednn") {
    auto built = build(std::move(module), {.plugins = built_plugins(), .compilers = {plugin}});
    EXPECT_TRUE(built.ok()) << built.status().to_string();
    if (!built.ok()) return;
    for (const ExternalModule& part : built->modules)
      for (const ExternalFunction& function : part.functions)
        implementations[part.plugin] += function.implementation + "\n";
    auto loaded = Session::load(*std::move(built), built_plugins());
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    if (loaded.ok()) session = *std::move(loaded);
  }
  Result<std::vector<Tensor>> run(Context& context, const std::vector<Tensor>& inputs) const {
    std::vector<DLTensor> in, out;
    for (const Tensor& tensor : inputs) in.push_back(tensor.view());
    BYOC_TRY(std::vector<TensorSpec> types, session->output_types(in));
    std::vector<Tensor> outputs;
    for (const TensorSpec& type : types) {
      outputs.push_back(*Tensor::make(type));
      out.push_back(outputs.back().view());
    }
    BYOC_TRY_STATUS(session->run(context, in, out));
    return outputs;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    auto context = session->make_context();
    EXPECT_TRUE(context.ok());
    auto outputs = run(**context, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
  }
  std::unique_ptr<Session> session;
  std::map<std::string, std::string> implementations;  // by plugin
};

IRModule at_numbers(const char* text, const SizeValues& sizes) {
  GivenShapes given;
  for (const auto& [name, value] : sizes) given[name] = {value};
  auto module = bind_shapes(parse(text), given, {});
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

std::vector<Tensor> inputs_of(const IRModule& module) {
  std::vector<Tensor> out;
  const Function& main = module.function("main");
  for (size_t k = 0; k < main.num_params(); ++k) {
    const TensorType& type = *main.nodes[k].types[0];
    out.push_back(*Tensor::make({type.dtype, static_extents(type.shape)}));
    fill_random(out.back(), k + 1);
  }
  return out;
}

std::vector<std::vector<float>> elements_of(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> out;
  for (const Tensor& tensor : tensors) out.push_back(floats(tensor));
  return out;
}

/// Compares with the reference kernels and with onednn at the numbers.
void expect_right(const OpenProgram& open, const char* text, const SizeValues& sizes) {
  SCOPED_TRACE(testing::PrintToString(sizes));
  const IRModule exact = at_numbers(text, sizes);
  const std::vector<Tensor> inputs = inputs_of(exact), got = open.run(inputs);
  expect_close(got, OpenProgram(exact, "json").run(inputs));
  expect_close(got, OpenProgram(exact).run(inputs));
}

TEST(OnednnOpen, TakesEveryOpOfALayer) {
  const OpenProgram open(parse(kLayer));
  EXPECT_EQ(open.implementations.size(), 1u) << testing::PrintToString(open.implementations);
  EXPECT_THAT(open.implementations.at("onednn"), HasSubstr("made per size, 16 kept"));
}

TEST(OnednnOpen, GivesTheValuesOfEachSize) {
  const OpenProgram open(parse(kLayer));
  for (int64_t b : {1, 4, 2})
    for (int64_t t : {1, 40, 7, 16, 2}) expect_right(open, kLayer, {{"B", b}, {"T", t}});
}

TEST(OnednnOpen, GivesTheValuesOfEachBatch) {
  const OpenProgram open(parse(kImages));
  EXPECT_EQ(open.implementations.size(), 1u) << testing::PrintToString(open.implementations);
  for (int64_t n : {6, 1, 2, 3, 4, 5}) expect_right(open, kImages, {{"N", n}});
}

// More sizes than are kept, twice: a kernel that was dropped is made again.
TEST(OnednnOpen, GivesTheSameWhenAKernelIsMadeAgain) {
  const OpenProgram open(parse(kLayer));
  std::vector<std::vector<std::vector<float>>> first;
  for (int turn = 0; turn < 2; ++turn) {
    for (int64_t t = 1; t <= 30; ++t) {
      const auto values =
          elements_of(open.run(inputs_of(at_numbers(kLayer, {{"B", 2}, {"T", t}}))));
      if (turn == 0) first.push_back(values);
      else EXPECT_EQ(values, first[static_cast<size_t>(t - 1)]) << t;
    }
  }
}

TEST(OnednnOpen, RunsSeveralSizesAtATime) {
  const OpenProgram open(parse(kLayer));
  constexpr int64_t kSizes = 24;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<std::vector<float>>> right;
  for (int64_t t = 1; t <= kSizes; ++t) {
    inputs.push_back(inputs_of(at_numbers(kLayer, {{"B", 3}, {"T", t}})));
    right.push_back(elements_of(open.run(inputs.back())));
  }
  std::vector<std::thread> threads;
  std::vector<size_t> wrong(4);
  for (size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      auto context = open.session->make_context();
      for (size_t turn = 0; turn < 3 * kSizes; ++turn) {
        const size_t k = (turn * (thread + 1)) % kSizes;
        auto outputs = open.run(**context, inputs[k]);
        wrong[thread] += !outputs.ok() || elements_of(*outputs) != right[k];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<size_t>(4));
}

uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

// Sizes that are never seen again, with what oneDNN keeps itself.
TEST(OnednnOpen, KeepsMemoryBounded) {
  const char* text = R"(fn main(%x: f32[1<=N<=3000,8]) {
    %w = const(0.25) : f32[8,16]
    %0 = matmul(%x, %w)
    %1 = softmax(%0)
    return %1
  })";
  const OpenProgram open(parse(text));
  auto context = open.session->make_context();
  auto run_sizes = [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      std::vector<Tensor> x;
      x.push_back(*Tensor::make({DType::kF32, {n % 3000 + 1, 8}}));
      ASSERT_TRUE(open.run(**context, x).ok());
    }
    ::malloc_trim(0);
  };
  run_sizes(0, 1200);
  const uint64_t before = resident_kib();
  run_sizes(1200, 3000);
  EXPECT_LT(resident_kib(), before + 16 * 1024) << before << " KiB before";
}

std::string explanation_of(const std::string& text, const std::string& op) {
  Byoc byoc;
  return byoc("explain " + byoc.write("m.ir", text) + " --compiler onednn --op " + op).out;
}

TEST(OnednnOpen, RefusesByName) {
  EXPECT_THAT(explanation_of(R"(fn main(%x: f32[1,2,4<=H<=64,8]) {
    %0 = resize(%x) {scales=[1.0,1.0,0.5,0.5], nearest="floor"} loc("half")
    return %0
  })",
                             "half"),
              HasSubstr("cells are others than oneDNN's half pixels at H="));
  EXPECT_THAT(explanation_of(R"(fn main(%x: f32[1,2,4<=H<=4000,8]) {
    %0 = resize(%x) {scales=[1.0,1.0,2.0,2.0]} loc("twice")
    return %0
  })",
                             "twice"),
              HasSubstr("compared with oneDNN's for at most 1024 sizes"));
  EXPECT_THAT(explanation_of(R"(fn main(%x: f32[1,2,4<=H<=64,8]) {
    %0 = average_pool(%x) {kernel_shape=[3,3], strides=[2,2], ceil_mode=true, count_include_pad=true, pads=[1,1,1,1]} loc("mean")
    return %0
  })",
                             "mean"),
              HasSubstr("at some of the open sizes"));
}

// oneDNN counts elements in 32 bits: 65536 * 65536 rows ended the process.
TEST(OnednnOpen, TakesBoundsWithMoreElementsThanItCanCount) {
  Byoc byoc;
  const std::string model =
      byoc.write("m.ir", R"(fn main(%x: f32[1<=B<=65536,1<=T<=65536,4], %w: f32[4,3]) {
    %0 = matmul(%x, %w)
    %1 = transpose(%x) {perm=[0,2,1]}
    %2 = matmul(%x, %1)
    %3 = softmax(%2)
    return %0, %3
  })");
  const std::string artifact = byoc.file("m.byoc");
  Ran ran = byoc("compile " + model + " --compiler onednn --default json -o " + artifact);
  ASSERT_EQ(ran.code, 0) << ran.err;
  ran = byoc("run " + artifact + " --shape B=2 --shape T=3 --input x=random --input w=random");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("f32[2,3,3]"));
}

TEST(OnednnOpen, RefusesElementsThatItCannotCount) {
  EXPECT_THAT(explanation_of(R"(fn main(%x: f32[65536,65536,4], %w: f32[4,3]) {
    %0 = matmul(%x, %w) loc("product")
    return %0
  })",
                             "product"),
              HasSubstr("products of oneDNN of more than 2147483647 elements"));
}

TEST(OnednnOpen, ResizesImagesOfOpenExtents) {
  const char* text = R"(fn main(%x: f32[1<=N<=3,2,3<=H<=9,5]) {
    %0 = resize(%x) {scales=[1.0,1.0,2.0,2.0], coordinates="asymmetric", nearest="floor"}
    return %0
  })";
  const OpenProgram open(parse(text));
  EXPECT_EQ(open.implementations.count("onednn"), 1u);
  for (int64_t h : {9, 3, 4, 8}) expect_right(open, text, {{"N", 2}, {"H", h}});
}

// Weights are packed once for all sizes: the file of ranges is little larger than that of numbers,
// also where small sizes have kernels that read other layouts, as with AVX2.
TEST(OnednnOpen, PacksWeightsOnce) {
  for (const std::string isa : {"ALL", "AVX2"}) {
    Byoc byoc{"ONEDNN_MAX_CPU_ISA=" + isa + " " BYOC_BUILD_DIR "/bin/byoc"};
    const std::string model = std::string(BYOC_SOURCE_DIR) + "/tests/models/open/encoder.onnx";
    auto bytes = [&](const std::string& sizes) {
      const std::string file = byoc.file("m.byoc");
      const Ran ran = byoc("compile " + model + " " + sizes + " --compiler onednn -o " + file);
      EXPECT_EQ(ran.code, 0) << ran.err;
      return static_cast<double>(std::filesystem::file_size(file));
    };
    const double exact = bytes("--shape B=2 --shape T=64");
    EXPECT_LT(bytes("--shape B=1..4 --shape T=2..128"), 1.1 * exact + 65536) << isa;
  }
}

}  // namespace
}  // namespace byoc::test
