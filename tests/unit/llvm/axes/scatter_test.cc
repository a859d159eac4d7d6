// SPDX-License-Identifier: Apache-2.0
// Updates at computed places, which threads share by rows where there are many. Expected values
// follow the definition: later updates win, or are added.
#include "unit/llvm/axes/op_case.h"

namespace byoc {
namespace {

using namespace test;

struct ScatterCase {
  Ints shape, indices;
  int64_t axis;
  bool adds = false, into_zeros = false;
  uint32_t threads = 1;
};

te::LoopFunction scatter_loops(const ScatterCase& s) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {DType::kF32, make_shape(s.into_zeros ? Ints{} : s.shape)});
  const ValueId places = f.param("places", {DType::kI64, make_shape(Ints{count_of(s.indices)})});
  const ValueId updates = f.param("updates", {DType::kF32, make_shape(s.indices)});
  if (s.into_zeros) x = f.call("expand", {x}, {{"shape", s.shape}});
  const ValueId at = f.call("reshape", {places}, {{"shape", s.indices}});
  const std::string reduction = s.adds ? "add" : "none";
  const ValueId y =
      f.call("scatter_elements", {x, at, updates}, {{"axis", s.axis}, {"reduction", reduction}});
  const Status built = f.finish("main", {y});
  EXPECT_TRUE(built.ok()) << built.message();
  module.entry = "main";
  te::Target target = llvm_plugin::host_target();
  target.threads = s.threads;
  auto dag = llvm_plugin::translate(module, target);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  const llvm_plugin::topi::Template plans = llvm_plugin::template_of(*dag, target);
  auto loops = te::lower(*plans.at(plans.first));
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  return *std::move(loops);
}

std::vector<float> scattered(const ScatterCase& s, const std::vector<float>& x,
                             const std::vector<int64_t>& places,
                             const std::vector<float>& updates) {
  std::vector<float> y(static_cast<size_t>(count_of(s.shape)), x[0]);
  if (!s.into_zeros) y = x;
  for (size_t k = 0; k < updates.size(); ++k) {
    int64_t rest = static_cast<int64_t>(k), to = 0, step = 1;
    for (size_t d = s.shape.size(); d-- > 0; step *= s.shape[d]) {
      int64_t at = rest % s.indices[d];
      rest /= s.indices[d];
      if (static_cast<int64_t>(d) == s.axis)
        at = places[k] < 0 ? places[k] + s.shape[d] : places[k];
      to += at * step;
    }
    float& cell = y[static_cast<size_t>(to)];
    cell = s.adds ? cell + updates[k] : updates[k];
  }
  return y;
}

TEST(Scatter, StoresUpdatesWhereIndicesSay) {
  Chooser choose(19);
  for (int k = 0; k < 60; ++k) {
    ScatterCase s;
    const auto rank = static_cast<size_t>(choose.between(1, 3));
    s.axis = choose.between(0, static_cast<int64_t>(rank) - 1);
    for (size_t d = 0; d < rank; ++d) {
      s.shape.push_back(choose.one_of<int64_t>({1, 3, 17, 40, 150}));
      const bool is_whole = static_cast<int64_t>(d) != s.axis && choose.chance(0.8);
      const bool may_be_longer = static_cast<int64_t>(d) == s.axis;
      s.indices.push_back(is_whole        ? s.shape[d]
                          : may_be_longer ? choose.between(1, 200)
                                          : choose.between(1, s.shape[d]));
    }
    s.adds = choose.chance(0.4);
    s.into_zeros = choose.chance(0.4);
    s.threads = choose.chance(0.5) ? 3 : 1;
    const int64_t extent = s.shape[static_cast<size_t>(s.axis)], count = count_of(s.indices);
    const auto x = elements<float>(choose, s.into_zeros ? 1 : count_of(s.shape), false);
    const auto updates = elements<float>(choose, count, false);
    std::vector<int64_t> places;
    for (int64_t n = 0; n < count; ++n) places.push_back(choose.between(-extent, extent - 1));
    const Data y =
        run_loops(scatter_loops(s), {f32(x), Data::of(DType::kI64, places), f32(updates)},
                  RunOptions{.threads = s.threads})[0];
    ASSERT_EQ(y.as<float>(), scattered(s, x, places, updates)) << "case " << k;
  }
}

// Neither the zeros, nor the indices in another shape, nor indices from the front are stored.
TEST(Scatter, ReadsOperandsWhereTheyAre) {
  const std::string text = te::print(
      scatter_loops({.shape = {40, 50}, .indices = {4, 50}, .axis = 0, .into_zeros = true}));
  EXPECT_EQ(text.find("workspace expand"), std::string::npos) << text;
  EXPECT_EQ(text.find("workspace reshape"), std::string::npos) << text;
  EXPECT_NE(text.find("workspace scatter_elements.indices: i64[1]"), std::string::npos) << text;
}

}  // namespace
}  // namespace byoc
