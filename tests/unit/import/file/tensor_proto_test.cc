// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/tensor_proto.h"

#include <gtest/gtest.h>

#include <cstring>

#include "unit/import/onnx_models.h"

namespace byoc::test {
namespace {

using onnx::TensorProto;

TensorProto proto(TensorProto::DataType dtype, const std::vector<int64_t>& dims) {
  TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(dtype);
  for (int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

template <class T>
std::vector<T> read(const TensorProto& tensor, DType expected) {
  auto read = onnx_import::read_tensor(tensor, {});
  EXPECT_TRUE(read.ok()) << read.status().to_string();
  if (!read.ok()) return {};
  EXPECT_EQ(read->first.dtype, expected);
  std::vector<T> values(read->second->size() / sizeof(T));
  std::memcpy(values.data(), read->second->data(), read->second->size());
  return values;
}

template <class T>
TensorProto raw(TensorProto::DataType dtype, const std::vector<T>& values) {
  TensorProto tensor = proto(dtype, {static_cast<int64_t>(values.size())});
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
  return tensor;
}

// The field that contains the values of each dtype is defined in onnx.proto.
TEST(TensorProto, ReadsFloatsAndDoubles) {
  auto floats = proto(TensorProto::FLOAT, {2});
  floats.add_float_data(1.5);
  floats.add_float_data(-0.0);
  EXPECT_THAT(read<float>(floats, DType::kF32), testing::ElementsAre(1.5, -0.0));
  auto doubles = proto(TensorProto::DOUBLE, {1});
  doubles.add_double_data(1e300);
  EXPECT_THAT(read<double>(doubles, DType::kF64), testing::ElementsAre(1e300));
}

TEST(TensorProto, ReadsDtypesPackedIntoInt32Data) {
  auto packed = [](TensorProto::DataType dtype, std::vector<int32_t> values) {
    auto tensor = proto(dtype, {static_cast<int64_t>(values.size())});
    for (int32_t value : values) tensor.add_int32_data(value);
    return tensor;
  };
  // 0x3c00 is 1.0 as IEEE half, 0x3f80 as bfloat16.
  EXPECT_THAT(read<uint16_t>(packed(TensorProto::FLOAT16, {0x3c00, 0xfbff}), DType::kF16),
              testing::ElementsAre(0x3c00, 0xfbff));
  EXPECT_THAT(read<uint16_t>(packed(TensorProto::BFLOAT16, {0x3f80}), DType::kBF16),
              testing::ElementsAre(0x3f80));
  EXPECT_THAT(read<uint8_t>(packed(TensorProto::BOOL, {0, 1, 7}), DType::kBool),
              testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(read<int8_t>(packed(TensorProto::INT8, {-128, 127}), DType::kI8),
              testing::ElementsAre(-128, 127));
  EXPECT_THAT(read<uint8_t>(packed(TensorProto::UINT8, {0, 255}), DType::kU8),
              testing::ElementsAre(0, 255));
  EXPECT_THAT(read<int16_t>(packed(TensorProto::INT16, {-32768}), DType::kI16),
              testing::ElementsAre(-32768));
  EXPECT_THAT(read<uint16_t>(packed(TensorProto::UINT16, {65535}), DType::kU16),
              testing::ElementsAre(65535));
  EXPECT_THAT(read<int32_t>(packed(TensorProto::INT32, {INT32_MIN}), DType::kI32),
              testing::ElementsAre(INT32_MIN));
}

TEST(TensorProto, ReadsWideIntegers) {
  auto i64 = proto(TensorProto::INT64, {1});
  i64.add_int64_data(INT64_MIN);
  EXPECT_THAT(read<int64_t>(i64, DType::kI64), testing::ElementsAre(INT64_MIN));
  auto u64 = proto(TensorProto::UINT64, {1});
  u64.add_uint64_data(UINT64_MAX);
  EXPECT_THAT(read<uint64_t>(u64, DType::kU64), testing::ElementsAre(UINT64_MAX));
  auto u32 = proto(TensorProto::UINT32, {1});
  u32.add_uint64_data(UINT32_MAX);
  EXPECT_THAT(read<uint32_t>(u32, DType::kU32), testing::ElementsAre(UINT32_MAX));
}

TEST(TensorProto, ReadsRawData) {
  EXPECT_THAT(read<float>(raw<float>(TensorProto::FLOAT, {1, 2}), DType::kF32),
              testing::ElementsAre(1, 2));
  EXPECT_THAT(read<int64_t>(raw<int64_t>(TensorProto::INT64, {-1}), DType::kI64),
              testing::ElementsAre(-1));
  EXPECT_THAT(read<uint8_t>(raw<uint8_t>(TensorProto::BOOL, {0, 255}), DType::kBool),
              testing::ElementsAre(0, 1));
}

TEST(TensorProto, ReadsScalarsAndEmptyTensors) {
  auto scalar = proto(TensorProto::FLOAT, {});
  scalar.add_float_data(3);
  EXPECT_THAT(read<float>(scalar, DType::kF32), testing::ElementsAre(3));
  EXPECT_THAT(read<float>(proto(TensorProto::FLOAT, {2, 0}), DType::kF32), testing::IsEmpty());
}

TEST(TensorProto, RefusesValuesThatDoNotFit) {
  auto tensor = proto(TensorProto::UINT8, {1});
  tensor.add_int32_data(300);
  EXPECT_ERROR(onnx_import::read_tensor(tensor, {}), "onnx-parse", "the value 300 does not fit u8");
}

TEST(TensorProto, RefusesTooFewElements) {
  auto tensor = proto(TensorProto::FLOAT, {2, 2});
  tensor.add_float_data(1);
  EXPECT_ERROR(onnx_import::read_tensor(tensor, {}), "onnx-parse",
               "f32[2,2] needs 4 elements, the file holds 1");
  EXPECT_ERROR(onnx_import::read_tensor(tensor, {}), "onnx-parse", "tensor \"t\"");
}

TEST(TensorProto, RefusesRawDataOfAnotherSize) {
  auto tensor = raw<float>(TensorProto::FLOAT, {1, 2});
  tensor.set_dims(0, 3);
  EXPECT_ERROR(onnx_import::read_tensor(tensor, {}), "onnx-parse",
               "needs 12 bytes, its raw data has 8");
}

TEST(TensorProto, RefusesDimsThatOverflow) {
  auto tensor = proto(TensorProto::FLOAT, {int64_t{1} << 31, int64_t{1} << 31, 4});
  EXPECT_ERROR(onnx_import::read_tensor(tensor, {}), "tensor-size", "does not fit in 63 bits");
}

TEST(TensorProto, RefusesNegativeDims) {
  EXPECT_ERROR(onnx_import::read_tensor(proto(TensorProto::FLOAT, {-2}), {}), "tensor-size",
               "is negative");
}

TEST(TensorProto, AllocatesNothingForSizesWithoutData) {
  EXPECT_ERROR(onnx_import::read_tensor(proto(TensorProto::FLOAT, {int64_t{1} << 40}), {}),
               "onnx-parse", "the file holds 0");
}

TEST(TensorProto, RefusesTooManyDims) {
  EXPECT_ERROR(onnx_import::read_tensor(proto(TensorProto::FLOAT, std::vector<int64_t>(17, 1)), {}),
               "onnx-parse", "rank 17, at most 16");
}

TEST(TensorProto, RefusesElementTypesWithoutAName) {
  EXPECT_ERROR(onnx_import::read_tensor(proto(TensorProto::STRING, {1}), {}), "onnx-unsupported",
               "element type STRING is not supported");
  auto future = proto(TensorProto::FLOAT, {1});
  future.set_data_type(99);
  EXPECT_ERROR(onnx_import::read_tensor(future, {}), "onnx-unsupported", "element type type 99");
  future.set_data_type(0);
  EXPECT_ERROR(onnx_import::read_tensor(future, {}), "onnx-parse", "no element type is given");
}

TEST(TensorProto, NamesEveryDtypeBothWays) {
  for (int k = 0; k < kDTypeCount; ++k) {
    auto dtype = static_cast<DType>(k);
    auto back = onnx_import::dtype_from_onnx(onnx_import::dtype_to_onnx(dtype));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, dtype);
  }
}

}  // namespace
}  // namespace byoc::test
