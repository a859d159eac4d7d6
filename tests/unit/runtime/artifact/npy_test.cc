// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "byoc/runtime/tensor.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using test::get;
using test::put;
using test::TempFolder;
using ::testing::HasSubstr;

std::string unhex(const std::string& hex) {
  std::string bytes;
  for (size_t k = 0; k < hex.size(); k += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(k, 2), nullptr, 16));
  return bytes;
}

std::string npy(const std::string& magic, const std::string& dict, const std::string& data) {
  std::string file = unhex(magic) + dict;
  return file + std::string(127 - file.size(), ' ') + "\n" + unhex(data);
}

const std::string kMagic = "934e554d505901007600";  // version 1.0, header of 118 bytes

/// A file that numpy.save of NumPy 1.24 wrote.
struct Case {
  TensorSpec spec;
  std::string file;
};
const Case kCases[] = {
    {{DType::kF32, {2, 3}},
     npy(kMagic, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
         "000000000000803f0000004000004040000080400000a040")},
    {{DType::kI64, {}},
     npy(kMagic, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", "0700000000000000")},
    {{DType::kBool, {3}},
     npy(kMagic, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "010001")},
    {{DType::kF16, {0, 4}},
     npy(kMagic, "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 4), }", "")},
    {{DType::kI8, {2}},
     npy(kMagic, "{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }", "ff02")},
};

TEST(Npy, ReadsAndWritesNumpysBytes) {
  TempFolder folder;
  for (const Case& one : kCases) {
    put(folder.file("a.npy"), one.file);
    auto tensor = read_npy(folder.file("a.npy"));
    ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
    EXPECT_EQ(tensor->spec(), one.spec);
    if (tensor->size_bytes() != 0) {
      EXPECT_EQ(std::memcmp(tensor->data(), one.file.data() + 128, tensor->size_bytes()), 0);
    }
    ASSERT_TRUE(write_npy(tensor->view(), one.spec.dtype, folder.file("b.npy")).ok());
    EXPECT_EQ(get(folder.file("b.npy")), one.file) << cat(one.spec);
  }
}

TEST(Npy, ReadsFormat2) {
  TempFolder folder;
  put(folder.file("a.npy"),
      npy("934e554d505902007400"
          "0000",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "000000000000803f00000040"));
  auto tensor = read_npy(folder.file("a.npy"));
  ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
  EXPECT_EQ(reinterpret_cast<const float*>(tensor->data())[2], 2.0f);
}

TEST(Npy, EveryDtypeComesBackEqual) {
  TempFolder folder;
  for (int k = 0; k < kDTypeCount; ++k) {
    auto tensor = Tensor::make({static_cast<DType>(k), {5, 7}});
    fill_random(*tensor, 3);
    ASSERT_TRUE(write_npy(tensor->view(), tensor->spec().dtype, folder.file("a.npy")).ok());
    auto back = read_npy(folder.file("a.npy"));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(back->spec(), tensor->spec());
    EXPECT_EQ(std::memcmp(back->data(), tensor->data(), tensor->size_bytes()), 0);
  }
}

TEST(Npy, WritesStridedViewsCompactly) {
  TempFolder folder;
  auto tensor = Tensor::make({DType::kI32, {2, 3}});
  for (int k = 0; k < 6; ++k) reinterpret_cast<int32_t*>(tensor->data())[k] = k;
  int64_t shape[] = {3, 2}, strides[] = {1, 3};
  DLTensor view = tensor->view();
  view.shape = shape, view.strides = strides;
  ASSERT_TRUE(write_npy(view, DType::kI32, folder.file("t.npy")).ok());
  auto back = read_npy(folder.file("t.npy"));
  const auto* data = reinterpret_cast<const int32_t*>(back->data());
  EXPECT_THAT(std::vector<int32_t>(data, data + 6), ::testing::ElementsAre(0, 3, 1, 4, 2, 5));
}

// A number of a later DLPack, which no DLDeviceType of this one has: undefined behaviour sanitizers
// end the program where it is read as that enum.
TEST(Npy, RefusesToWriteFromADeviceOfAnyNumber) {
  TempFolder folder;
  auto tensor = Tensor::make({DType::kF32, {2}});
  DLTensor view = tensor->view();
  const int later = 1000;
  std::memcpy(&view.device.device_type, &later, sizeof later);
  const Status status = write_npy(view, DType::kF32, folder.file("a.npy"));
  EXPECT_EQ(status.slug(), "npy");
  EXPECT_THAT(status.message(), HasSubstr("on device 1000"));
}

std::string error_of(const std::string& file) {
  TempFolder folder;
  put(folder.file("bad.npy"), file);
  auto tensor = read_npy(folder.file("bad.npy"));
  EXPECT_FALSE(tensor.ok());
  EXPECT_THAT(tensor.status().to_string(), HasSubstr("bad.npy"));
  return tensor.ok() ? "" : tensor.status().to_string();
}

TEST(Npy, NamesWhatIsWrongWithAFile) {
  auto with = [](const std::string& dict) {
    return npy(kMagic, dict, "00000000000000000000000000000000");
  };
  EXPECT_THAT(error_of(""), HasSubstr("magic number is missing"));
  EXPECT_THAT(error_of("PK34"), HasSubstr("magic number is missing"));
  EXPECT_THAT(error_of(with("{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }")),
              HasSubstr("big-endian"));
  EXPECT_THAT(error_of(with("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }")),
              HasSubstr("no dtype for its type \"<c8\""));
  EXPECT_THAT(error_of(with("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2), }")),
              HasSubstr("Fortran order"));
  EXPECT_THAT(error_of(with("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }")),
              HasSubstr("holds 16 bytes of data, f32[5] needs 20"));
  EXPECT_THAT(error_of(with("{'descr': '<f4', 'shape': (4,), }")), HasSubstr("not a dict"));
  EXPECT_THAT(error_of(with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }")),
              HasSubstr("not a dict"));
  EXPECT_THAT(error_of(with(
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2), }")),
              HasSubstr("does not fit in 63 bits"));
  EXPECT_THAT(error_of(unhex("934e554d505909007600") + std::string(118, ' ')),
              HasSubstr("format 9.0 is not known"));
}

TEST(Npy, RefusesAFileCutOffAnywhere) {
  const std::string& whole = kCases[0].file;
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(error_of(whole.substr(0, size)), "");
}

TEST(Npy, NamesAMissingFileAndAFolder) {
  EXPECT_THAT(read_npy("/nowhere/a.npy").status().to_string(),
              HasSubstr("cannot open /nowhere/a.npy: No such file"));
  TempFolder folder;
  EXPECT_THAT(read_npy(folder.path()).status().to_string(), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace byoc
