// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "byoc/plugin/abi.h"
#include "support/temp_folder.h"
#include "unit/runtime/artifact/with_manifest.h"
#include "unit/runtime/executables.h"

namespace byoc {
namespace {

using test::get;
using test::put;
using test::TempFolder;
using test::with_manifest;
using ::testing::HasSubstr;

TEST(Artifact, ComesBackEqualInEveryField) {
  TempFolder folder;
  Executable saved = test::with_modules();
  ASSERT_TRUE(save_artifact(saved, folder.file("m.byoc")).ok());
  auto loaded = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded->modules, saved.modules);
  EXPECT_EQ(loaded->producer, saved.producer);
  ASSERT_EQ(loaded->constants.size(), saved.constants.size());
  for (const auto& [key, buffer] : saved.constants) {
    auto bytes = loaded->constants.at(key)->bytes();
    EXPECT_TRUE(std::ranges::equal(bytes, buffer->bytes()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
  }
  const Program &a = loaded->program, &b = saved.program;
  EXPECT_EQ(a.inputs[0].name, b.inputs[0].name);
  EXPECT_EQ(a.outputs[1].type, b.outputs[1].type);
  EXPECT_EQ(a.steps[1].module, b.steps[1].module);
  EXPECT_EQ(a.steps[1].function, b.steps[1].function);
  EXPECT_EQ(a.steps[1].symbol, b.steps[1].symbol);
  EXPECT_EQ(a.steps[1].n_in, b.steps[1].n_in);
  EXPECT_EQ(a.steps[1].args, b.steps[1].args);
  EXPECT_EQ(a.steps[1].types, b.steps[1].types);
  EXPECT_EQ(a.steps[0].locs, b.steps[0].locs);
  EXPECT_EQ(a.copies[0].from, b.copies[0].from);
  EXPECT_EQ(a.copies[0].output, b.copies[0].output);
  EXPECT_EQ(a.arena_bytes, b.arena_bytes);
  EXPECT_EQ(a.peak_live_bytes, b.peak_live_bytes);
}

TEST(Artifact, IsTheSameBytesEachTime) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("a.byoc")).ok());
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("b.byoc")).ok());
  auto loaded = load_artifact(folder.file("a.byoc"));
  ASSERT_TRUE(save_artifact(*loaded, folder.file("c.byoc")).ok());
  EXPECT_EQ(get(folder.file("a.byoc")), get(folder.file("b.byoc")));
  EXPECT_EQ(get(folder.file("a.byoc")), get(folder.file("c.byoc")));
}

/// Returns an executable with a constant that its plugin packs, and the packed one.
Executable with_packed(uint8_t use) {
  Executable executable = test::with_modules();
  ExternalModule& module = executable.modules[0];
  auto plain = test::floats({7, 8, 9}), packed = test::floats({9, 8, 7});
  for (const auto& buffer : {plain, packed}) executable.constants.emplace(buffer->key(), buffer);
  module.flags |= BYOC_MODULE_PACKED;
  module.packed = {{content_key(std::as_bytes(std::span("a layout"))), packed->key()}};
  module.functions[0].constants.push_back({"w", plain->key(), {DType::kF32, {3}}, use});
  return executable;
}

/// Changes the file at the first place where these bytes are.
void damage(const std::string& path, std::span<const std::byte> bytes) {
  std::string text = get(path);
  const auto at = text.find({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  ASSERT_NE(at, text.npos);
  text[at] = static_cast<char>(text[at] ^ 1);
  put(path, text);
}

TEST(Artifact, ChecksConstantsThatOnlyFillReadsWhenItReadsThem) {
  TempFolder folder;
  const std::string path = folder.file("m.byoc");
  auto plain = test::floats({7, 8, 9}), packed = test::floats({9, 8, 7});
  for (uint8_t use : {BYOC_CONST_PACKED, BYOC_CONST_COPIED}) {
    ASSERT_TRUE(save_artifact(with_packed(use), path).ok());
    damage(path, plain->bytes());
    auto loaded = load_artifact(path);
    ASSERT_EQ(loaded.ok(), use == BYOC_CONST_PACKED);
    if (loaded.ok()) {
      EXPECT_FALSE(loaded->constants.at(plain->key())->verify());
      EXPECT_TRUE(loaded->constants.at(packed->key())->verify());
    } else {
      EXPECT_EQ(loaded.status().slug(), "artifact-corrupt");
    }
  }
  ASSERT_TRUE(save_artifact(with_packed(BYOC_CONST_PACKED), path).ok());
  damage(path, packed->bytes());
  EXPECT_EQ(load_artifact(path).status().slug(), "artifact-corrupt");
}

TEST(Artifact, HasNoConstantsThatNativeCodeDoesNotKeep) {
  TempFolder folder;
  const std::string path = folder.file("m.byoc");
  auto plain = test::floats({7, 8, 9}), packed = test::floats({9, 8, 7});
  for (uint8_t use : {BYOC_CONST_UNUSED, BYOC_CONST_COPIED, BYOC_CONST_KEPT}) {
    Executable executable = with_packed(use);
    executable.modules[0].flags = BYOC_MODULE_NATIVE;
    ASSERT_TRUE(save_artifact(executable, path).ok());
    auto loaded = load_artifact(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    EXPECT_EQ(loaded->constants.contains(plain->key()), use == BYOC_CONST_KEPT);
    EXPECT_TRUE(loaded->constants.contains(packed->key()));
  }
}

TEST(Artifact, KeepsForOneModuleWhatNativeCodeDoesNot) {
  TempFolder folder;
  const std::string path = folder.file("m.byoc");
  Executable executable = with_packed(BYOC_CONST_COPIED);
  executable.modules.push_back(executable.modules[0]);
  executable.modules[1].flags = BYOC_MODULE_NATIVE;
  ASSERT_TRUE(save_artifact(executable, path).ok());
  auto loaded = load_artifact(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_TRUE(loaded->constants.contains(test::floats({7, 8, 9})->key()));
}

TEST(Artifact, RefusesNativeCodeWithoutAConstantThatItKeeps) {
  Executable executable = with_packed(BYOC_CONST_KEPT);
  executable.modules[0].flags = BYOC_MODULE_NATIVE;
  executable.constants.erase(test::floats({7, 8, 9})->key());
  TempFolder folder;
  EXPECT_EQ(save_artifact(executable, folder.file("m.byoc")).slug(), "executable");
}

TEST(Artifact, HoldsEqualContentOnce) {
  TempFolder folder;
  Executable executable = test::add_mul();
  auto big = Buffer::make(100000, [](std::byte* to) { std::memset(to, 5, 100000); });
  TensorSpec type{DType::kU8, {100000}};
  executable.constants.emplace(big->key(), big);
  executable.program.constants.push_back({big->key(), type});
  executable.program.constants.push_back({big->key(), {DType::kI8, {1000, 100}}});
  ASSERT_TRUE(save_artifact(executable, folder.file("m.byoc")).ok());
  EXPECT_LT(get(folder.file("m.byoc")).size(), 110000u);
}

TEST(Artifact, ReplacesTheFileAndLeavesItsMappingAlone) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact(test::add_mul(), folder.file("m.byoc")).ok());
  auto first = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("m.byoc")).ok());
  const ContentKey key = first->program.constants[0].key;
  EXPECT_EQ(content_key(first->constants.at(key)->bytes()), key);
  EXPECT_EQ(folder.count(), 1u);
}

void expect_corrupt(const std::string& path, const std::string& bytes, const std::string& what) {
  put(path, bytes);
  auto loaded = load_artifact(path);
  ASSERT_FALSE(loaded.ok()) << what;
  EXPECT_EQ(loaded.status().code(), Code::kDataLoss) << what;
  EXPECT_EQ(loaded.status().slug(), "artifact-corrupt") << what;
  EXPECT_EQ(loaded.status().where().find(path), 0u) << what;
}

TEST(Artifact, CutOffAnywhereIsAnError) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("m.byoc")).ok());
  const std::string whole = get(folder.file("m.byoc"));
  for (size_t size = 0; size < whole.size(); ++size) {
    expect_corrupt(folder.file("cut.byoc"), whole.substr(0, size), cat("cut at ", size));
  }
  expect_corrupt(folder.file("cut.byoc"), whole + '\0', "one byte more");
}

TEST(Artifact, AFlippedBitInAnyByteIsAnError) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact(test::with_modules(), folder.file("m.byoc")).ok());
  const std::string whole = get(folder.file("m.byoc"));
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 1 << byte % 8);
    expect_corrupt(folder.file("flip.byoc"), flipped, cat("byte ", byte));
  }
}

class HostileArtifact : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(save_artifact(test::with_modules(), path_).ok());
    whole_ = get(path_);
    uint64_t size;
    std::memcpy(&size, whole_.data() + 24, 8);
    manifest_ = whole_.substr(64, size);
  }
  std::string error_with(const std::string& from, const std::string& to) {
    std::string changed = manifest_;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return error_of(with_manifest(whole_, changed.replace(at, from.size(), to)));
  }
  std::string error_of(const std::string& bytes) {
    put(path_, bytes);
    auto loaded = load_artifact(path_);
    EXPECT_FALSE(loaded.ok());
    return loaded.status().to_string();
  }
  TempFolder folder_;
  std::string path_ = folder_.file("m.byoc"), whole_, manifest_;
};

TEST_F(HostileArtifact, ItsManifestIsCheckedValueByValue) {
  EXPECT_THAT(error_with("\"arena_bytes\":128", "\"arena_bytes\":-1"),
              HasSubstr("program: arena_bytes"));
  EXPECT_THAT(error_with("\"arena_bytes\":128", "\"arena_bytes\":1e99"),
              HasSubstr("a number in range"));
  EXPECT_THAT(error_with("\"n_in\":2", "\"n_in\":4294967296"),
              HasSubstr("program: steps: [0]: n_in"));
  EXPECT_THAT(error_with("\"use\":2", "\"use\":300"), HasSubstr("a number in range"));
  EXPECT_THAT(error_with("\"f32[4]\"", "\"f32[4\""), HasSubstr("is not a type like"));
  EXPECT_THAT(error_with("\"f32[4]\"", "7"), HasSubstr("a number where a type is expected"));
  EXPECT_THAT(error_with("\"plugin\":", "\"plug\":"), HasSubstr("\"plugin\" is missing"));
  EXPECT_THAT(error_with("byoc.artifact", "byoc.artefact"), HasSubstr("no manifest"));
  EXPECT_THAT(error_of(with_manifest(whole_, "{")), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(with_manifest(whole_, std::string(100000, '['))),
              HasSubstr("nested deeper"));
}

TEST_F(HostileArtifact, ItsPlacesAndSizesAreChecked) {
  EXPECT_THAT(error_with("\"arena_bytes\":128", "\"arena_bytes\":64"),
              HasSubstr("in an arena of 64 bytes"));
  EXPECT_THAT(error_with("\"offset\":64", "\"offset\":18446744073709551552"),
              HasSubstr("arena offset 18446744073709551552"));
  EXPECT_THAT(error_with("\"f32[4]\"", "\"f32[400]\""),
              HasSubstr("f32[4], but input 0 is f32[400]"));
  EXPECT_THAT(error_with("\"module\":1", "\"module\":2"), HasSubstr("module 2 of 2"));
  EXPECT_THAT(error_with("\"workspace_align\":32", "\"workspace_align\":0"),
              HasSubstr("aligned to 0"));
  EXPECT_THAT(error_with("\"workspace_bytes\":100", "\"workspace_bytes\":18446744073709551615"),
              HasSubstr("workspace of"));
  std::string section = cat("\"size\":", test::with_modules().modules[0].blob->size());
  EXPECT_THAT(error_with(section, "\"size\":18446744073709551615"), HasSubstr("the file only"));
  EXPECT_THAT(error_with(section, "\"size\":0"), HasSubstr("bytes follow the last section"));
}

TEST_F(HostileArtifact, CannotCallTheHostByTheNameOfACompiledFunction) {
  Executable executable = test::with_modules();
  executable.program.steps[1].module = Step::kHostExtern;
  Status status = save_artifact(executable, path_);
  EXPECT_THAT(status.message(), HasSubstr("step 1 calls the host's function \"mul\", which is also "
                                          "the name of a compiled one"));
  EXPECT_THAT(error_with("\"module\":1", "\"module\":4294967295"),
              HasSubstr("step 1 calls the host's function \"mul\""));
}

TEST_F(HostileArtifact, OfANewerVersionSaysSo) {
  std::string error = error_of(with_manifest(whole_, manifest_, 4));
  EXPECT_THAT(
      error,
      HasSubstr("error[artifact-version]: it is an artifact of version 4, this byoc reads versions "
                "1 to 3"));
}

TEST_F(HostileArtifact, AnyOtherFileIsNamedForWhatItIs) {
  EXPECT_THAT(error_of("\x08\x07\x12\x04onnx, as it were"), HasSubstr("it is not a byoc artifact"));
  EXPECT_THAT(error_of(""), HasSubstr("it is not a byoc artifact"));
  EXPECT_THAT(load_artifact(folder_.path()).status().to_string(), HasSubstr("Is a directory"));
  EXPECT_EQ(load_artifact(folder_.file("none.byoc")).status().code(), Code::kNotFound);
}

TEST(ArtifactSave, LeavesNothingWhenTheFolderIsMissing) {
  Status status = save_artifact(test::add_mul(), "/nowhere/m.byoc");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.to_string(),
              HasSubstr("cannot create /nowhere/m.byoc: No such file or directory"));
}

TEST(ArtifactSave, LeavesTheOldFileWhenTheDiskIsFull) {
  TempFolder folder;
  put(folder.file("m.byoc"), "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit, small{.rlim_cur = 256, .rlim_max = RLIM_INFINITY};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  small.rlim_max = old_limit.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &small);  // writing fails in the middle, as on a full disk
  Status status = save_artifact(test::with_modules(), folder.file("m.byoc"));
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.to_string(), HasSubstr("File too large"));
  EXPECT_EQ(get(folder.file("m.byoc")), "old");
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_THAT(save_artifact(test::add_mul(), "/dev/full").to_string(),
              HasSubstr("No space left on device"));
}

TEST(ArtifactSave, RefusesAnExecutableThatLacksBytes) {
  TempFolder folder;
  Executable executable = test::add_mul();
  executable.constants.clear();
  Status status = save_artifact(executable, folder.file("m.byoc"));
  EXPECT_THAT(status.to_string(), HasSubstr("no bytes for key"));
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace byoc
