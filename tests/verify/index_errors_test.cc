// SPDX-License-Identifier: Apache-2.0
// An index outside of its tensor is an error of the run, by every plugin and in every
// configuration. ONNX (Gather, GatherElements, GatherND, ScatterElements, ScatterND): indices are
// in [-s, s - 1] along an axis of size s; RoiAlign: batch_indices are numbers of images.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>

#include "programs.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

/// A program whose last index may have any value; the others are 0.
struct Indexed {
  const char *op, *text;  // I: the indices' dtype
  int64_t low, extent;    // the last index's
};

const Indexed kIndexedPrograms[] = {
    {"gather", "fn main(%x: f32[5,3], %i: I[2,2]) { %0 = gather(%x, %i)  return %0 }", -5, 5},
    {"gather", "fn main(%x: f32[2,5,1], %i: I[]) { %0 = gather(%x, %i) {axis=1}  return %0 }", -5,
     5},
    {"gather", "fn main(%x: f32[70,64], %i: I[300]) { %0 = gather(%x, %i)  return %0 }", -70, 70},
    {"gather", "fn main(%x: f32[5,0], %i: I[2]) { %0 = gather(%x, %i)  return %0 }", -5, 5},
    {"gather_elements",
     "fn main(%x: f32[5,3], %i: I[2,3]) { %0 = gather_elements(%x, %i)  return %0 }", -5, 5},
    {"gather_nd", "fn main(%x: f32[7,5,3], %i: I[4,2]) { %0 = gather_nd(%x, %i)  return %0 }", -5,
     5},
    {"gather_nd",
     "fn main(%x: f32[2,5,3], %i: I[2,4,1]) { %0 = gather_nd(%x, %i) {batch_dims=1}  return %0 }",
     -5, 5},
    {"scatter_elements",
     "fn main(%x: f32[5,3], %i: I[2,3], %u: f32[2,3]) { %0 = scatter_elements(%x, %i, %u)  return "
     "%0 }",
     -5, 5},
    {"scatter_nd",
     "fn main(%x: f32[7,5,3], %i: I[4,2], %u: f32[4,3]) { %0 = scatter_nd(%x, %i, %u) "
     "{reduction=\"add\"}  return %0 }",
     -5, 5},
    {"scatter_elements",
     "fn main(%x: f32[0], %i: I[1], %u: f32[1]) { %0 = scatter_elements(%x, %i, %u)  return %0 }",
     0, 0},
    // Other ops are in the same kernel: before the index, after it, or as an anchor.
    {"gather",
     "fn main(%x: f32[5,3], %i: I[4]) { %0 = gather(%x, %i)  %1 = relu(%0)  %2 = softmax(%1)  "
     "return %2 }",
     -5, 5},
    {"gather",
     "fn main(%x: f32[5,3], %i: I[4]) { %0 = negative(%i)  %1 = negative(%0)  %2 = gather(%x, %1)  "
     "return %2 }",
     -5, 5},
    {"gather",
     "fn main(%x: f32[5,8], %w: f32[8,6], %i: I[5]) { %0 = matmul(%x, %w)  %1 = gather(%0, %i)  "
     "return %1 }",
     -5, 5},
    {"gather",
     "fn main(%x: f32[4,8], %w: f32[8,6], %t: f32[5,6], %i: I[4]) { %0 = matmul(%x, %w)  %1 = "
     "gather(%t, %i)  %2 = add(%0, %1)  return %2 }",
     -5, 5},
};

IRModule parse_with(const Indexed& program, DType dtype) {
  std::string text = program.text;
  for (size_t at; (at = text.find(": I[")) != text.npos;) text.replace(at + 2, 1, cat(dtype));
  return with_constants(text);
}

void set_last(Tensor& indices, int64_t value) {
  size_t size = dtype_size(indices.spec().dtype);
  std::memset(indices.data(), 0, indices.size_bytes());
  std::byte* last = indices.data() + indices.size_bytes() - size;
  const auto narrow = static_cast<int32_t>(value);
  std::memcpy(last, size == 8 ? static_cast<const void*>(&value) : &narrow, size);
}

/// One session, run with one value after another of the last index.
class Runner {
 public:
  Runner(const Executable& executable, std::shared_ptr<const PluginSet> plugins, uint32_t threads) {
    auto session = Session::load(executable, std::move(plugins), {.threads = threads});
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    if (!session.ok()) return;
    session_ = *std::move(session);
    context_ = *session_->make_context();
    for (const NamedTensor& input : session_->inputs()) {
      inputs_.push_back(*Tensor::make(input.type));
      fill_random(inputs_.back(), 7);
    }
    for (const NamedTensor& output : session_->outputs())
      outputs_.push_back(*Tensor::make(output.type));
  }
  Status run(int64_t index) {
    std::vector<DLTensor> in, out;
    for (Tensor& tensor : inputs_) {
      if (is_int(tensor.spec().dtype)) set_last(tensor, index);
      in.push_back(tensor.view());
    }
    for (const Tensor& tensor : outputs_) out.push_back(tensor.view());
    return session_ ? session_->run(*context_, in, out) : failed("no session");
  }
  std::vector<float> result() const { return floats(outputs_[0]); }

 private:
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> inputs_, outputs_;
};

void expect_index_error(const Status& status, const Indexed& program, int64_t index) {
  const std::string message = cat(program.op, ": index ", index, " is outside of [", program.low,
                                  ", ", program.extent, "), the extent is ", program.extent);
  EXPECT_EQ(status.code(), Code::kOutOfRange) << status.to_string();
  EXPECT_NE(status.message().find(message), std::string::npos) << status.to_string();
}

/// Checks that indices at the ends of the range are right, that those next to them are errors, and
/// that an error does not affect later runs.
void check_ends(const Indexed& program, Runner& runner) {
  const int64_t s = program.extent;
  for (int64_t index : {s, -s - 1, s + 1000000}) {
    expect_index_error(runner.run(index), program, index);
  }
  if (s == 0) return;
  for (int64_t from_end : {-s, int64_t{-1}}) {
    Status status = runner.run(from_end);
    EXPECT_TRUE(status.ok()) << status.to_string();
    const std::vector<float> got = runner.result();
    status = runner.run(from_end + s);
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(got, runner.result()) << "index " << from_end;
  }
}

struct Config {
  const char* name;
  std::vector<std::string> compilers;
  int level;
  uint32_t threads;
};
const Config kConfigs[] = {{"json", {"json"}, 2, 1},
                           {"llvm", {"llvm"}, 2, 1},
                           {"llvm two threads", {"llvm"}, 2, 2},
                           {"llvm unfused", {"llvm"}, 0, 1},
                           {"default", {}, 2, 1},
                           {"onednn json", {"onednn", "json"}, 2, 1}};

TEST(IndexErrors, ComeFromEveryPlugin) {
  auto plugins = built_plugins();
  for (const Config& config : kConfigs) {
    for (const Indexed& program : kIndexedPrograms) {
      for (DType dtype : {DType::kI32, DType::kI64}) {
        SCOPED_TRACE(cat(config.name, ", ", dtype, ": ", program.text));
        IRModule module = parse_with(program, dtype);
        Runner runner(built_by(plugins, module, config.compilers, config.level), plugins,
                      config.threads);
        check_ends(program, runner);
      }
    }
  }
}

TEST(IndexErrors, RoiAlignCountsImagesFromTheFront) {
  const Indexed program = {"roi_align",
                           "fn main(%x: f32[3,1,4,4], %r: f32[2,4], %i: i64[2]) { %0 = "
                           "roi_align(%x, %r, %i)  return %0 }",
                           0, 3};
  auto plugins = built_plugins();
  for (const char* plugin : {"json", "llvm"}) {
    Runner runner(built_by(plugins, parse(program.text), {plugin}, 2), plugins, 1);
    for (int64_t index : {-1, 3}) expect_index_error(runner.run(index), program, index);
    EXPECT_TRUE(runner.run(2).ok());
  }
}

/// onednn takes a gather of one constant entry as a view; an index outside goes to another plugin.
TEST(IndexErrors, ConstantIndicesFailAtTheRunToo) {
  auto plugins = built_plugins();
  for (const Config& config : kConfigs) {
    for (int64_t index : {-6, -5, 4, 5}) {
      IRModule module = parse(cat("fn main(%x: f32[5,3]) { %k = const([", index,
                                  "]) : i64[] %0 = gather(%x, %k)  %1 = relu(%0)  return %1 }"));
      Runner runner(built_by(plugins, module, config.compilers, config.level), plugins, 1);
      Status status = runner.run(0);
      SCOPED_TRACE(cat(config.name, ", index ", index));
      if (index < -5 || index > 4) expect_index_error(status, {"gather", "", -5, 5}, index);
      else EXPECT_TRUE(status.ok()) << status.to_string();
    }
  }
}

TEST(IndexErrors, EmptyIndicesAreNone) {
  auto plugins = built_plugins();
  for (const Config& config : kConfigs) {
    IRModule module = parse("fn main(%x: f32[0,3], %i: i64[0]) { %0 = gather(%x, %i)  return %0 }");
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({0, 3}, {}));
    inputs.push_back(*Tensor::make({DType::kI64, {0}}));
    auto outputs =
        execute(built_by(plugins, module, config.compilers, config.level), plugins, inputs);
    EXPECT_EQ(outputs.at(0).size_bytes(), 0u) << config.name;
  }
}

/// The runtime alone runs native code, without the plugin that made it.
TEST(IndexErrors, ArtifactsReportThemWithoutPlugins) {
  TempFolder folder;
  auto plugins = built_plugins();
  for (const Indexed& program : kIndexedPrograms) {
    SCOPED_TRACE(program.text);
    const std::string path = folder.file("m.byoc");
    Executable built = built_by(plugins, parse_with(program, DType::kI64), {"llvm"}, 2);
    ASSERT_TRUE(save_artifact(built, path).ok());
    Result<Executable> loaded = load_artifact(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    Runner runner(*loaded, nullptr, 1);
    check_ends(program, runner);
  }
}

TEST(IndexErrors, ByocRunPrintsThemAndExitsWith1) {
  TempFolder folder;
  auto plugins = built_plugins();
  IRModule module =
      parse("fn main(%x: f32[5], %i: i64[2]) { %0 = gather(%x, %i) loc(\"Embed_3\")  return %0 }");
  ASSERT_TRUE(save_artifact(built_by(plugins, module, {"llvm"}, 2), folder.file("m.byoc")).ok());
  const std::string command =
      cat(BYOC_BUILD_DIR, "/bin/byoc-run ", folder.file("m.byoc"), " --input i=0,5 2>",
          folder.file("err"), " >", folder.file("out"));
  int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  const std::string printed = get(folder.file("err"));
  EXPECT_NE(printed.find("gather: index 5 is outside of [-5, 5), the extent is 5"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("Embed_3"), std::string::npos) << printed;
}

}  // namespace
}  // namespace byoc::test
