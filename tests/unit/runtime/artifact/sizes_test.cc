// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "unit/runtime/executables.h"

namespace byoc {
namespace {

using test::get;
using test::put;
using test::TempFolder;
using ::testing::HasSubstr;

/// Returns add_mul() on tensors of `n` elements; the constant is of that size, too.
Executable add_mul_of(int64_t n) {
  Executable executable = test::add_mul();
  const TensorSpec type{DType::kF32, {n}};
  Program& program = executable.program;
  auto c = Buffer::make(static_cast<size_t>(n) * 4,
                        [n](std::byte* to) { std::memset(to, 1, static_cast<size_t>(n) * 4); });
  executable.constants = {{c->key(), c}};
  program.constants = {{c->key(), type}};
  program.inputs[0].type = type;
  for (NamedTensor& output : program.outputs) output.type = type;
  for (Step& step : program.steps) step.types.assign(step.types.size(), type);
  program.arena_bytes = 64 + static_cast<uint64_t>(n) * 4;
  return executable;
}

std::vector<SizedExecutable> three_sizes() {
  std::vector<SizedExecutable> sizes;
  for (int64_t n : {1, 4, 16}) sizes.push_back({cat("N=", n), add_mul_of(n)});
  return sizes;
}

TEST(ArtifactSizes, ComeBackInOrder) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact_sizes(three_sizes(), folder.file("m.byoc")).ok());
  auto loaded = load_artifact_sizes(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  ASSERT_EQ(loaded->size(), 3u);
  for (size_t k = 0; k < 3; ++k) {
    const SizedExecutable expected = std::move(three_sizes()[k]);
    const SizedExecutable& size = (*loaded)[k];
    EXPECT_EQ(size.label, expected.label);
    EXPECT_EQ(size.executable.program.inputs[0].type, expected.executable.program.inputs[0].type);
    EXPECT_EQ(size.executable.program.steps[1].args, expected.executable.program.steps[1].args);
    EXPECT_EQ(size.executable.constants.size(), 1u);
  }
  ASSERT_TRUE(save_artifact_sizes(*loaded, folder.file("again.byoc")).ok());
  EXPECT_EQ(get(folder.file("m.byoc")), get(folder.file("again.byoc")));
}

TEST(ArtifactSizes, OneWithoutALabelIsAPlainArtifact) {
  TempFolder folder;
  std::vector<SizedExecutable> one;
  one.push_back({"", test::with_modules()});
  ASSERT_TRUE(save_artifact_sizes(one, folder.file("a.byoc")).ok());
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("b.byoc")).ok());
  EXPECT_EQ(get(folder.file("a.byoc")), get(folder.file("b.byoc")));
  auto loaded = load_artifact_sizes(folder.file("b.byoc"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->size(), 1u);
  EXPECT_EQ((*loaded)[0].label, "");
}

TEST(ArtifactSizes, HoldSharedBytesOnce) {
  TempFolder folder;
  auto big = Buffer::make(1000000, [](std::byte* to) { std::memset(to, 7, 1000000); });
  auto sizes = three_sizes();
  for (SizedExecutable& size : sizes) {
    size.executable.constants.emplace(big->key(), big);
    size.executable.program.constants.push_back({big->key(), {DType::kU8, {1000000}}});
  }
  ASSERT_TRUE(save_artifact_sizes(std::span(sizes).first(1), folder.file("one.byoc")).ok());
  ASSERT_TRUE(save_artifact_sizes(sizes, folder.file("three.byoc")).ok());
  size_t one = get(folder.file("one.byoc")).size(), three = get(folder.file("three.byoc")).size();
  EXPECT_LT(three, one + one / 100);
  auto loaded = load_artifact_sizes(folder.file("three.byoc"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ((*loaded)[0].executable.constants.at(big->key()),
            (*loaded)[2].executable.constants.at(big->key()));
}

TEST(ArtifactSizes, AreListedWhereOneIsExpected) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact_sizes(three_sizes(), folder.file("m.byoc")).ok());
  Status status = load_artifact(folder.file("m.byoc")).status();
  EXPECT_EQ(status.slug(), "artifact-sizes");
  EXPECT_EQ(status.help(), "it has N=1: x f32[1]; N=4: x f32[4]; N=16: x f32[16]");
}

TEST(ArtifactSizes, ThatCannotBeToldApartAreRefused) {
  auto refused = [](std::vector<SizedExecutable> sizes) {
    TempFolder folder;
    Status status = save_artifact_sizes(sizes, folder.file("m.byoc"));
    EXPECT_EQ(status.slug(), "executable");
    EXPECT_EQ(folder.count(), 0u);
    return status.message();
  };
  EXPECT_THAT(refused({}), HasSubstr("needs a size"));
  auto sizes = three_sizes();
  sizes[1].label = "N=1";
  EXPECT_THAT(refused(sizes), HasSubstr("\"N=1\" is there twice"));
  sizes = three_sizes();
  sizes[2].executable = add_mul_of(4);
  EXPECT_THAT(refused(sizes), HasSubstr("\"N=16\" is there twice: x f32[4]"));
  sizes = three_sizes();
  sizes[2].executable.program.inputs[0].name = "z";
  EXPECT_THAT(refused(sizes), HasSubstr("not x f32[1] and z f32[16]"));
}

TEST(ArtifactSizes, CutOrFlippedAreAnError) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact_sizes(three_sizes(), folder.file("m.byoc")).ok());
  const std::string whole = get(folder.file("m.byoc"));
  auto expect_corrupt = [&](const std::string& bytes, size_t at) {
    put(folder.file("bad.byoc"), bytes);
    auto loaded = load_artifact_sizes(folder.file("bad.byoc"));
    ASSERT_FALSE(loaded.ok()) << at;
    EXPECT_EQ(loaded.status().slug(), "artifact-corrupt") << at;
  };
  for (size_t at = 0; at < whole.size(); at += 7) {
    expect_corrupt(whole.substr(0, at), at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
    expect_corrupt(flipped, at);
  }
}

/// Returns the file with `from` in its first manifest replaced, and with right hashes.
std::string changed(std::string file, const std::string& from, const std::string& to) {
  uint64_t size;
  std::memcpy(&size, file.data() + 24, 8);
  size_t at = file.find(from);
  EXPECT_LT(at, 64 + size) << from;
  EXPECT_EQ(from.size(), to.size());
  file.replace(at, from.size(), to);
  auto bytes = std::as_bytes(std::span(file));
  ContentKey hash = content_key(bytes.subspan(64, size));
  std::memcpy(file.data() + 32, hash.bytes.data(), 16);
  hash = content_key(bytes.first(48));
  std::memcpy(file.data() + 48, hash.bytes.data(), 16);
  return file;
}

TEST(ArtifactSizes, TheirListIsCheckedValueByValue) {
  TempFolder folder;
  const std::string path = folder.file("m.byoc");
  ASSERT_TRUE(save_artifact_sizes(three_sizes(), path).ok());
  const std::string whole = get(path);
  auto error = [&](const std::string& from, const std::string& to) {
    put(path, changed(whole, from, to));
    auto loaded = load_artifact_sizes(path);
    EXPECT_FALSE(loaded.ok()) << from;
    return loaded.ok() ? "" : loaded.status().to_string();
  };
  EXPECT_THAT(error("\"sizes\":[", "\"sizex\":["), HasSubstr("\"sizes\" is no list"));
  EXPECT_THAT(error("\"label\":", "\"lebal\":"), HasSubstr("\"label\" is no text"));
  EXPECT_THAT(error("\"manifest\":\"", "\"manifesT\":\""), HasSubstr("\"manifest\" is no key"));
  EXPECT_THAT(error("\"N=4\"", "\"N=1\""), HasSubstr("\"N=1\" is there twice"));
  EXPECT_THAT(error("byoc.artifact", "byoc.artifict"), HasSubstr("no manifest of an artifact"));
}

}  // namespace
}  // namespace byoc
