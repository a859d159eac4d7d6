// SPDX-License-Identifier: Apache-2.0
// Products of two operands with named axes against sums by their definition in f64.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/machine/machine.h"
#include "unit/llvm/relative_error.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr double kBound = 1e-5;  // of the largest output

using Extents = std::map<char, int64_t>;

/// "ik,jk->ij" as an einsum, or as the gemm of these attributes.
struct Case {
  std::string a, b, y;
  Extents extents;
  std::optional<Attrs> gemm = {};
  size_t inputs = 2;  // the others are constants
  double alpha() const { return gemm ? gemm->f("alpha", 1) : 1; }
};

Shape shape_of(const Case& c, const std::string& labels) {
  Ints out;
  for (char label : labels) out.push_back(c.extents.at(label));
  return make_shape(out);
}

size_t offset_of(const Case& c, const std::string& labels, const Extents& at) {
  int64_t out = 0;
  for (char label : labels) out = out * c.extents.at(label) + at.at(label);
  return static_cast<size_t>(out);
}

size_t size_of(const Case& c, const std::string& labels) {
  int64_t out = 1;
  for (char label : labels) out *= c.extents.at(label);
  return static_cast<size_t>(out);
}

std::vector<double> expected(const Case& c, const std::vector<float>& a,
                             const std::vector<float>& b) {
  std::vector<double> y(size_of(c, c.y), 0);
  Extents at;
  for (const auto& [label, extent] : c.extents) at[label] = 0;
  for (bool more = true; more;) {
    y[offset_of(c, c.y, at)] +=
        c.alpha() * double{a[offset_of(c, c.a, at)]} * double{b[offset_of(c, c.b, at)]};
    more = false;
    for (auto& [label, index] : at) {
      more = ++index < c.extents.at(label);
      if (more) break;
      index = 0;
    }
  }
  return y;
}

IRModule module_of(const Case& c) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const std::vector<ValueId> operands = {f.param("a", {DType::kF32, shape_of(c, c.a)}),
                                         f.param("b", {DType::kF32, shape_of(c, c.b)})};
  const Attrs equation{{"equation", cat(c.a, ",", c.b, "->", c.y)}};
  const ValueId y = f.call(c.gemm ? "gemm" : "einsum", operands, c.gemm.value_or(equation));
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set("llvm.inputs", static_cast<int64_t>(c.inputs));
  return module;
}

std::string compute_of(const te::Dag& dag) {
  for (const te::Stage& stage : dag.stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute != nullptr && !compute->reduce.empty()) return stage.compute;
  }
  return "";
}

// Runs a case, compares, and returns the name of the compute.
std::string expect_product(const Case& c, uint32_t threads, std::minstd_rand& random) {
  SCOPED_TRACE(cat(c.a, ",", c.b, "->", c.y, c.gemm ? " by gemm" : "", ", ", threads, " threads"));
  std::string sizes;
  for (const auto& [label, extent] : c.extents) sizes += cat(label, "=", extent, " ");
  SCOPED_TRACE(sizes);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> a(size_of(c, c.a)), b(size_of(c, c.b));
  for (float& x : a) x = number(random);
  for (float& x : b) x = number(random);
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  auto dag = llvm_plugin::translate(module_of(c), target);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto kernel = llvm_plugin::lower_with_constants(*dag, c.inputs, target);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<test::Data> inputs = {test::f32(a), test::f32(b)};
  if (kernel->constants) {
    const auto panels = test::run_loops(kernel->constants->loops, {test::f32(b)});
    inputs.pop_back();
    inputs.insert(inputs.end(), panels.begin(), panels.end());
  }
  const auto y = test::run_loops(kernel->loops, inputs, {threads, {}});
  EXPECT_LE(test::relative_error(y[0].as<float>(), expected(c, a, b)), kBound);
  return compute_of(*dag);
}

Case gemm(bool trans_a, bool trans_b, double alpha, Extents extents) {
  return {trans_a ? "ki" : "ik", trans_b ? "jk" : "kj", "ij", std::move(extents),
          Attrs{{"trans_a", trans_a}, {"trans_b", trans_b}, {"alpha", alpha}}};
}

TEST(ProductEquation, PacksColumnsThatAreApart) {
  std::minstd_rand random(1);
  const Extents extents = {{'i', 40}, {'j', 48}, {'k', 24}, {'b', 2}, {'h', 3}};
  EXPECT_EQ(expect_product(gemm(false, true, 1, {{'i', 40}, {'j', 48}, {'k', 24}}), 1, random),
            "packed");
  EXPECT_EQ(expect_product(gemm(true, true, 0.5, {{'i', 40}, {'j', 48}, {'k', 24}}), 1, random),
            "packed");
  EXPECT_EQ(expect_product({"bhik", "bhjk", "bhij", extents}, 1, random), "packed");
  EXPECT_EQ(expect_product({"bjhk", "bihk", "bhij", extents}, 1, random), "packed");
}

// A copy costs more than it saves: of adjacent columns, or for a single row.
TEST(ProductEquation, LeavesWhatNeedsNoCopy) {
  std::minstd_rand random(2);
  const Extents extents = {{'i', 40}, {'j', 48}, {'k', 24}};
  EXPECT_EQ(expect_product({"ik", "kj", "ij", extents}, 1, random), "direct");
  EXPECT_EQ(expect_product(gemm(true, false, 1, extents), 1, random), "direct");
  EXPECT_EQ(expect_product(gemm(false, true, 1, {{'i', 1}, {'j', 48}, {'k', 24}}), 1, random),
            "direct");
}

TEST(ProductEquation, ComputesRandomShapes) {
  const std::vector<std::vector<std::string>> equations = {
      {"ik", "jk", "ij"},       {"ki", "jk", "ji"},       {"bik", "bjk", "bij"},
      {"bhik", "bhjk", "bhij"}, {"bihk", "bjhk", "bhij"}, {"bihk", "bjhk", "bihj"},
      {"hik", "jk", "hij"},     {"jk", "ihk", "hij"},     {"bik", "khj", "bihj"},
      {"kib", "jkb", "ibj"},    {"ik", "jbk", "ibj"}};
  std::minstd_rand random(3);
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  size_t packed = 0;
  for (int round = 0; round < 110; ++round) {
    const auto& equation = equations[static_cast<size_t>(round) % equations.size()];
    Case c{equation[0], equation[1], equation[2], {}};
    for (char label : c.a + c.b) c.extents[label] = up_to(label == 'b' || label == 'h' ? 3 : 50);
    c.inputs = round % 4 == 0 ? 1 : 2;
    packed += expect_product(c, 1 + static_cast<uint32_t>(round % 3), random) == "packed";
    if (HasFailure()) return;
  }
  EXPECT_GE(packed, 30u);
}

TEST(ProductEquation, ComputesRandomGemms) {
  std::minstd_rand random(4);
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  for (int round = 0; round < 40; ++round) {
    Case c = gemm(round % 2 == 0, round % 3 != 0, round % 5 == 0 ? -0.75 : 1,
                  {{'i', up_to(70)}, {'j', up_to(70)}, {'k', up_to(40)}});
    expect_product(c, 1 + static_cast<uint32_t>(round % 2), random);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace byoc
