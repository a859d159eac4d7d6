// SPDX-License-Identifier: Apache-2.0
// Artifacts whose manifest and blobs disagree although all hashes are right, as an attacker would
// write them. Kernels use the types of their own graphs, so with a manifest that declares smaller
// tensors they would write past the end of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/runtime/session.h"
#include "support/flow.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kModel = R"(fn main(%x: f32[2,3], %v: f32[3]) {
  %w = const([1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0]) : f32[3,3]
  %0 = matmul(%x, %w)
  %1 = add(%0, %v)
  %2 = tanh(%1)
  return %2 })";

Executable compiled_by(const std::string& plugin) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {plugin};
  if (plugin != "onednn") options.default_codegen = plugin;
  Result<Executable> out = build(parse(kModel), options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

using Change = void (*)(TensorSpec&);

/// Returns the program with every type `from` changed. It is consistent; its blobs are unchanged.
Executable with_types(Executable executable, const TensorSpec& from, Change change) {
  auto visit = [&](TensorSpec& type) {
    if (type == from) change(type);
  };
  Program& program = executable.program;
  for (auto* tensors : {&program.inputs, &program.outputs}) {
    for (NamedTensor& tensor : *tensors) visit(tensor.type);
  }
  for (Step& step : program.steps) {
    for (TensorSpec& type : step.types) visit(type);
  }
  program.arena_bytes += 4096;
  return executable;
}

/// Loads the program from a file, as a user does.
Status load(const Executable& executable, bool allow_native) {
  TempFolder folder;
  Status saved = save_artifact(executable, folder.file("m.byoc"));
  EXPECT_TRUE(saved.ok()) << saved.to_string();
  Result<Executable> loaded = load_artifact(folder.file("m.byoc"));
  if (!loaded.ok()) return loaded.status();
  return Session::load(*std::move(loaded), built_plugins(), {.allow_native = allow_native})
      .status();
}

bool is_native(const Executable& executable) {
  return (executable.modules.at(0).flags & BYOC_MODULE_NATIVE) != 0;
}

class ArtifactTypes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (built_plugins()->find(GetParam()) == nullptr) GTEST_SKIP() << GetParam() << " is not built";
    executable = compiled_by(GetParam());
    ASSERT_EQ(executable.modules.size(), 1u);
    ASSERT_EQ(executable.modules[0].plugin, GetParam());
  }
  /// Checks the refusal with and without --no-native. That option refuses all native code, whatever
  /// its types are.
  void expect_refused(const TensorSpec& from, Change change, const std::string& text) const {
    Executable changed = with_types(executable, from, change);
    Status status = load(changed, true);
    EXPECT_EQ(status.slug(), "kernel-types") << status.to_string();
    EXPECT_THAT(status.to_string(), HasSubstr(text));
    EXPECT_THAT(status.to_string(), HasSubstr(executable.program.steps[0].symbol));
    EXPECT_EQ(load(changed, false).slug(),
              is_native(executable) ? "native-refused" : "kernel-types");
  }
  Executable executable;
  const TensorSpec matrix{DType::kF32, {2, 3}}, vector{DType::kF32, {3}};
};

TEST_P(ArtifactTypes, ThatFitAreTaken) {
  EXPECT_TRUE(load(executable, true).ok()) << load(executable, true).to_string();
  Status status = load(executable, false);
  EXPECT_EQ(status.slug(), is_native(executable) ? "native-refused" : "") << status.to_string();
}

TEST_P(ArtifactTypes, SmallerThanTheKernelsAreRefused) {
  expect_refused(
      matrix,
      [](TensorSpec& type) {
        type.dims = {2, 2};
      },
      "f32[2,3]");
  expect_refused(
      vector, [](TensorSpec& type) { type.dims = {1}; },
      "as argument 1 its kernel reads f32[3], the program has f32[1] there");
}

TEST_P(ArtifactTypes, LargerThanTheKernelsAreRefused) {
  expect_refused(
      vector, [](TensorSpec& type) { type.dims = {1024}; },
      "as argument 1 its kernel reads f32[3], the program has f32[1024] there");
}

TEST_P(ArtifactTypes, OfAnotherRankAreRefused) {
  expect_refused(
      vector,
      [](TensorSpec& type) {
        type.dims = {1, 3};
      },
      "as argument 1 its kernel reads f32[3], the program has f32[1,3] there");
}

TEST_P(ArtifactTypes, OfAnotherDTypeAreRefused) {
  expect_refused(
      vector, [](TensorSpec& type) { type.dtype = DType::kI32; },
      "as argument 1 its kernel reads f32[3], the program has i32[3] there");
}

TEST_P(ArtifactTypes, OfOutputsAreCompared) {
  Executable changed = executable;
  changed.program.outputs[0].type.dims = {1};
  for (Step& step : changed.program.steps) {
    for (size_t k = 0; k < step.args.size(); ++k) {
      if (step.args[k].kind == Place::kOutput) step.types[k].dims = {1};
    }
  }
  Status status = load(changed, true);
  EXPECT_THAT(status.to_string(),
              HasSubstr("as output 0 its kernel writes f32[2,3], the program has f32[1] there"));
}

// The constant is replaced by one of another size than the kernel was compiled with.
TEST_P(ArtifactTypes, OfConstantsAreCompared) {
  Executable changed = executable;
  auto other = Buffer::copy(std::vector<std::byte>(4));
  changed.constants.emplace(other->key(), other);
  size_t n = 0;
  for (ExternalFunction& function : changed.modules[0].functions) {
    for (ExternalConstant& constant : function.constants) {
      constant.key = other->key();
      constant.type = {DType::kF32, {1}};
      ++n;
    }
  }
  ASSERT_GT(n, 0u);
  Status status = load(changed, true);
  EXPECT_FALSE(status.ok());
  if (is_native(executable)) {
    EXPECT_EQ(status.slug(), "kernel-types") << status.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, ArtifactTypes, testing::Values("json", "onednn", "llvm"),
                         [](const auto& info) { return std::string(info.param); });

// The manifest repeats the flag that marks a blob as native code. Here the manifest denies it.
TEST(NoNative, RefusesNativeCodeThatItsManifestHides) {
  if (built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  Executable executable = compiled_by("llvm");
  executable.modules[0].flags &= ~uint64_t{BYOC_MODULE_NATIVE};
  Status status = load(executable, false);
  EXPECT_EQ(status.code(), Code::kPermissionDenied) << status.to_string();
  EXPECT_EQ(status.slug(), "native-refused");
  EXPECT_THAT(status.message(), HasSubstr("native code"));
}

}  // namespace
}  // namespace byoc::test
