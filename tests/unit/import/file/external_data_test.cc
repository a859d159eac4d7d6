// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/external_data.h"

#include <gtest/gtest.h>

#include "unit/import/onnx_models.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;

class ExternalData : public testing::Test {
 protected:
  ExternalData() {
    fs::create_directories(folder_.file("model/sub"));
    put(folder_.file("outside.bin"), std::string(64, '\0'));
    write_floats("model/w.bin", {9, 1, 2, 3});
  }

  void write_floats(const std::string& name, const std::vector<float>& values) {
    put(folder_.file(name),
        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  /// Imports a model that returns w[3], whose data is at `location`.
  Result<IRModule> import(const std::string& location, const std::string& offset = "4",
                          const std::string& length = "12") {
    OnnxModel model;
    model.output("w");
    auto& w = model.initializer("w", {3}, {});
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] :
         {std::pair("location", location), {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto* entry = w.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return import_onnx(model.save(folder_.file("model/m.onnx")), all_ops());
  }

  std::vector<float> weights(const IRModule& module) {
    auto bytes = module.constants.begin()->second->bytes();
    auto* values = reinterpret_cast<const float*>(bytes.data());
    return {values, values + bytes.size() / sizeof(float)};
  }

  TempFolder folder_;
};

TEST_F(ExternalData, IsReadFromBesideTheModel) {
  auto module = import("w.bin");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_THAT(weights(*module), testing::ElementsAre(1, 2, 3));
}

TEST_F(ExternalData, IsReadFromAFolderBelow) {
  write_floats("model/sub/w.bin", {4, 5, 6});
  auto module = import("sub/w.bin", "", "");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_THAT(weights(*module), testing::ElementsAre(4, 5, 6));
}

TEST_F(ExternalData, IsReadThroughALinkThatStaysInside) {
  fs::create_symlink("w.bin", folder_.file("model/link.bin"));
  EXPECT_TRUE(import("link.bin").ok());
}

TEST_F(ExternalData, RefusesParentFolders) {
  EXPECT_ERROR(import("../outside.bin"), "external-data", "contains \"..\"");
  EXPECT_ERROR(import("sub/../../outside.bin"), "external-data", "contains \"..\"");
}

TEST_F(ExternalData, RefusesAbsolutePaths) {
  EXPECT_ERROR(import(folder_.file("outside.bin")), "external-data", "is an absolute path");
}

TEST_F(ExternalData, RefusesLinksThatLeaveTheFolder) {
  fs::create_symlink("../outside.bin", folder_.file("model/link.bin"));
  EXPECT_ERROR(import("link.bin"), "external-data",
               "leaves the model's folder through a symbolic link");
  fs::create_directory_symlink("..", folder_.file("model/up"));
  EXPECT_ERROR(import("up/outside.bin"), "external-data", "leaves the model's folder");
}

TEST_F(ExternalData, RefusesASiblingFolderThatStartsWithTheSameName) {
  fs::create_directories(folder_.file("model2"));
  write_floats("model2/w.bin", {1, 2, 3, 4});
  fs::create_symlink("../model2/w.bin", folder_.file("model/link.bin"));
  EXPECT_ERROR(import("link.bin"), "external-data", "leaves the model's folder");
}

TEST_F(ExternalData, RefusesMissingFilesAndFolders) {
  EXPECT_ERROR(import("none.bin"), "external-data", "\"none.bin\" cannot be read: No such file");
  EXPECT_ERROR(import("sub"), "external-data", "\"sub\" is not a file");
  EXPECT_ERROR(import(""), "external-data", "no file name");
}

TEST_F(ExternalData, RefusesRangesOutsideTheFile) {
  EXPECT_ERROR(import("w.bin", "8"), "external-data",
               "expected 12 bytes at offset 8, the file has 16");
  EXPECT_ERROR(import("w.bin", "999999999999999999"), "external-data",
               "expected 12 bytes at offset 999999999999999999, the file has 16");
}

TEST_F(ExternalData, RefusesLengthsThatDoNotFitTheTensor) {
  EXPECT_ERROR(import("w.bin", "0", "8"), "external-data",
               "length is 8, the tensor needs 12 bytes");
}

TEST_F(ExternalData, RefusesOffsetsThatAreNoNumbers) {
  EXPECT_ERROR(import("w.bin", "-4"), "external-data", "offset is \"-4\", not a size");
  EXPECT_ERROR(import("w.bin", "99999999999999999999"), "external-data", "not a size");
}

TEST_F(ExternalData, ErrorsNameTheTensor) {
  EXPECT_THAT(import("none.bin").status().where(), testing::HasSubstr("tensor \"w\""));
}

}  // namespace
}  // namespace byoc::test
