// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/sizes.h"
#include "support/flow.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kModel = R"(fn main(%x: f32[2]) {
  %w = const([1.5, -2.0]) : f32[2]
  %0 = multiply(%x, %w) loc("scale")
  %1 = relu(%0) loc("clip")
  return %1
})";

class Fallback : public ::testing::Test {
 protected:
  std::string gone() const { return folder_.file("gone"); }
  std::string path() const { return folder_.file("m.byoc"); }
  std::shared_ptr<const PluginSet> plugins() const {
    return selective_plugins({{"a", {{"gone", gone()}}}});
  }
  Executable built(std::vector<std::string> fallback, const std::string& model = kModel) const {
    BuildOptions options;
    options.plugins = plugins();
    options.compilers = {"a"};
    options.fallback = std::move(fallback);
    Result<Executable> out = build(parse(model), options);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *std::move(out) : Executable();
  }
  std::unique_ptr<Session> loaded(Executable executable, std::shared_ptr<const PluginSet> with) {
    Result<std::unique_ptr<Session>> out = Session::load(std::move(executable), std::move(with));
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *std::move(out) : nullptr;
  }
  std::vector<float> run(const Session& session) {
    std::vector<float> x = {3, 0.25F}, y(2);
    Tensor in = tensor_f32({2}, x), out = tensor_f32({2}, y);
    auto context = session.make_context();
    EXPECT_TRUE(context.ok());
    const DLTensor input = in.view();
    DLTensor output = out.view();
    const Status status = session.run(**context, {&input, 1}, {&output, 1});
    EXPECT_TRUE(status.ok()) << status.to_string();
    return floats(out);
  }

  TempFolder folder_;
};

TEST_F(Fallback, IsNotUsedWhileTheDeviceIsThere) {
  auto with = plugins();
  auto session = loaded(built({"json"}), with);
  ASSERT_TRUE(session);
  EXPECT_THAT(session->warnings(), IsEmpty());
  EXPECT_EQ(session->executable().modules.at(0).plugin, "a");
  EXPECT_THAT(run(*session), ElementsAre(4.5F, 0));
}

TEST_F(Fallback, GivesTheAnswerWhenTheDeviceIsGone) {
  Executable both = built({"json"});
  put(gone(), "");
  auto with = plugins();
  auto session = loaded(std::move(both), with);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->executable().modules.at(0).plugin, "json");
  ASSERT_EQ(session->warnings().size(), 1u);
  EXPECT_THAT(
      session->warnings()[0],
      HasSubstr("a: the device is gone; the model runs by its fallback, compiled for json"));
  EXPECT_THAT(run(*session), ElementsAre(4.5F, 0));
}

TEST_F(Fallback, RunsWithoutThePluginOfTheDevice) {
  Executable both = built({"json"});
  auto with = selective_plugins({});
  auto session = loaded(std::move(both), with);
  ASSERT_TRUE(session);
  EXPECT_THAT(session->warnings(), ElementsAre(HasSubstr("no plugin \"a\" 1.0.0")));
  EXPECT_THAT(run(*session), ElementsAre(4.5F, 0));
}

TEST_F(Fallback, WithoutOneTheErrorHasTheCommandThatMakesOne) {
  Executable alone = built({});
  put(gone(), "");
  const Status status = Session::load(std::move(alone), plugins()).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.slug(), "device-unavailable");
  EXPECT_THAT(status.message(), HasSubstr("the device is gone"));
  EXPECT_THAT(status.help(), HasSubstr("byoc compile MODEL --compiler llvm -o FILE"));
  EXPECT_THAT(status.help(), HasSubstr("--fallback llvm"));
}

TEST_F(Fallback, IsInTheFileAndWeightsAreOnce) {
  std::string list;
  for (int k = 0; k < 4095; ++k) list += "0.5, ";
  const std::string model = cat("fn main(%x: f32[4096]) { %w = const([", list,
                                "0.25]) : f32[4096] %0 = multiply(%x, %w) return %0 }");
  const Executable alone = built({}, model), both = built({"json"}, model);
  ASSERT_TRUE(save_artifact(alone, path()).ok());
  const size_t bytes = get(path()).size();
  ASSERT_TRUE(save_artifact(both, path()).ok());
  const std::string file = get(path());
  EXPECT_GE(bytes, 16384u);
  EXPECT_LT(file.size(), bytes + 8192) << "weights of 16384 bytes are there twice";
  Result<Executable> read = load_artifact(path());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  ASSERT_TRUE(read->fallback);
  EXPECT_EQ(read->fallback->modules.at(0).plugin, "json");
  ASSERT_TRUE(save_artifact(*read, path()).ok());
  EXPECT_EQ(get(path()), file);
}

TEST_F(Fallback, OfEachSizeIsInTheFile) {
  std::vector<SizedExecutable> sizes;
  for (int n : {1, 2})
    sizes.push_back({cat("N=", n), built({"json"}, cat("fn main(%x: f32[", n,
                                                       "]) { %0 = relu(%x) return %0 }"))});
  ASSERT_TRUE(save_artifact_sizes(sizes, path()).ok());
  auto read = load_artifact_sizes(path());
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  ASSERT_EQ(read->size(), 2u);
  for (const SizedExecutable& size : *read) {
    ASSERT_TRUE(size.executable.fallback) << size.label;
    EXPECT_EQ(size.executable.fallback->program.inputs[0].type,
              size.executable.program.inputs[0].type);
  }
}

TEST_F(Fallback, OfAnotherModelIsRefused) {
  Executable both = built({"json"});
  both.fallback = std::make_shared<const Executable>(
      built({}, "fn main(%y: f32[2]) { %0 = relu(%y) return %0 }"));
  const Status status = save_artifact(both, path());
  EXPECT_EQ(status.message(), "the fallback has other inputs or outputs");
}

TEST_F(Fallback, ADamagedOneIsFoundAtLoad) {
  ASSERT_TRUE(save_artifact(built({"json"}), path()).ok());
  std::string file = get(path());
  const size_t at = file.rfind("byoc.artifact");  // in the fallback's manifest
  ASSERT_NE(at, file.find("byoc.artifact"));
  file[at] = 'x';
  put(path(), file);
  const Status status = load_artifact(path()).status();
  EXPECT_EQ(status.slug(), "artifact-corrupt") << status.to_string();
}

TEST_F(Fallback, OfAPluginThatIsNotThereIsAnErrorOfTheBuild) {
  BuildOptions options;
  options.plugins = plugins();
  options.compilers = {"a"};
  options.fallback = {"nowhere"};
  const Status status = build(parse(kModel), options).status();
  EXPECT_EQ(status.slug(), "unknown-plugin");
  EXPECT_THAT(status.to_string(), HasSubstr("--fallback"));
}

// Both programs open the plugin of the fallback, which only the second program of the file names.
TEST_F(Fallback, IsUsedByTheCommands) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kModel),
                    plugin = cat(
                        " --plugin ", BYOC_BUILD_DIR,
                        "/tests/support/plugins/libbyoc_a.so --plugin-option a.gone=", gone(), " ");
  const Ran compiled =
      byoc(cat("compile ", model, plugin, "--compiler a --fallback json -o ", path()));
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("fallback: 1 steps by json"));
  put(gone(), "");
  const Byoc small(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  for (const Ran& ran : {byoc(cat("run ", path(), plugin, "--input x=f32[2]=3,0.25")),
                         small(cat(path(), plugin, "--input x=f32[2]=3,0.25"))}) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("runs by its fallback, compiled for json"));
    EXPECT_THAT(ran.out, HasSubstr("4.5"));
  }
}

}  // namespace
}  // namespace byoc::test
