// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/sized_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/runtime/executables.h"

namespace byoc {
namespace {

using ::testing::HasSubstr;

/// Returns y = 2 x, f32[n], by a function of the host.
Executable twice(int64_t n) {
  const TensorSpec type{DType::kF32, {n}};
  Executable executable;
  executable.producer = "byoc test";
  executable.program.inputs = {{"x", type}};
  executable.program.outputs = {{"y", type}};
  executable.program.steps = {test::host_step("twice", 1, {test::in(0), test::out(0)}, type)};
  return executable;
}

Result<SizedSession> load() {
  std::vector<SizedExecutable> sizes;
  for (int64_t n : {1, 4}) sizes.push_back({cat("N=", n), twice(n)});
  return SizedSession::load(std::move(sizes), PluginSet::load({}));
}

Status double_all(std::span<const DLTensor> in, std::span<DLTensor> out) {
  for (int64_t k = 0; k < in[0].shape[0]; ++k)
    static_cast<float*>(out[0].data)[k] = 2 * static_cast<const float*>(in[0].data)[k];
  return {};
}

TEST(SizedSession, RunsTheSizeOfTheInputs) {
  auto sized = load();
  ASSERT_TRUE(sized.ok()) << sized.status().to_string();
  ASSERT_EQ(sized->size(), 2u);
  EXPECT_EQ(sized->label(1), "N=4");
  for (int64_t n : {4, 1}) {
    auto x = Tensor::make({DType::kF32, {n}}), y = Tensor::make({DType::kF32, {n}});
    ASSERT_TRUE(x.ok() && y.ok());
    for (int64_t k = 0; k < n; ++k)
      reinterpret_cast<float*>(x->data())[k] = static_cast<float>(k + 1);
    DLTensor in = x->view(), out = y->view();
    auto session = sized->pick({&in, 1});
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    ASSERT_TRUE((*session)->register_extern("twice", double_all).ok());
    auto context = (*session)->make_context();
    ASSERT_TRUE(context.ok());
    ASSERT_TRUE((*session)->run(**context, {&in, 1}, {&out, 1}).ok());
    EXPECT_EQ(reinterpret_cast<float*>(y->data())[n - 1], static_cast<float>(2 * n));
  }
}

TEST(SizedSession, ListsItsSizesWhenNoneFits) {
  auto sized = load();
  ASSERT_TRUE(sized.ok());
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3}, {4, 1}}) {
    auto x = Tensor::make({DType::kF32, dims});
    ASSERT_TRUE(x.ok());
    DLTensor in = x->view();
    Status status = sized->pick({&in, 1}).status();
    EXPECT_EQ(status.slug(), "input-size");
    EXPECT_THAT(status.message(), HasSubstr(cat("not compiled for x ", x->spec())));
    EXPECT_EQ(status.help(), "it has N=1: x f32[1]; N=4: x f32[4]");
  }
  EXPECT_EQ(sized->pick({}).status().slug(), "input-count");
  EXPECT_EQ(SizedSession::load({}, PluginSet::load({})).status().slug(), "executable");
}

}  // namespace
}  // namespace byoc
