// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/model_file.h"

#include <gtest/gtest.h>

#include "onnx_models.h"

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

}  // namespace
}  // namespace byoc::test
