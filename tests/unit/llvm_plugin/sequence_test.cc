// SPDX-License-Identifier: Apache-2.0
// Functions that are too large for one kernel: their results, and the code that they share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "byoc/text/builder.h"
#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

const TensorType kSmall{DType::kF32, {64}};

std::shared_ptr<const PluginSet> without_cache() {
  PluginSearch search;
  search.files = {cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so")};
  search.options = {{"llvm", {{"cache", "0"}}}};
  return PluginSet::load(search);
}

Result<Executable> built(IRModule module, uint32_t threads = 1) {
  BuildOptions options;
  options.plugins = without_cache();
  options.compilers = {"llvm"};
  options.threads = threads;
  return build(std::move(module), options);
}

// A graph of elementwise ops, and its result for `inputs()`, computed by the C++ library in f64.
struct Known {
  IRModule module;
  std::vector<double> y;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Known chain(size_t ops) {
  Known out;
  FunctionBuilder f(out.module, all_ops());
  ValueId v = f.param("x", kSmall);
  for (int k = 0; k < 64; ++k) out.y.push_back(k / 32.0 - 1);
  std::mt19937 random(3);
  for (size_t k = 0; k < ops; ++k) {
    static constexpr double (*kFunctions[])(double) = {
        [](double x) { return std::tanh(x); }, sigmoid, [](double x) { return std::fabs(x); },
        [](double x) { return -x; }, [](double x) { return std::sin(x); }};
    static constexpr const char* kNames[] = {"tanh", "sigmoid", "abs", "negative", "sin"};
    size_t which = random() % 5;
    v = f.call(kNames[which], {v});
    for (double& y : out.y) y = kFunctions[which](y);
  }
  Status status = f.finish("main", {v});
  EXPECT_TRUE(status.ok()) << status.to_string();
  return out;
}

std::vector<float> inputs() {
  std::vector<float> x;
  for (int k = 0; k < 64; ++k) x.push_back(static_cast<float>(k) / 32 - 1);
  return x;
}

// All five functions have slopes of at most 1, so errors are not amplified. An op adds at most 3
// units in the last place of 1.
TEST(Sequence, OfAThousandOpsComputesWhatTheOpsDo) {
  for (size_t ops : {9u, 1000u, 5000u}) {
    Known known = chain(ops);
    Result<Executable> executable = built(known.module);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    std::vector<Tensor> in;
    in.push_back(tensor_f32({64}, inputs()));
    std::vector<float> y = floats(execute(*executable, nullptr, in)[0]);
    for (size_t k = 0; k < 64; ++k)
      EXPECT_NEAR(y[k], known.y[k], 3 * 6e-8 * static_cast<double>(ops)) << ops << " ops, " << k;
  }
}

TEST(Sequence, GrowsByDataAndNotByCode) {
  Result<Executable> small = built(chain(1000).module), large = built(chain(4000).module);
  ASSERT_TRUE(small.ok() && large.ok());
  uint64_t more = large->modules[0].blob->size() - small->modules[0].blob->size();
  EXPECT_LE(more, 3000u * 4 * sizeof(int32_t) + 8192) << "expected four numbers per call";
}

TEST(Sequence, IsTheSameEachTime) {
  Result<Executable> a = built(chain(1000).module), b = built(chain(1000).module);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->modules, b->modules);
}

TEST(Sequence, OfLargeTensorsRunsOnManyThreads) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const TensorType large{DType::kF32, {3, 70000}};
  ValueId v = f.param("x", large);
  for (int k = 0; k < 60; ++k) v = f.call(k % 3 == 0 ? "tanh" : k % 3 == 1 ? "sin" : "abs", {v});
  ASSERT_TRUE(f.finish("main", {v}).ok());
  Result<Executable> executable = built(std::move(module), 2);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  std::vector<float> x(210000);
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 1999) / 999 - 1;
  std::vector<Tensor> in;
  in.push_back(tensor_f32({3, 70000}, x));
  std::vector<float> y = floats(execute(*executable, nullptr, in, 1, 2)[0]);
  for (size_t k = 0; k < x.size(); k += 7) {
    double expected = x[k];
    for (int op = 0; op < 20; ++op) expected = std::fabs(std::sin(std::tanh(expected)));
    ASSERT_NEAR(y[k], expected, 60 * 3 * 6e-8) << k;
  }
}

TEST(Sequence, JoinsThousandsOfOperands) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", kSmall);
  std::vector<ValueId> parts;
  for (int k = 0; k < 3000; ++k)
    parts.push_back(f.call("multiply", {x, f.constant_f32({1}, {static_cast<float>(k)})}));
  ValueId y = f.call("concat", parts, Attrs{{Symbol("axis"), AttrValue(int64_t{0})}});
  ASSERT_TRUE(f.finish("main", {y}).ok());
  Result<Executable> executable = built(std::move(module));
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  std::vector<Tensor> in;
  in.push_back(tensor_f32({64}, inputs()));
  std::vector<float> got = floats(execute(*executable, nullptr, in)[0]);
  ASSERT_EQ(got.size(), 3000u * 64);
  for (size_t k = 0; k < got.size(); k += 31)
    ASSERT_EQ(got[k], inputs()[k % 64] * static_cast<float>(k / 64)) << k;
}

}  // namespace
}  // namespace byoc::test
