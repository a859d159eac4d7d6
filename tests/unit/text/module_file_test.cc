// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "byoc/base/file.h"
#include "byoc/text/builder.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;

class ModuleFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/byoc_module_file_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ + "/x.ir"; }
  std::string folder_;
};

std::shared_ptr<const Buffer> bytes_of(size_t n, int seed) {
  return Buffer::make(n, [&](std::byte* to) {
    for (size_t k = 0; k < n; ++k)
      to[k] = static_cast<std::byte>((k * 31 + static_cast<size_t>(seed)) & 0xff);
  });
}

// Returns a module with large constants, and an external module with a blob, constants
// and packed constants.
IRModule full_module() {
  IRModule module;
  FunctionBuilder b(module, all_ops());
  ValueId large = b.constant({DType::kU8, {1000}}, bytes_of(1000, 1));
  ValueId odd = b.constant({DType::kU8, {67}}, bytes_of(67, 2));
  EXPECT_TRUE(b.finish("main", {large, odd, b.constant_f32({2}, {1, 2})}).ok());
  ExternalFunction f{.symbol = "f_0", .n_in = 2, .n_out = 1};
  f.constants.push_back({"w", module.add_constant(bytes_of(70, 3))->key(), {DType::kU8, {70}}, 1});
  f.packed.push_back({module.add_constant(bytes_of(5, 4))->key(), 64});
  f.inplace = {{1, 0}};
  f.workspace_bytes = 256;
  f.workspace_align = 64;
  f.flags = 2;
  f.implementation = "loops \"plain\"";
  f.flops = 1e12;
  f.ops = 3;
  f.locs = {"/layer1/conv1", "a \"quoted\" name"};
  f.aliases = {{"f_1", {"/layer2/conv1", "x"}}, {"f_2", {}}};
  ExternalModule external{"plug", "1.2", "c\x01", "{}", 1, {f}, bytes_of(333, 5)};
  module.external_mods = {external, {.plugin = "empty"}};
  return module;
}

TEST_F(ModuleFile, ReadsBackWhatWasWritten) {
  IRModule module = full_module();
  ASSERT_TRUE(verify(module).ok()) << verify(module).to_string();
  ASSERT_TRUE(write_module(module, path()).ok());
  auto again = read_module(path(), all_ops());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(module, *again, &why)) << why;
  EXPECT_EQ(again->external_mods[0].functions[0], module.external_mods[0].functions[0]);
  ASSERT_EQ(again->external_mods[0].blob->size(), 333u);
  EXPECT_EQ(again->external_mods[0].blob->bytes()[1], std::byte{36});  // 1 * 31 + 5
}

TEST_F(ModuleFile, WritesTheSameBytesForTheSameModule) {
  ASSERT_TRUE(write_module(full_module(), path()).ok());
  auto text = *read_file(path()), weights = *read_file(path() + ".weights");
  ASSERT_TRUE(write_module(full_module(), path()).ok());
  EXPECT_EQ(*read_file(path()), text);
  EXPECT_EQ(*read_file(path() + ".weights"), weights);
}

TEST_F(ModuleFile, WritesNoSideFileForSmallConstants) {
  IRModule module;
  FunctionBuilder b(module, all_ops());
  ASSERT_TRUE(b.finish("main", {b.constant_f32({64}, std::vector<float>(64, 1))}).ok());
  ASSERT_TRUE(write_module(module, path()).ok());
  EXPECT_FALSE(fs::exists(path() + ".weights"));
  EXPECT_TRUE(read_module(path(), all_ops()).ok());
}

TEST_F(ModuleFile, LeavesNothingBehindWhenItCannotWrite) {
  EXPECT_FALSE(write_module(full_module(), folder_ + "/none/x.ir").ok());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ModuleFile, NamesTheFileInErrors) {
  std::ofstream(path()) << "fn main( { }";
  EXPECT_EQ(read_module(path(), all_ops()).status().where(), cat(path(), ": 1:10"));
  EXPECT_EQ(read_module(folder_ + "/none.ir", all_ops()).status().code(), Code::kNotFound);
}

TEST_F(ModuleFile, SaysWhenTheWeightsAreMissing) {
  ASSERT_TRUE(write_module(full_module(), path()).ok());
  fs::remove(path() + ".weights");
  EXPECT_EQ(read_module(path(), all_ops()).status().slug(), "ir-constant");
}

TEST_F(ModuleFile, RefusesWeightsThatWereChangedOrCut) {
  ASSERT_TRUE(write_module(full_module(), path()).ok());
  std::string weights = *read_file(path() + ".weights");
  auto refusal = [&](const std::string& bytes) {
    EXPECT_TRUE(write_file(path() + ".weights", bytes).ok());
    Status status = read_module(path(), all_ops()).status();
    return status.slug() == "ir-weights" ? status.message().substr(path().size() + 9)
                                         : status.to_string();
  };
  std::string flipped = weights;
  flipped.back() ^= 1;
  EXPECT_EQ(refusal(flipped).substr(0, 35), "has other bytes than written for co");
  EXPECT_EQ(refusal(weights.substr(0, weights.size() - 1)), "is truncated");
  EXPECT_EQ(refusal(weights.substr(0, 40)), "is truncated");
  EXPECT_EQ(refusal(weights.substr(0, 9)), "is too short");
  EXPECT_EQ(refusal("x" + weights), "is no file of weights");
  std::string wild = weights;
  for (size_t k = 32; k < 48; ++k) wild[k] = '\xff';  // offset and size of the first section
  EXPECT_EQ(refusal(wild), "is truncated");
}

}  // namespace
}  // namespace byoc
