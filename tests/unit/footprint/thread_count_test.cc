// SPDX-License-Identifier: Apache-2.0
// With --threads 1 the process has one thread while it reads, compiles, loads and runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/paths.h"
#include "support/temp_folder.h"
#include "support/traced.h"

namespace byoc::test {
namespace {

const std::string kBin = std::string(BYOC_BUILD_DIR) + "/bin/";
const std::string kModels = std::string(BYOC_TEST_DATA) + "/models/";

struct Model {
  std::string path;
  std::vector<std::string> flags;
};
const Model kDigits{kModels + "digits/model.onnx", {"--shape", "N=1"}};
const Model kResnetBlock{kModels + "blocks/resnet_basic/model.onnx", {}};

Traced traced(std::vector<std::string> command, const std::vector<std::string>& more) {
  command.insert(command.end(), more.begin(), more.end());
  Traced result = run_traced(command);
  EXPECT_EQ(result.code, 0) << result.out;
  return result;
}

class ThreadCount : public ::testing::TestWithParam<std::string> {  // --compiler
 protected:
  /// Returns the number of threads that `byoc run` starts for the model.
  uint64_t started_by_run(const Model& model, const std::string& threads) {
    return traced(
               {kBin + "byoc", "run", model.path, "--compiler", GetParam(), "--threads", threads},
               model.flags)
        .threads_started;
  }
  /// Returns the number of threads that `byoc-run` starts for the model's artifact.
  uint64_t started_by_artifact(const Model& model, const std::string& threads) {
    std::string artifact = folder_.file("m.byoc");
    traced({kBin + "byoc", "compile", model.path, "-o", artifact, "--compiler", GetParam()},
           model.flags);
    return traced({kBin + "byoc-run", artifact, "--threads", threads}, {}).threads_started;
  }

 private:
  TempFolder folder_;
};

TEST_P(ThreadCount, OneThreadIsNeverJoinedByASecond) {
  for (const Model& model : {kDigits, kResnetBlock}) {
    EXPECT_EQ(started_by_run(model, "1"), 0u) << model.path;
    EXPECT_EQ(started_by_artifact(model, "1"), 0u) << model.path;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, ThreadCount, ::testing::Values("json", "onednn", "onednn,json"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), ',', '_');
                           return name;
                         });

using TwoThreads = ThreadCount;
TEST_P(TwoThreads, AreOneMoreThread) {  // shows that the test above would detect a thread
  EXPECT_EQ(started_by_run(kResnetBlock, "2"), 1u);
  EXPECT_EQ(started_by_artifact(kResnetBlock, "2"), 1u);
}
INSTANTIATE_TEST_SUITE_P(Compilers, TwoThreads, ::testing::Values("onednn"));

}  // namespace
}  // namespace byoc::test
