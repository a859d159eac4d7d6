// SPDX-License-Identifier: Apache-2.0
// Sizes that a run gives: one lowered schedule against the same schedule with numbers.
#include <random>

#include "byoc/ir/dim.h"
#include "byoc/te/simplify.h"
#include "run.h"

namespace byoc::te {
namespace {

using Floats = std::vector<float>;

/// The extents of one Dag: expressions of sizes, or numbers.
struct Extents {
  Expr b, t;
};

Extents open_extents() { return {Var::size("B", 1, 4), Var::size("T", 1, 40)}; }

using MakeDag = Dag (*)(const Extents&);

Floats numbers(size_t count) {
  Floats out;
  for (size_t k = 0; k < count; ++k)
    out.push_back(static_cast<float>(static_cast<int>(k * 7 % 23) - 11));
  return out;
}

int64_t elements_at(const Tensor& tensor, const Bindings& sizes) {
  int64_t out = 1;
  for (const Expr& extent : tensor.shape()) {
    Result<int64_t> value = evaluate(extent, sizes);
    EXPECT_TRUE(value.ok()) << value.status().to_string();
    out *= value.ok() ? *value : 0;
  }
  return out;
}

Floats run_at(const LoopFunction& loops, const Bindings& sizes) {
  std::vector<Floats> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& tensor : loops.inputs)
    inputs.push_back(numbers(static_cast<size_t>(elements_at(tensor, sizes))));
  for (const Tensor& tensor : loops.outputs)
    outputs.emplace_back(static_cast<size_t>(elements_at(tensor, sizes)), NAN);
  for (const Floats& input : inputs) in.push_back(input.data());
  for (Floats& output : outputs) out.push_back(output.data());
  Status status = evaluate(loops, in, out, sizes);
  EXPECT_TRUE(status.ok()) << status.to_string() << "\n" << print(loops);
  return outputs[0];
}

LoopFunction lowered(const Dag& dag, const std::string& steps) {
  Result<Trace> trace = parse_trace(steps);
  EXPECT_TRUE(trace.ok()) << trace.status().to_string();
  Result<Schedule> schedule = replay(dag, *trace);
  EXPECT_TRUE(schedule.ok()) << schedule.status().to_string();
  Result<LoopFunction> loops = lower(*schedule);
  EXPECT_TRUE(loops.ok());
  return *std::move(loops);
}

void expect_same(MakeDag make, const std::string& steps) {
  const Extents open = open_extents();
  const LoopFunction all = lowered(make(open), steps);
  for (int64_t b = 1; b <= 4; b += 3) {
    for (int64_t t : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 17, 29, 39, 40}) {
      const Bindings sizes = {{std::get<VarRef>(open.b->kind).var, b},
                              {std::get<VarRef>(open.t->kind).var, t}};
      const LoopFunction one = lowered(make({Expr(b), Expr(t)}), "");
      ASSERT_EQ(run_at(all, sizes), run_at(one, {})) << "B " << b << ", T " << t << "\n"
                                                     << print(all);
    }
  }
}

// y[b, t, n] = max(0, sum over k of x[b, t, k] * w[k, n])
Dag product(const Extents& e) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {e.b, e.t, 5});
  Tensor w = b.placeholder("w", DType::kF32, {5, 16});
  Tensor s = b.reduce(
      "s", {e.b, e.t, 16}, {5}, sum_of(DType::kF32),
      [&](const Indices& i, const Indices& r) { return x(i[0], i[1], r[0]) * w(r[0], i[2]); });
  Tensor y = b.compute("y", {e.b, e.t, 16},
                       [&](const Indices& i) { return max(s(i), constant(DType::kF32, 0)); });
  return b.finish("f", {x, w}, {y});
}

// y[b, t] = x[b, t] - the sum of the line of x
Dag lines(const Extents& e) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {e.b, e.t});
  Tensor s = b.reduce("s", {e.b, 1}, {e.t}, sum_of(DType::kF32),
                      [&](const Indices& i, const Indices& r) { return x(i[0], r[0]); });
  Tensor y =
      b.compute("y", {e.b, e.t}, [&](const Indices& i) { return x(i[0], i[1]) - s(i[0], 0); });
  return b.finish("f", {x}, {y});
}

TEST(OpenSizes, RunInTheGenericSchedule) {
  expect_same(product, "");
  expect_same(lines, "");
}

TEST(OpenSizes, TilesOfRowsHaveARest) {
  expect_same(product,
              "split(y, i1, 6); reorder(y, i0, i1.o, i1.i, i2); compute_at(s, y, i1.o); "
              "reorder(s, i0, r0, i1, i2); unroll(y, i1.i); unroll(s, i1); vectorize(s, i2); "
              "vectorize(y, i2)");
}

TEST(OpenSizes, ParallelLoopsHaveARestInside) {
  expect_same(
      product,
      "split(y, i1, 6); fuse(y, i0, i1.o); parallel(y, i0.i1.o); "
      "compute_at(s, y, i0.i1.o); reorder(s, i0, r0, i1, i2); unroll(s, i1); vectorize(s, i2)");
}

// Tiles of columns, of which the last has fewer, are no parts of rows whose number is open.
TEST(OpenSizes, NoTileOfColumnsIsMoved) {
  const char* steps =
      "split(y, i2, 6); reorder(y, i2.o, i0, i1, i2.i); fuse(y, i2.o, i0); "
      "parallel(y, i2.o.i0); compute_at(s, y, i1)";
  expect_same(product, steps);
  const std::string text = print(lowered(product(open_extents()), steps));
  EXPECT_EQ(text.find("min("), std::string::npos) << text;
}

TEST(OpenSizes, PanelsAreDividedFurther) {
  expect_same(product,
              "split(y, i1, 16); split(y, i1.i, 4); parallel(y, i0); compute_at(s, y, i1.i.o); "
              "reorder(s, i0, r0, i1, i2); unroll(s, i1); vectorize(s, i2)");
  expect_same(product, "split(y, i1, 16); compute_at(s, y, i1.o); split(s, i1, 4)");
}

TEST(OpenSizes, VectorsRunAlongLines) {
  expect_same(lines, "split(y, i1, 8); vectorize(y, i1.i)");
  expect_same(lines,
              "split(s, r0, 8); rfactor(s, r0.i); reorder(s.partial, i0, i1, r0.o, r0.i); "
              "vectorize(s.partial, r0.i)");
  expect_same(lines, "fuse(y, i0, i1); split(y, i0.i1, 8); vectorize(y, i0.i1.i)");
}

TEST(OpenSizes, ATileIsAsWideAsItsRows) {
  const Extents open = open_extents();
  const LoopFunction loops = lowered(
      product(open), "split(y, i1, 6); reorder(y, i0, i1.o, i1.i, i2); compute_at(s, y, i1.o)");
  const std::string text = print(loops);
  EXPECT_NE(text.find("stack s: f32[1, 6, 16]"), std::string::npos) << text;
  EXPECT_NE(text.find("stack s'1: f32[1, 5, 16]"), std::string::npos) << text;
  EXPECT_NE(text.find("stack s'2: f32[1, 4, 16]"), std::string::npos) << text;
}

// z[b, t, n] = 2 * e[b, t, n], y = z + 1, of x[b, t, n] = e
Dag stages_of_rows(const Extents& e) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {e.b, e.t, 5});
  Tensor z = b.compute("z", {e.b, e.t, 5}, [&](const Indices& i) { return x(i) + x(i); });
  Tensor y = b.compute("y", {e.b, e.t, 5},
                       [&](const Indices& i) { return z(i) + constant(DType::kF32, 1); });
  return b.finish("f", {x}, {y});
}

// Blocks of rows with tiles inside: the rest of the blocks has as many rows as are left.
TEST(OpenSizes, ARestOfBlocksHasNoMoreRowsThanAreLeft) {
  const std::string steps =
      "split(y, i1, 12); split(y, i1.i, 4); reorder(y, i0, i1.o, i1.i.o, i1.i.i, i2); "
      "unroll(y, i1.i.i); compute_at(z, y, i1.o)";
  expect_same(stages_of_rows, steps);
  const std::string text = print(lowered(stages_of_rows(open_extents()), steps));
  EXPECT_NE(text.find("z: f32[1, 12, 5]"), std::string::npos) << text;
  EXPECT_NE(text.find("z'1: f32[1, floor_mod(T, 12), 5]"), std::string::npos) << text;
}

// y[b, t] = z[b, t / 4, t % 4] of z = x + x in rows of 4, the last of which goes beyond x
Dag tiles_of_four(const Extents& e) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {e.b, e.t});
  Tensor z = b.compute("z", {e.b, floor_div(e.t + 3, 4), 4}, [&](const Indices& i) {
    const Expr at = min(i[1] * 4 + i[2], e.t - 1);
    return x(i[0], at) + x(i[0], at);
  });
  Tensor y = b.compute("y", {e.b, e.t}, [&](const Indices& i) {
    return z(i[0], floor_div(i[1], 4), floor_mod(i[1], 4)) + constant(DType::kF32, 1);
  });
  return b.finish("f", {x}, {y});
}

// Batches of three tiles: no batch computes the tiles of all others, nor one more.
TEST(OpenSizes, BatchesHaveTheTilesThatTheyRead) {
  const std::string steps =
      "split(y, i1, 12); split(y, i1.i, 4); fuse(y, i0, i1.o); parallel(y, i0.i1.o); "
      "compute_at(z, y, i0.i1.o)";
  expect_same(tiles_of_four, steps);
  const std::string text = print(lowered(tiles_of_four(open_extents()), steps));
  EXPECT_NE(text.find("z: f32[1, 3, 4]"), std::string::npos) << text;
  EXPECT_EQ(text.find("f32[1, floor_div(T + 3, 4), 4]"), std::string::npos) << text;
}

// padded[t] = t < T ? x[t] : 0 in panels of 4
Dag panels(const Extents& e) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {e.b, e.t});
  Tensor y = b.compute("y", {e.b, floor_div(e.t + 3, 4), 4}, [&](const Indices& i) {
    const Expr at = i[1] * 4 + i[2];
    return select(at < e.t, x(i[0], at), constant(DType::kF32, 0));
  });
  return b.finish("f", {x}, {y});
}

TEST(OpenSizes, OnlyTheLastPanelHasAnEnd) {
  expect_same(panels, "vectorize(y, i2)");
  const std::string text = print(lowered(panels(open_extents()), "vectorize(y, i2)"));
  const size_t whole = text.find("in 0..floor_div(T, 4)"), end = text.find("select(");
  ASSERT_NE(whole, std::string::npos) << text;
  ASSERT_NE(end, std::string::npos) << text;
  EXPECT_LT(text.find("1 <= floor_mod(T, 4)"), end) << text;
  EXPECT_EQ(text.find("select(", end + 1), std::string::npos) << text;
}

// No run has a rest of 8 or fewer columns of 16, so there is no code for them.
Dag whole_lanes(const Extents& e) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {e.b, e.t});
  Tensor y = b.compute("y", {e.b, floor_div(e.t + 15, 16) * 16},
                       [&](const Indices& i) { return x(i[0], floor_mod(i[1], e.t)); });
  return b.finish("f", {x}, {y});
}

TEST(OpenSizes, BlocksThatNoRunHasAreLeftOut) {
  const std::string steps = "split(y, i1, 64); unroll(y, i1.i)";
  const std::string text = print(lowered(whole_lanes(open_extents()), steps));
  EXPECT_EQ(text.find("if false"), std::string::npos) << text;
  EXPECT_EQ(text.find("in 0..8"), std::string::npos) << text;
  EXPECT_NE(text.find("in 0..16"), std::string::npos) << text;
}

// A size of at most 5 is one vector, some of whose lanes have a condition.
TEST(OpenSizes, LanesBeyondASmallSizeStoreNothing) {
  auto dag_of = [](const Expr& t) {
    Builder b;
    Tensor x = b.placeholder("x", DType::kF32, {t, t});
    Tensor y = b.compute("y", {t, t}, [&](const Indices& i) { return x(i[0], i[1]) + x(i); });
    return b.finish("f", {x}, {y});
  };
  const Var size = Var::size("B", 1, 5);
  const LoopFunction all = lowered(dag_of(size), "split(y, i1, 8); vectorize(y, i1.i)");
  for (int64_t t = 1; t <= 5; ++t)
    EXPECT_EQ(run_at(all, {{size, t}}), run_at(lowered(dag_of(t), ""), {})) << print(all);
  EXPECT_NE(print(all).find("< rest"), std::string::npos) << print(all);
}

// Rows that are written out are one tile of 5, not tiles of 4 and 1 that read w twice; the last 16
// are two tiles of 8, not of 13 and 3.
TEST(OpenSizes, FewRowsAreOneTile) {
  const std::string steps =
      "split(y, i1, 13); reorder(y, i0, i1.o, i1.i, i2); compute_at(s, y, i1.o); "
      "reorder(s, i0, r0, i1, i2); unroll(y, i1.i); unroll(s, i1); vectorize(s, i2)";
  expect_same(product, steps);
  const std::string text = print(lowered(product(open_extents()), steps));
  for (int rows = 1; rows <= 13; ++rows)
    EXPECT_NE(text.find(cat(": f32[1, ", rows, ", 16]\n")), std::string::npos) << rows << text;
  EXPECT_NE(text.find("for part in 0..("), std::string::npos) << text;
}

Expr simplified(const Expr& x) { return simplify(x); }

TEST(OpenSizes, FactorsHaveOneOrder) {
  const Var b = Var::size("B", 1, 4), t = Var::size("T", 1, 40), i("i"), k("k");
  EXPECT_TRUE(structural_equal(simplified(Expr(t) * b), simplified(Expr(b) * t)));
  const Expr split = floor_div(i, Expr(t)) * Expr(t) * 8 + floor_mod(i, Expr(t)) * 8 + k;
  EXPECT_TRUE(structural_equal(simplified(split), simplified(Expr(i) * 8 + k)))
      << print(simplified(split));
  EXPECT_EQ(print(simplified((Expr(i) + k) * t)), print(simplified(Expr(i) * t + Expr(k) * t)));
}

TEST(OpenSizes, BoundsAreThoseOfTheSize) {
  const Var t = Var::size("T", 2, 40);
  EXPECT_EQ(bounds_of(Expr(t) * 3 - 1), (Interval{5, 119}));
  EXPECT_EQ(as_int(simplified(Expr(t) < 41)), 1);
  EXPECT_EQ(Var::size("T", 2, 40), t);
  EXPECT_FALSE(Var::size("T", 2, 41) == t);
}

TEST(OpenSizes, DimsBecomeExpressions) {
  const Dim b = Dim::symbol("B", 1, 4), t = Dim::symbol("T", 1, 40);
  Result<Dim> product = dim_product(b, t);
  ASSERT_TRUE(product.ok());
  const Exprs extents = extents_of({DType::kF32, {*product, 64, t}});
  const Bindings sizes = {{Var::size("B", 1, 4), 3}, {Var::size("T", 1, 40), 7}};
  EXPECT_EQ(*evaluate(extents[0], sizes), 21);
  EXPECT_EQ(as_int(extents[1]), 64);
  EXPECT_EQ(*evaluate(extents[2], sizes), 7);
  EXPECT_EQ(sizes_of(extents), (std::vector<Var>{sizes[0].first, sizes[1].first}));
}

}  // namespace
}  // namespace byoc::te
