// SPDX-License-Identifier: Apache-2.0
// A loop function that ends with an error: its return code, and the failure that it writes.
#include "byoc/host/plugins.h"
#include "run_loops.h"

namespace byoc::test {
namespace {

using te::Tensor;

/// Returns a function that computes y[0] = x[0], and fails when x[0] is 3 or more.
te::LoopFunction checked_copy() {
  Tensor x("x", DType::kI64, {1}), y("y", DType::kI64, {1});
  te::Stmt error = te::make_index_error("gather", x(0), -3, 3);
  return {"checked",
          {x},
          {y},
          te::make_block({te::make_if(te::Expr(3) <= x(0), error), te::make_store(y, {0}, x(0))})};
}

class IndexError : public ::testing::Test {
 protected:
  IndexError() {
    auto kernel = llvm_plugin::compile_kernel(checked_copy(), "kernel", this_machine(), {});
    EXPECT_TRUE(kernel.ok()) << kernel.status().to_string();
    const llvm_plugin::Kernel* kernels[] = {&*kernel};
    auto object = llvm_plugin::link_native(kernels, this_machine());
    EXPECT_TRUE(object.ok()) << object.status().to_string();
    auto loaded = llvm_plugin::LoadedObject::load(*object, host_table());
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    loaded_ = *std::move(loaded);
    failure_.h = {sizeof failure_, BYOC_TAG_NATIVE_FAILURE, nullptr};
  }
  /// Runs the function. `size` is sizeof(byoc_native_call) in the version of the runtime.
  int32_t run(int64_t x, byoc_native_failure* failure, uint32_t size = sizeof(byoc_native_call)) {
    x_ = x;
    void* data[] = {&x_, &y_};
    byoc_native_call call{
        {size, BYOC_TAG_NATIVE_CALL, nullptr}, data, nullptr, host_table(), 0, failure};
    return loaded_->function(0).run(&call);
  }

  std::unique_ptr<llvm_plugin::LoadedObject> loaded_;
  byoc_native_failure failure_{};
  int64_t x_ = 0, y_ = -1;
};

TEST_F(IndexError, NamesOpIndexAndRange) {
  EXPECT_EQ(run(7, &failure_), BYOC_OUT_OF_RANGE);
  EXPECT_EQ(std::string(failure_.op.p, failure_.op.n), "gather");
  EXPECT_EQ(failure_.index, 7);
  EXPECT_EQ(failure_.low, -3);
  EXPECT_EQ(failure_.extent, 3);
  EXPECT_EQ(y_, -1);  // nothing after the error runs
}

TEST_F(IndexError, IsNoErrorInside) {
  EXPECT_EQ(run(2, &failure_), 0);
  EXPECT_EQ(y_, 2);
  EXPECT_EQ(failure_.op.n, 0u);
}

TEST_F(IndexError, WritesNothingWithoutAPlaceForIt) {
  EXPECT_EQ(run(7, nullptr), BYOC_OUT_OF_RANGE);
  // A runtime of minor 1, whose struct ends before the field.
  EXPECT_EQ(run(7, &failure_, offsetof(byoc_native_call, failure)), BYOC_OUT_OF_RANGE);
  EXPECT_EQ(failure_.op.n, 0u);
}

}  // namespace
}  // namespace byoc::test
