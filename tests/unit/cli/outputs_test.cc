// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/base/json.h"
#include "runtime/cli/run.h"
#include "support/temp_folder.h"

namespace byoc::cli {
namespace {

using ::testing::ElementsAre;

TEST(Outputs, NamesAreMadeSafeAndKeptApart) {
  std::vector<NamedTensor> tensors = {{"a/b:0", {}}, {"a_b_0", {}}, {"../../etc", {}},
                                      {"", {}},      {"-o", {}},    {std::string(300, 'x'), {}}};
  EXPECT_THAT(safe_file_names(tensors, ".npy"),
              ElementsAre("a_b_0.npy", "a_b_0_1.npy", "_._.._etc.npy", "output.npy", "_o.npy",
                          std::string(100, 'x') + ".npy"));
}

TEST(Outputs, AreFilesAndATableOfContents) {
  test::TempFolder folder;
  std::vector<NamedTensor> outputs = {{"y:0", {DType::kF32, {2, 3}}}, {"mask", {DType::kBool, {}}}};
  std::vector<Tensor> tensors;
  for (const NamedTensor& output : outputs) {
    auto tensor = Tensor::make(output.type);
    fill_random(*tensor, 1);
    tensors.push_back(*std::move(tensor));
  }
  std::string out = folder.file("new/folder");
  auto files = write_outputs(out, outputs, tensors, npy_format());
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  EXPECT_THAT(*files, ElementsAre("y_0.npy", "mask.npy"));
  EXPECT_EQ(read_npy(out + "/mask.npy")->spec(), outputs[1].type);
  auto json = parse_json(test::get(out + "/outputs.json"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(
      (*json)["outputs"].dump(),
      R"([{"name":"y:0","dtype":"f32","dims":[2,3],"file":"y_0.npy"},{"name":"mask","dtype":"bool","dims":[],"file":"mask.npy"}])");
}

TEST(Outputs, SayWhereTheyCannotBeWritten) {
  Status status = write_outputs("/dev/null/x", {}, {}, npy_format()).status();
  EXPECT_THAT(status.to_string(), ::testing::HasSubstr("cannot make folder /dev/null/x"));
}

}  // namespace
}  // namespace byoc::cli
