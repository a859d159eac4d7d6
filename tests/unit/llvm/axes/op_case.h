// SPDX-License-Identifier: Apache-2.0
#pragma once
// One op of one operand: random ones, and their kernels by each compute.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/family.h"
#include "unit/llvm/run_loops.h"

namespace byoc::test {

/// A deterministic source of choices.
class Chooser {
 public:
  explicit Chooser(uint32_t seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double share) { return static_cast<double>(random_() % 1000) < share * 1000; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(between(0, static_cast<int64_t>(all.size()) - 1))];
  }

 private:
  std::mt19937 random_;
};

/// An op with its operand's type.
struct OpCase {
  std::string op;
  DType dtype;
  Ints shape;
  Attrs attrs;
  std::string compute;  // "": the usual one
  uint32_t threads = 1;
  bool has_short_vectors = false;  // 256 bits
};

inline int64_t count_of(const Ints& shape) {
  int64_t out = 1;
  for (int64_t extent : shape) out *= extent;
  return out;
}

/// The loops of a case, and the computes that were chosen.
struct OpLoops {
  te::LoopFunction function;
  std::vector<std::string> computes;
};

inline OpLoops loops_of(const OpCase& c) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.param("x", {c.dtype, make_shape(c.shape)});
  const Status built = f.finish("main", {f.call(c.op, {x}, c.attrs)});
  EXPECT_TRUE(built.ok()) << built.message();
  module.entry = "main";
  te::Target target = llvm_plugin::host_target();
  target.threads = c.threads;
  if (c.has_short_vectors) {
    target.features = {"avx", "avx2", "fma"};
    target.vector_bits = 256;
    target.vector_registers = 16;
  }
  te::StrategySelector selector = te::by_level();
  if (!c.compute.empty()) selector = te::prefer(c.compute, te::by_level());
  auto dag = llvm_plugin::translate(module, target, selector);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  OpLoops out;
  for (const te::Stage& stage : dag->stages) out.computes.push_back(stage.compute);
  const llvm_plugin::topi::Template plans = llvm_plugin::template_of(*dag, target);
  auto schedule = plans.at(plans.first);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  out.function = *std::move(loops);
  return out;
}

inline Data run(const OpCase& c, const Data& x) {
  RunOptions options{.threads = c.threads};
  if (c.has_short_vectors) options.without = {"avx512f"};
  return run_loops(loops_of(c).function, {x}, options)[0];
}

inline std::string print(const OpCase& c) {
  std::string out = cat(c.op, " ", c.compute, " of ", c.dtype, "[");
  for (int64_t extent : c.shape) out += cat(extent, " ");
  return cat(out, "] ", c.attrs, " on ", c.threads, c.has_short_vectors ? ", short vectors" : "");
}

/// Returns small integers, so that equal ones occur, as a type; with NaN and infinities among them.
template <class T>
std::vector<T> elements(Chooser& choose, int64_t count, bool has_specials, int64_t most = 20) {
  std::vector<T> out;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t low = std::is_unsigned_v<T> ? 0 : -most;
    out.push_back(static_cast<T>(choose.between(low, most)));
    if constexpr (std::is_floating_point_v<T>) {
      if (!has_specials || !choose.chance(0.03)) continue;
      constexpr T kInf = std::numeric_limits<T>::infinity();
      out.back() = choose.one_of<T>({std::numeric_limits<T>::quiet_NaN(), kInf, -kInf, T(-0.0)});
    }
  }
  return out;
}

}  // namespace byoc::test
