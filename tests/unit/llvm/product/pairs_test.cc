// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of bytes of the run, against sums by the definition in i64.
#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/topi/schedule.h"
#include "unit/llvm/assembly.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

/// A product of [batch.., m, k] and [batch.., k, n], or of one matrix [k, n] for all rows.
struct Pair {
  Ints batch = {};
  int64_t m = 8, k = 16, n = 32;
  DType a = DType::kU8, b = DType::kI8;
  int64_t a_zero = 0, b_zero = 0;
  bool is_shared = false;
  int64_t matrices() const {
    int64_t out = 1;
    for (int64_t extent : batch) out *= extent;
    return out;
  }
};

enum class Fill { kRandom, kLeast, kGreatest, kEnds };

std::vector<uint8_t> bytes_of(int64_t count, DType dtype, Fill fill, std::minstd_rand& random) {
  const uint8_t least = dtype == DType::kU8 ? 0 : 0x80, greatest = dtype == DType::kU8 ? 255 : 127;
  std::vector<uint8_t> out;
  for (int64_t k = 0; k < count; ++k) {
    const bool is_low = fill == Fill::kLeast || (fill == Fill::kEnds && (random() >> 9) % 2 == 0);
    out.push_back(fill == Fill::kRandom ? static_cast<uint8_t>(random() >> 7)
                  : is_low              ? least
                                        : greatest);
  }
  return out;
}

int64_t number(uint8_t byte, DType dtype) {
  return dtype == DType::kU8 ? byte : static_cast<int8_t>(byte);
}

std::vector<int32_t> expected(const Pair& p, const std::vector<uint8_t>& a,
                              const std::vector<uint8_t>& b) {
  std::vector<int32_t> out;
  for (int64_t row = 0; row < p.matrices() * p.m; ++row) {
    const int64_t first = p.is_shared ? 0 : row / p.m * p.k * p.n;
    for (int64_t column = 0; column < p.n; ++column) {
      int64_t sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += (number(a[static_cast<size_t>(row * p.k + k)], p.a) - p.a_zero) *
               (number(b[static_cast<size_t>(first + k * p.n + column)], p.b) - p.b_zero);
      out.push_back(static_cast<int32_t>(sum));
    }
  }
  return out;
}

te::Dag dag_of(const Pair& p, const te::Target& target) {
  Ints a = p.batch, b = p.is_shared ? Ints{} : p.batch;
  a.insert(a.end(), {p.m, p.k}), b.insert(b.end(), {p.k, p.n});
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId y = f.call("matmul_integers",
                           {f.param("a", {p.a, make_shape(a)}), f.param("b", {p.b, make_shape(b)})},
                           {{"a_zero", p.a_zero}, {"b_zero", p.b_zero}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{2});
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

te::LoopFunction loops_of(const te::Dag& dag, const te::Target& target) {
  const auto schedules = llvm_plugin::template_of(dag, target);
  auto schedule = schedules.at(schedules.first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

void expect_sums(const Pair& p, Fill fill_a, Fill fill_b, std::minstd_rand& random) {
  const auto a = bytes_of(p.matrices() * p.m * p.k, p.a, fill_a, random);
  const auto b = bytes_of((p.is_shared ? 1 : p.matrices()) * p.k * p.n, p.b, fill_b, random);
  for (const char* name : {"native", "x86-64-v3", "x86-64-v2"}) {
    const te::Target target = *te::parse_target(name);
    const te::Dag dag = dag_of(p, target);
    const std::vector<test::Data> in = {test::Data::of(p.a, a), test::Data::of(p.b, b)};
    EXPECT_EQ(test::run_loops(loops_of(dag, target), in)[0].as<int32_t>(), expected(p, a, b))
        << name << ": " << p.matrices() << " x " << p.m << " x " << p.k << " x " << p.n;
  }
}

constexpr DType kBytes[] = {DType::kU8, DType::kI8};

TEST(IntegerPairs, AreExactAtTheEndsOfTheirRanges) {
  std::minstd_rand random(1);
  for (const DType a : kBytes) {
    for (const DType b : kBytes) {
      for (const Fill of_a : {Fill::kLeast, Fill::kGreatest, Fill::kEnds}) {
        for (const Fill of_b : {Fill::kLeast, Fill::kGreatest}) {
          const Pair p{.m = 9, .k = 67, .n = 40, .a = a, .b = b};
          expect_sums(p, of_a, of_b, random);
        }
      }
    }
  }
}

TEST(IntegerPairs, SubtractZeroPointsAtTheEnds) {
  std::minstd_rand random(2);
  for (const int64_t a_zero : {-128, 0, 255}) {
    for (const int64_t b_zero : {-128, 127, 255}) {
      const Pair p{.m = 12, .k = 64, .n = 48, .a_zero = a_zero, .b_zero = b_zero};
      expect_sums(p, Fill::kEnds, Fill::kEnds, random);
    }
  }
}

TEST(IntegerPairs, ComputeRandomShapes) {
  std::minstd_rand random(3);
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() >> 5) % most; };
  for (int round = 0; round < 40; ++round) {
    Pair p{.m = up_to(40),
           .k = up_to(150),
           .n = up_to(90),
           .a = kBytes[round % 2],
           .b = kBytes[round / 2 % 2],
           .a_zero = up_to(200) - 100,
           .b_zero = up_to(200) - 100,
           .is_shared = round % 5 == 0};
    if (round % 3 > 0) p.batch = {up_to(3)};
    if (round % 3 > 1) p.batch.push_back(up_to(3));
    expect_sums(p, Fill::kRandom, Fill::kRandom, random);
    if (HasFailure()) return;
  }
}

TEST(IntegerPairs, AreWidenedInPanelsForSeveralRows) {
  const te::Target target = llvm_plugin::host_target();
  EXPECT_EQ(dag_of({.m = 8, .k = 64, .n = 64}, target).stages.back().compute, "packed");
  EXPECT_EQ(dag_of({.m = 1, .k = 64, .n = 64}, target).stages.back().compute, "direct");
  EXPECT_EQ(dag_of({.m = 8, .k = 64, .n = 4}, target).stages.back().compute, "direct");
}

TEST(IntegerPairs, MultiplyPairsAndKeepSumsInRegisters) {
  const te::Target target = *te::parse_target("x86-64-v3");
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  const te::Dag dag = dag_of({.batch = {12}, .m = 128, .k = 64, .n = 128}, target);
  auto listed = llvm_plugin::list_kernel(loops_of(dag, target), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t kernels = 0;
  for (const std::vector<std::string>& loop : test::innermost_loops(listed->assembly)) {
    if (test::count(loop, "vpmaddwd.*ymm") < 8) continue;
    ++kernels;
    EXPECT_EQ(test::count(loop, "\\(%rsp"), 0u) << test::joined(loop);
  }
  EXPECT_GE(kernels, 1u) << listed->assembly;
  EXPECT_NE(listed->assembly.find("vpunpck"), std::string::npos) << "rows are not interleaved";
}

}  // namespace
}  // namespace byoc
