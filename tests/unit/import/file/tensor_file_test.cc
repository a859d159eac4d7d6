// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/tensor_file.h"

#include <gtest/gtest.h>

#include "unit/import/onnx_models.h"

namespace byoc::test {
namespace {

TEST(Pb, WritesWhatItReads) {
  TempFolder folder;
  for (int k = 0; k < kDTypeCount; ++k) {
    auto tensor = Tensor::make({static_cast<DType>(k), {2, 3}});
    ASSERT_TRUE(tensor.ok());
    fill_random(*tensor, 1);
    ASSERT_TRUE(write_pb(*tensor, "t", folder.file("t.pb")).ok());
    auto back = read_pb(folder.file("t.pb"));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(back->name, "t");
    EXPECT_EQ(back->tensor.spec(), tensor->spec());
    EXPECT_TRUE(
        std::equal(tensor->data(), tensor->data() + tensor->size_bytes(), back->tensor.data()));
  }
}

TEST(Pb, RefusesEmptyAndForeignFiles) {
  TempFolder folder;
  put(folder.file("e.pb"), "");
  EXPECT_ERROR(read_pb(folder.file("e.pb")), "tensor-file", "the tensor file is empty");
  put(folder.file("t.pb"), "hello, world");
  EXPECT_ERROR(read_pb(folder.file("t.pb")), "onnx-parse", "t.pb");
  EXPECT_ERROR(read_pb(folder.file("none.pb")), "tensor-file", "No such file");
}

TEST(Pb, ReadsNoExternalData) {
  TempFolder folder;
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(1);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = proto.add_external_data();
  entry->set_key("location");
  entry->set_value("t.pb");
  put(folder.file("t.pb"), proto.SerializeAsString());
  EXPECT_ERROR(read_pb(folder.file("t.pb")), "external-data", "has no folder to read from");
}

}  // namespace
}  // namespace byoc::test
