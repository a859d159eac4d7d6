// SPDX-License-Identifier: Apache-2.0
// Each case of this folder by several choices of plugins, compared with ONNX Runtime's results:
// integers within one step, floats as `byoc verify` compares them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "byoc/import.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/data_set.h"
#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using Compilers = std::vector<std::string>;
const std::string kFolder = cat(BYOC_TEST_DATA, "/microsoft");

std::vector<Tensor> tensors_of(Result<std::vector<PbTensor>> stored) {
  std::vector<Tensor> out;
  EXPECT_TRUE(stored.ok()) << stored.status().to_string();
  for (auto& tensor : *stored) out.push_back(std::move(tensor.tensor));
  return out;
}

/// Returns the tolerance of floats that `byoc verify` has for the smallest float of a model.
double tolerance_of(const IRModule& module) {
  for (const Node& node : module.function("main").nodes) {
    for (size_t k = 0; k < node.types.size(); ++k)
      if (node.types[k]->dtype == DType::kF16) return 5e-3;
  }
  return 1e-4;
}

void expect_results(const std::string& folder, const Compilers& compilers) {
  SCOPED_TRACE(folder);
  Result<IRModule> module = import_onnx(cat(folder, "/model.onnx"), all_ops());
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  BuildOptions options{.plugins = built_plugins(), .compilers = compilers};
  Result<Executable> program = build(*module, options);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  const std::string data = cat(folder, "/test_data_set_0");
  std::vector<Tensor> in;
  if (std::filesystem::exists(cat(data, "/input_0.pb")))
    in = tensors_of(driver::read_stored_inputs(data));
  const std::vector<Tensor> got = execute(*program, built_plugins(), in);
  const std::vector<Tensor> expected = tensors_of(driver::read_stored_outputs(data));
  ASSERT_EQ(got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    const driver::Difference difference =
        driver::compare_to_largest(got[k], expected[k], tolerance_of(*module), 1);
    EXPECT_TRUE(difference.is_equal)
        << "output " << k << " at " << difference.worst << ": " << difference.got << " instead of "
        << difference.expected << " " << difference.reason;
  }
}

/// Returns the folders of models below a folder of tests/microsoft.
std::vector<std::string> models_below(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cat(kFolder, "/", folder)))
    if (entry.path().filename() == "model.onnx") out.push_back(entry.path().parent_path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(cat(kFolder, "/", folder)))
    if (entry.is_directory()) out.push_back(cat(folder, "/", entry.path().filename().string()));
  std::sort(out.begin(), out.end());
  return out;
}

class MicrosoftDomain : public ::testing::TestWithParam<std::tuple<std::string, Compilers>> {};

TEST_P(MicrosoftDomain, AgreesWithOnnxRuntime) {
  const auto& [name, compilers] = GetParam();
  for (const std::string& compiler : compilers) {
    if (!built_plugins()->find(compiler)) GTEST_SKIP() << compiler << " is not built";
  }
  const std::vector<std::string> models = models_below(name);
  EXPECT_FALSE(models.empty());
  for (const std::string& model : models) expect_results(model, compilers);
}

std::string test_name(const ::testing::TestParamInfo<std::tuple<std::string, Compilers>>& info) {
  std::string name = std::filesystem::path(std::get<0>(info.param)).filename();
  for (const std::string& id : std::get<1>(info.param)) name += "_" + id;
  return name;
}

const auto kCompilers =
    ::testing::Values(Compilers{"json"}, Compilers{"llvm"}, Compilers{"onednn", "llvm"});

INSTANTIATE_TEST_SUITE_P(Operators, MicrosoftDomain,
                         ::testing::Combine(::testing::ValuesIn(names_in("cases")), kCompilers),
                         test_name);

INSTANTIATE_TEST_SUITE_P(Models, MicrosoftDomain,
                         ::testing::Combine(::testing::ValuesIn(names_in("models")), kCompilers),
                         test_name);

// Every operator that the importer reads has cases, three at least.
TEST(MicrosoftCases, ExistForEveryOperator) {
  for (const ImportedOp& op : imported_ops()) {
    if (op.domain.empty()) continue;
    const std::string folder = cat("cases/", op.op_type);
    const bool is_known = std::filesystem::exists(cat(kFolder, "/", folder));
    EXPECT_TRUE(is_known) << op.op_type;
    EXPECT_GE(is_known ? models_below(folder).size() : 0, 3u) << op.op_type;
  }
}

}  // namespace
}  // namespace byoc::test
