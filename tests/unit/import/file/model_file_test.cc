// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/model_file.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/import/onnx/file/large_data.h"
#include "unit/import/onnx_models.h"

namespace byoc::test {
namespace {

Result<IRModule> import_bytes(const std::string& bytes) {
  TempFolder folder;
  put(folder.file("m.onnx"), bytes);
  return import_onnx(folder.file("m.onnx"), all_ops());
}

TEST(ModelFile, RefusesAMissingFile) {
  TempFolder folder;
  EXPECT_ERROR(import_onnx(folder.file("none.onnx"), all_ops()), "model-file", "No such file");
}

TEST(ModelFile, RefusesAFolder) {
  TempFolder folder;
  EXPECT_ERROR(import_onnx(folder.path(), all_ops()), "model-file", "Is a directory");
}

TEST(ModelFile, RefusesAnEmptyFile) {
  EXPECT_ERROR(import_bytes(""), "model-file", "the model file is empty");
}

TEST(ModelFile, RefusesWhatIsNoProtobuf) {
  EXPECT_ERROR(import_bytes("def f(x):\n  return x\n"), "onnx-parse",
               "does not parse as an ONNX model");
}

TEST(ModelFile, RefusesProtobufThatIsNoModel) {
  onnx::TensorProto tensor;
  tensor.add_dims(1);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(1);
  EXPECT_ERROR(import_bytes(tensor.SerializeAsString()), "onnx-parse", "holds no ONNX graph");
}

TEST(ModelFile, RefusesAModelWithoutIrVersion) {
  OnnxModel model = relu_model();
  model.proto.clear_ir_version();
  EXPECT_ERROR(model.import(), "onnx-parse", "states no ONNX IR version");
}

TEST(ModelFile, RefusesIrVersionsOfTheFuture) {
  OnnxModel model = relu_model();
  model.proto.set_ir_version(9999);
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "the file has ONNX IR version 9999, this byoc supports versions 1 to 14");
  for (int64_t version : {3, 8, 10, 13, 14}) {  // those of ONNX 1.0, 1.12, 1.17, 1.20, 1.23
    model.proto.set_ir_version(version);
    EXPECT_TRUE(model.import().ok()) << version;
  }
}

TEST(ModelFile, RefusesAModelWithoutOpset) {
  OnnxModel model = relu_model();
  model.proto.clear_opset_import();
  EXPECT_ERROR(model.import(), "onnx-parse", "states no opset");
}

TEST(ModelFile, RefusesEveryTruncation) {
  std::string bytes = relu_model().proto.SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    auto module = import_bytes(bytes.substr(0, size));
    ASSERT_FALSE(module.ok()) << size << " of " << bytes.size() << " bytes were accepted";
    EXPECT_EQ(module.status().slug(), "onnx-parse") << size;
    EXPECT_THAT(module.status().help(), testing::HasSubstr("truncated")) << size;
  }
}

TEST(ModelFile, ErrorsNameTheFile) {
  EXPECT_THAT(import_bytes("").status().where(), testing::EndsWith("m.onnx"));
}

using onnx_import::kModelFile;
using onnx_import::parse_without_large_data;

constexpr int kElements = 20'000;  // 80,000 bytes: large

std::string raw_of(float first) {
  std::vector<float> values(kElements);
  std::iota(values.begin(), values.end(), first);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

onnx::TensorProto& add_large(OnnxModel& model, const std::string& name, float first) {
  auto& tensor = model.initializer(name, {kElements}, {});
  tensor.set_raw_data(raw_of(first));
  return tensor;
}

/// Returns a model that adds two large tensors, with a small one between them.
OnnxModel sum_of_large() {
  OnnxModel model;
  add_large(model, "a", 0.5f);
  model.initializer("one", {1}, {1});
  add_large(model, "b", 7);
  model.node("Add", {"a", "b"}, {"ab"});
  model.node("Add", {"ab", "one"}, {"y"});
  model.output("y");
  return model;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(LargeData, StaysInTheFile) {
  const std::string file = sum_of_large().proto.SerializeAsString();
  onnx::ModelProto parsed;
  ASSERT_TRUE(parse_without_large_data(bytes_of(file), parsed));
  EXPECT_LT(parsed.ByteSizeLong(), 1000u);
  ASSERT_EQ(parsed.graph().initializer_size(), 3);
  const onnx::TensorProto& b = parsed.graph().initializer(2);
  EXPECT_EQ(b.name(), "b");
  EXPECT_EQ(b.external_data(0).value(), kModelFile);
  const size_t offset = std::stoul(b.external_data(1).value());
  EXPECT_EQ(file.substr(offset, std::stoul(b.external_data(2).value())), raw_of(7));
}

TEST(LargeData, IsReadAsConstants) {
  auto module = sum_of_large().import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const std::string a = raw_of(0.5f), b = raw_of(7);
  EXPECT_EQ(module->constants.count(content_key(bytes_of(a))), 1u);
  EXPECT_EQ(module->constants.count(content_key(bytes_of(b))), 1u);
  EXPECT_EQ(module->constants.size(), 3u);
}

TEST(LargeData, OtherPartsOfTheModelAreParsedAsByProtobuf) {
  OnnxModel model = sum_of_large();
  model.graph().mutable_initializer(2)->set_doc_string(std::string(100'000, 'd'));
  model.graph().set_doc_string(std::string(100'000, 'g'));
  model.proto.set_doc_string(std::string(100'000, 'm'));
  onnx::ModelProto parsed;
  ASSERT_TRUE(parse_without_large_data(bytes_of(model.proto.SerializeAsString()), parsed));
  for (int k : {0, 2}) {
    auto* tensor = parsed.mutable_graph()->mutable_initializer(k);
    tensor->clear_external_data();
    tensor->clear_data_location();
    model.graph().mutable_initializer(k)->clear_raw_data();
  }
  EXPECT_EQ(parsed.SerializeAsString(), model.proto.SerializeAsString());
}

TEST(LargeData, ATensorWithRawDataTwiceHasTheLast) {  // as protobuf reads a repeated single field
  OnnxModel model;
  add_large(model, "a", 0.5f);
  std::string tensor = model.graph().initializer(0).SerializeAsString();
  onnx::TensorProto more;
  more.set_raw_data(raw_of(7));
  tensor += more.SerializeAsString();
  onnx::TensorProto expected;
  ASSERT_TRUE(expected.ParseFromString(tensor));
  // The bytes of a graph whose only field is that tensor: tag, size as a varint of 3 bytes.
  std::string graph{static_cast<char>(onnx::GraphProto::kInitializerFieldNumber << 3 | 2)};
  for (size_t rest = tensor.size(), k = 0; k < 3; ++k, rest >>= 7)
    graph += static_cast<char>((rest & 0x7f) | (k < 2 ? 0x80 : 0));
  graph += tensor;
  std::string file{static_cast<char>(onnx::ModelProto::kGraphFieldNumber << 3 | 2)};
  for (size_t rest = graph.size(), k = 0; k < 3; ++k, rest >>= 7)
    file += static_cast<char>((rest & 0x7f) | (k < 2 ? 0x80 : 0));
  file += graph;
  onnx::ModelProto parsed;
  ASSERT_TRUE(parse_without_large_data(bytes_of(file), parsed));
  ASSERT_EQ(parsed.graph().initializer_size(), 1);
  EXPECT_EQ(parsed.graph().initializer(0).SerializeAsString(), expected.SerializeAsString());
}

TEST(LargeData, OfAnotherSizeThanTheTensorIsRefused) {
  OnnxModel model = sum_of_large();
  model.graph().mutable_initializer(0)->set_dims(0, kElements + 1);
  EXPECT_ERROR(model.import(), "onnx-parse", "needs 80004 bytes, its raw data has 80000");
}

TEST(LargeData, CutOffFilesAreRefused) {
  const std::string file = sum_of_large().proto.SerializeAsString();
  TempFolder folder;
  for (size_t size = 1; size < file.size(); size += 997) {
    put(folder.file("m.onnx"), file.substr(0, size));
    EXPECT_ERROR(import_onnx(folder.file("m.onnx"), all_ops()), "onnx-parse", "");
  }
}

}  // namespace
}  // namespace byoc::test
