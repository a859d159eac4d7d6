// SPDX-License-Identifier: Apache-2.0
// Runs the models of tests/models/control, counted and exported, and compares them with what ONNX
// Runtime computed.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/import/onnx/file/tensor_file.h"
#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

/// Reads input_0.pb, input_1.pb, ... of a folder.
std::vector<Tensor> stored(const std::string& folder, const char* kind) {
  std::vector<Tensor> out;
  for (int k = 0;; ++k) {
    const std::string path = cat(folder, "/", kind, "_", k, ".pb");
    if (!std::filesystem::exists(path)) return out;
    Result<PbTensor> tensor = read_pb(path);
    EXPECT_TRUE(tensor.ok()) << tensor.status().to_string();
    if (tensor.ok()) out.push_back(std::move(tensor->tensor));
  }
}

void expect_same(const std::vector<Tensor>& have, const std::vector<Tensor>& expected) {
  expect_close(have, expected);
  for (size_t k = 0; k < have.size(); ++k) {
    if (expected[k].spec().dtype == DType::kF32) continue;
    EXPECT_EQ(std::memcmp(have[k].data(), expected[k].data(), expected[k].size_bytes()), 0)
        << "output " << k;
  }
}

class ControlModel : public testing::TestWithParam<const char*> {};

TEST_P(ControlModel, AgreesWithOnnxRuntime) {
  for (const char* codegen : {"json", "llvm"}) {
    if (built_plugins()->find(codegen) == nullptr) continue;
    BuildOptions options{.plugins = built_plugins(), .compilers = {codegen}};
    Result<Executable> program = build(import(cat(GetParam(), "/model.onnx")), options);
    ASSERT_TRUE(program.ok()) << program.status().to_string();
    int sets = 0;
    for (;; ++sets) {
      const std::string folder =
          cat(BYOC_TEST_DATA, "/models/", GetParam(), "/test_data_set_", sets);
      if (!std::filesystem::exists(folder)) break;
      SCOPED_TRACE(cat(codegen, " ", folder));
      expect_same(execute(*program, built_plugins(), stored(folder, "input")),
                  stored(folder, "output"));
    }
    EXPECT_GT(sets, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ControlModel,
    testing::Values("control/if_in_loop", "control/scans", "control/nested", "control/beam_search",
                    "counted/detector", "control/dead_branches", "control/branch_ranks",
                    "control/open_loops", "counted/padded", "counted/beam_search",
                    "counted/selection", "exported/cropped", "exported/greedy", "exported/padded",
                    "exported/truncated", "exported/checked", "exported/listed",
                    "exported/listed_early", "exported/scripted"),
    [](const auto& info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '/', '_');
      return name;
    });

}  // namespace
}  // namespace byoc::test
