// SPDX-License-Identifier: Apache-2.0
// Errors of values and sizes that only a run has: their help names the options that work.
#include "rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

std::string help_of(const OnnxModel& model, const ImportOptions& options = {}) {
  Result<IRModule> module = model.import(options);
  return module.ok() ? "accepted" : module.status().help();
}

/// y = Resize(x, roi, -, sizes), cropped.
OnnxModel cropped() {
  OnnxModel model(13);
  model.input("x", {1, 1, 6, 6}).input("roi", {8}).output("y");
  ints(model, "sizes", {1, 1, 4, 4});
  set(model.node("Resize", {"x", "roi", "", "sizes"}, {"y"}, "crop"),
      "coordinate_transformation_mode", "tf_crop_and_resize");
  return model;
}

TEST(Cures, AnInputWhoseValueIsNeededIsBound) {
  EXPECT_ERROR(cropped().import(), "onnx-unsupported", "its input \"roi\" is computed at run time");
  EXPECT_EQ(help_of(cropped()),
            "it depends on inputs of the model; give their values: --bind roi=...");
  const float roi[8] = {0, 0, 0, 0, 1, 1, 1, 1};
  ImportOptions options;
  options.bind["roi"] = {{DType::kF32, {8}}, Buffer::copy(std::as_bytes(std::span(roi)))};
  EXPECT_EQ(help_of(cropped(), options), "accepted");
}

TEST(Cures, ARangeNamesTheInputsThatItsLengthDependsOn) {
  OnnxModel model(13);
  model.input("n", {}, onnx::TensorProto::INT64).output("y");
  auto& one = *model.graph().add_initializer();
  one.set_name("one");
  one.set_data_type(onnx::TensorProto::INT64);
  one.add_int64_data(1);
  model.node("Mul", {"n", "n"}, {"square"});
  model.node("Range", {"one", "square", "one"}, {"y"}, "counts");
  EXPECT_ERROR(model.import(), "onnx-unsupported", "has no upper bound that follows from sizes");
  EXPECT_EQ(help_of(model), "it depends on inputs of the model; give their values: --bind n=...");
  const int64_t n = 3;
  ImportOptions options;
  options.bind["n"] = {{DType::kI64, {}}, Buffer::copy(std::as_bytes(std::span(&n, 1)))};
  EXPECT_EQ(help_of(model, options), "accepted");
}

// A list of starts whose length is open was read as one without entries: nothing was cut.
TEST(Cures, ASliceOfAnOpenNumberOfAxesIsBound) {
  OnnxModel model(13);
  model.input("x", {"N", 10, 5}).output("y");
  model.input("starts", {"K"}, onnx::TensorProto::INT64);
  model.input("ends", {"K"}, onnx::TensorProto::INT64);
  model.node("Slice", {"x", "starts", "ends"}, {"y"}, "cut");
  EXPECT_ERROR(model.import(), "onnx-unsupported", "starts");
  EXPECT_THAT(help_of(model), HasSubstr("--bind starts=..."));
}

/// Adds the first T of 64 positions to x [B,T,8], as exporters of transformers write it.
OnnxModel positions() {
  OnnxModel model(13);
  model.input("x", {"B", "T", 8}).output("y");
  model.initializer("table", {1, 64, 8}, std::vector<float>(512, 1));
  ints(model, "zero", {0});
  ints(model, "one", {1});
  model.node("Shape", {"x"}, {"dims"});
  model.node("Gather", {"dims", "one"}, {"length"});
  model.node("Slice", {"table", "zero", "length", "one"}, {"first"}, "slice");
  model.node("Add", {"x", "first"}, {"y"}, "add");
  return model;
}

TEST(Cures, OpenSizesAreBound) {
  const ImportOptions larger{.shapes = {{"T", {GivenSize(1, 65)}}}};
  EXPECT_THAT(help_of(positions(), larger), HasSubstr("--shape B=1"));
  EXPECT_EQ(help_of(positions(), {.shapes = {{"B", {2}}, {"T", {5}}}}), "accepted");
  EXPECT_EQ(help_of(positions(), {.shapes = {{"T", {5}}}}), "accepted");
}

TEST(Cures, SizesThatDoNotBroadcastBeforeTheyAreKnownAreBound) {
  OnnxModel model(13);
  model.input("x", {"N", 3}).input("y", {"", 3}).output("z");
  model.node("Add", {"x", "y"}, {"z"}, "sum");
  EXPECT_ERROR(model.import(), "op-shape", "do not broadcast before their sizes are known");
  EXPECT_EQ(help_of(model), "bind the open sizes: --shape N=1 --shape y=1x3");
}

TEST(Cures, ErrorsOfKnownSizesHaveNone) {
  OnnxModel model(13);
  model.input("x", {2}).input("y", {3}).output("z");
  model.node("Add", {"x", "y"}, {"z"}, "sum");
  EXPECT_EQ(help_of(model), "");
}

TEST(Cures, ASizeWithoutABoundIsAtMostTheTableThatItReads) {
  auto module = positions().import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_EQ(cat(*main.nodes[0].types[0]), "f32[B,1<=T<=64,8]");
  EXPECT_THAT(main.attrs.strings("import_warnings"),
              testing::ElementsAre(
                  "size T is at most 64: the model reads the first T entries of a table of 64"));
  ImportOptions larger;
  larger.shapes["T"] = {GivenSize(1, 65)};
  EXPECT_ERROR(positions().import(larger), "op-shape", "do not broadcast");
}

/// Attention of S tokens to P before and themselves. The keys of the bias have a name of their own.
OnnxModel bias_of_own_size() {
  OnnxModel model(21);
  for (const char* name : {"q", "k", "v"}) model.input(name, {"B", "S", 8});
  for (const char* name : {"pk", "pv"}) model.input(name, {"B", 2, "P", 4});
  model.input("bias", {1, 2, "S", "PS"}).output("y");
  model.set_opset("com.microsoft", 1);
  onnx::NodeProto& node = model.node(
      "MultiHeadAttention", {"q", "k", "v", "", "", "bias", "pk", "pv"}, {"y"}, "attention");
  node.set_domain("com.microsoft");
  set(node, "num_heads", 2);
  return model;
}

TEST(Cures, ABiasOfAttentionHasAColumnPerKey) {
  auto module = bias_of_own_size().import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_EQ(cat(*main.nodes[5].types[0]), "f32[1,2,S,(P+S : P, S)]");
  EXPECT_THAT(main.attrs.strings("import_warnings"),
              testing::ElementsAre("size PS is P+S: attention has a mask or bias of this size"));
}

TEST(Cures, BoundsOfABiasAreThoseOfItsKeysOrAnError) {
  ImportOptions bounds{.shapes = {{"S", {GivenSize(1, 4)}}, {"P", {GivenSize(0, 4)}}}};
  bounds.shapes["PS"] = {GivenSize(1, 8)};
  EXPECT_EQ(help_of(bias_of_own_size(), bounds), "accepted");
  bounds.shapes["PS"] = {GivenSize(1, 7)};
  EXPECT_ERROR(bias_of_own_size().import(bounds), "op-shape", "do not broadcast before");
  const ImportOptions numbers{.shapes = {{"S", {2}}, {"P", {3}}}};
  EXPECT_EQ(help_of(bias_of_own_size(), numbers), "accepted");
}

/// Two convolutions of 5 x 3 with a stride of 2 and no padding, of images of every size.
OnnxModel windows() {
  OnnxModel model(13);
  model.input("x", {"N", 1, "H", "W"}).output("y");
  model.initializer("w", {1, 1, 5, 3}, std::vector<float>(15, 1));
  const std::vector<int64_t> strides = {2, 2};
  set(model.node("Conv", {"x", "w"}, {"c"}, "first"), "strides", strides);
  set(model.node("Conv", {"c", "w"}, {"y"}, "second"), "strides", strides);
  return model;
}

TEST(Cures, SizesWithoutBoundsAreAtLeastWhatWindowsReachOver) {
  auto module = windows().import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  // (H - 5) / 2 + 1 >= 5 and (W - 3) / 2 + 1 >= 3; the batch stays as it is.
  EXPECT_EQ(cat(*main.nodes[0].types[0]), "f32[N,1,13<=H,7<=W]");
  EXPECT_THAT(main.attrs.strings("import_warnings"),
              testing::ElementsAre("size H is at least 13: the model does not fit smaller ones",
                                   "size W is at least 7: the model does not fit smaller ones"));
  ImportOptions smaller{.shapes = {{"H", {GivenSize(12, 20)}}}};
  EXPECT_ERROR(windows().import(smaller), "symbolic-shape", "reaches over 5 needs an extent of 5");
}

// An image of 2H x 2W cells is resized to H x W: it must have cells.
TEST(Cures, SizesOfResizedImagesAreAtLeastOne) {
  OnnxModel model(13);
  model.input("x", {"N", 4, "H", "W"}).output("y");
  model.input("like", {"N", 1, "H", "W"});
  set(model.node("DepthToSpace", {"x"}, {"large"}), "blocksize", 2);
  ints(model, "first", {0});
  ints(model, "second", {1});
  ints(model, "third", {2});
  ints(model, "last", {4});
  model.node("Shape", {"large"}, {"large_dims"});
  model.node("Slice", {"large_dims", "first", "third", "first"}, {"channels"});
  model.node("Shape", {"like"}, {"dims"});
  model.node("Slice", {"dims", "third", "last", "first"}, {"image"});
  set(model.node("Concat", {"channels", "image"}, {"sizes"}), "axis", 0);
  set(model.node("Resize", {"large", "", "", "sizes"}, {"y"}, "resize"), "mode", "linear");
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_EQ(cat(*main.nodes[0].types[0]), "f32[N,4,1<=H,1<=W]");
  EXPECT_EQ(cat(*main.type(main.results[0])), "f32[N,1,1<=H,1<=W]");
}

// f32 holds every product of a length and the scale exactly, up to a bound.
TEST(Cures, ASizeThatIsScaledGetsABound) {
  OnnxModel model(13);
  model.input("x", {"N", 4, "L"}).output("y");
  model.initializer("scales", {3}, std::vector<float>{1, 1, 2});
  set(model.node("Resize", {"x", "", "scales"}, {"y"}, "resize"), "mode", "linear");
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_EQ(cat(*main.type(main.results[0])), "f32[N,4,(2*L : 1<=L<=65536)]");
  EXPECT_THAT(main.attrs.strings("import_warnings"),
              testing::ElementsAre("size L is at most 65536: an op of the model needs a bound"));
}

// 3*H*W >= 40: one number for both, as neither of them has a least one by itself.
TEST(Cures, SizesOfAProductHaveOneLeastNumber) {
  OnnxModel model(13);
  model.input("x", {"N", 3, "H", "W"}).output("y").output("at");
  ints(model, "k", {40});
  model.node("Flatten", {"x"}, {"all"});
  model.node("TopK", {"all", "k"}, {"y", "at"}, "topk");
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(cat(*module->function("main").nodes[0].types[0]), "f32[N,3,4<=H,4<=W]");
}

// Skip connections of networks for images of every size: H/2 - 2*(H/4) is 0 or 1.
TEST(Cures, PadsThatAreRemaindersAreBounded) {
  OnnxModel model(13);
  model.input("x", {1, 1, "H"}).output("y");
  ints(model, "two", {2});
  ints(model, "third", {2});
  ints(model, "zeros", {0, 0, 0, 0, 0});
  const std::vector<int64_t> strides = {2}, window = {2};
  for (const auto& [from, to] : {std::pair("x", "half"), std::pair("half", "quarter")}) {
    auto& pool = model.node("MaxPool", {from}, {to});
    set(pool, "kernel_shape", window);
    set(pool, "strides", strides);
  }
  model.initializer("w", {1, 1, 2}, std::vector<float>{1, 2});
  set(model.node("ConvTranspose", {"quarter", "w"}, {"up"}), "strides", strides);
  for (const auto& [from, to] : {std::pair("half", "a"), std::pair("up", "b")}) {
    model.node("Shape", {from}, {cat(to, "_dims")});
    model.node("Gather", {cat(to, "_dims"), "third"}, {to});
  }
  model.node("Sub", {"a", "b"}, {"rest"});
  set(model.node("Concat", {"zeros", "rest"}, {"pads"}), "axis", 0);
  model.node("Pad", {"up", "pads"}, {"padded"}, "pad");
  model.node("Add", {"padded", "half"}, {"y"});
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_THAT(cat(*main.type(main.results[0])), HasSubstr("(div(H,2) : "));
}

// Windows of 7 cells over images of every size, as those of Swin: x is padded to whole windows.
TEST(Cures, PadsToWholeWindowsAreBounded) {
  OnnxModel model(13);
  model.input("x", {1, "H"}).output("y");
  for (int64_t number : {0, 1, 7}) ints(model, cat("n", number), {number});
  ints(model, "zeros", {0, 0, 0});
  ints(model, "windows", {1, -1, 7});
  model.node("Shape", {"x"}, {"dims"});
  model.node("Gather", {"dims", "n1"}, {"h"});
  model.node("Mod", {"h", "n7"}, {"last"});
  model.node("Sub", {"n7", "last"}, {"left"});
  model.node("Mod", {"left", "n7"}, {"rest"});
  set(model.node("Concat", {"zeros", "rest"}, {"pads"}), "axis", 0);
  model.node("Pad", {"x", "pads"}, {"padded"}, "pad");
  model.node("Reshape", {"padded", "windows"}, {"y"}, "reshape");
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  const Dim count = main.type(main.results[0])->shape[1];
  for (int64_t h : {1, 6, 7, 8, 70}) {
    auto at = with_sizes(count, [h](Dim) { return std::optional(Dim(h)); });
    ASSERT_TRUE(at.ok()) << at.status().to_string();
    EXPECT_EQ(*at, Dim((h + 6) / 7)) << h;
  }
}

TEST(Cures, KnownDimsOfOpenShapesAreNumbers) {
  OnnxModel model(13);
  model.input("x", {"N", 6}).output("y");
  ints(model, "one", {1});
  ints(model, "seven", {7});
  ints(model, "zeros", {0, 0, 0});
  model.node("Shape", {"x"}, {"dims"});
  model.node("Gather", {"dims", "one"}, {"length"});
  model.node("Mod", {"length", "seven"}, {"rest"});
  set(model.node("Concat", {"zeros", "rest"}, {"pads"}), "axis", 0);
  model.node("Pad", {"x", "pads"}, {"y"}, "pad");
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_EQ(cat(*main.type(main.results[0])), "f32[N,12]");
}

}  // namespace
}  // namespace byoc::test
