// SPDX-License-Identifier: Apache-2.0
// Several models in one file: byoc join, --entry, and states that they share.
#include "byoc/runtime/session.h"
#include "byoc/runtime/sizes.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Both have the weights %w, and a state of one type.
constexpr const char* kModels = R"(module {entry="decode"} {
  fn decode(%x: f32[1], %past: f32[4]) {output_names=["present","y"], state_inputs=["past"], state_outputs=["present"]} {
    %w = const([1, 2, 3, 4]) : f32[4]
    %0 = multiply(%w, %x)
    %1 = add(%past, %0)
    %2 = sum(%1) {axes=[0], keepdims=false}
    return %1, %2
  }
  fn prefill(%all: f32[2,1], %past: f32[4]) {output_names=["present","y"], state_inputs=["past"], state_outputs=["present"]} {
    %w = const([1, 2, 3, 4]) : f32[4]
    %0 = multiply(%w, %all)
    %1 = sum(%0) {axes=[0], keepdims=false}
    %2 = add(%past, %1)
    %3 = sum(%2) {axes=[0], keepdims=false}
    return %2, %3
  }
})";

class Entries : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string models = byoc_.write("models.ir", kModels);
    for (const char* name : {"prefill", "decode"}) {
      const Ran ran = byoc_("compile " + models + " --entry " + name +
                            " --compiler json --shared-weights -o " + byoc_.file(name));
      ASSERT_EQ(ran.code, 0) << ran.err;
    }
    const Ran ran = byoc_("join prefill=" + byoc_.file("prefill") +
                          " decode=" + byoc_.file("decode") + " -o " + joined_);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  Byoc byoc_;
  std::string joined_ = byoc_.file("joined.byoc");
};

TEST_F(Entries, RunByName) {
  Byoc byoc_run(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  for (const Byoc* program : {&byoc_, &byoc_run}) {
    const std::string verb = program == &byoc_ ? "run " : "";
    const Json decode = program->json(verb + joined_ + " --entry decode --input x=3 --steps 2");
    EXPECT_EQ(decode["outputs"][0]["max"], 60.0);  // 2 * 3 * (1 + 2 + 3 + 4)
    const Json prefill = program->json(verb + joined_ + " --entry prefill --input all=3,4");
    EXPECT_EQ(prefill["outputs"][0]["max"], 70.0);
  }
}

TEST_F(Entries, AreNamedWhereNoneIsChosen) {
  for (const char* program : {"/bin/byoc run ", "/bin/byoc-run "}) {
    Byoc byoc(std::string(BYOC_BUILD_DIR) + program);
    EXPECT_THAT(byoc(joined_).err, HasSubstr("name one of them: prefill, decode"));
    EXPECT_THAT(byoc(joined_ + " --entry encode").err, HasSubstr("it has prefill, decode"));
  }
  const Ran one = byoc_("run " + byoc_.file("models.ir") + " --entry encode");
  EXPECT_THAT(one.err, HasSubstr("it has decode, prefill"));
  const Json seen = byoc_.json("inspect " + joined_);
  EXPECT_EQ(seen["sizes"][0]["entry"], "prefill");
  EXPECT_EQ(seen["sizes"][1]["entry"], "decode");
  EXPECT_EQ(seen["constants"], 1) << "the weights of both";
}

TEST_F(Entries, JoinRefusesWhatIsNoEntry) {
  EXPECT_EQ(byoc_("join " + joined_ + " -o x.byoc").code, 2);
  EXPECT_THAT(byoc_("join a=" + joined_ + " -o x.byoc").err, HasSubstr("2 entries"));
  const std::string decode = "decode=" + byoc_.file("decode");
  EXPECT_THAT(byoc_("join " + decode + " " + decode + " -o x.byoc").err, HasSubstr("given twice"));
}

TEST_F(Entries, ShareStates) {
  auto programs = load_artifact_sizes(joined_);
  ASSERT_TRUE(programs.ok()) << programs.status().to_string();
  EXPECT_THAT(entries_of(*programs), ElementsAre("prefill", "decode"));
  auto plugins = PluginSet::load(default_plugin_search());
  auto prefill = *Session::load((*programs)[0].executable, plugins),
       decode = *Session::load((*programs)[1].executable, plugins);
  auto prompt = *prefill->make_context();
  auto step = *decode->make_context(*prompt);
  Tensor all = *Tensor::make({DType::kF32, {2, 1}}), x = *Tensor::make({DType::kF32, {1}}),
         y = *Tensor::make({DType::kF32, {}});
  reinterpret_cast<float*>(all.data())[0] = 3, reinterpret_cast<float*>(all.data())[1] = 4;
  reinterpret_cast<float*>(x.data())[0] = 5;
  const DLTensor in = all.view(), one = x.view();
  DLTensor out = y.view();
  ASSERT_TRUE(prefill->run(*prompt, {&in, 1}, {&out, 1}).ok());
  ASSERT_TRUE(decode->run(*step, {&one, 1}, {&out, 1}).ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(y.data()), 120);  // (3 + 4 + 5) * 10
}

}  // namespace
}  // namespace byoc::test
