// SPDX-License-Identifier: Apache-2.0
// Compares every small model of tests/models with the outputs of torch that are stored next to it,
// for every choice of plugins.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "command.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

std::vector<std::string> stored_models() {
  std::set<std::string> out;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(BYOC_TEST_DATA) + "/models")) {
    if (entry.path().filename() == "model.onnx") out.insert(entry.path().parent_path().string());
  }
  return {out.begin(), out.end()};
}

class StoredModel : public testing::TestWithParam<std::string> {};

TEST_P(StoredModel, AgreesWithTorch) {
  for (const char* compilers : {"json", "onednn,json"}) {
    Ran ran = Byoc()("verify " + GetParam() + "/model.onnx --against " + GetParam() +
                     "/test_data_set_0 --compiler " + compilers);
    EXPECT_EQ(ran.code, 0) << compilers << "\n" << ran.out << ran.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StoredModel, testing::ValuesIn(stored_models()),
                         [](const auto& info) {
                           const std::filesystem::path path = info.param;
                           return path.parent_path().filename().string() + "_" +
                                  path.filename().string();
                         });

}  // namespace
}  // namespace byoc::test
