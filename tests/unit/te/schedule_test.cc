// SPDX-License-Identifier: Apache-2.0
// The effect of each primitive, and the messages of its refusals.
#include "dags.h"
#include "run.h"
#include "text.h"

namespace byoc::te {
namespace {

std::string loops_text(const Schedule& s) { return print(*lower(s)); }
TEST(Split, NamesTheLoopsOuterAndInner) {
  Schedule s(chain(12));
  ASSERT_TRUE(s.split("t", "i0", 4).ok());
  ASSERT_TRUE(s.split("t", "i0.i", 2).ok());
  EXPECT_EQ(s.loops("t"), (std::vector<std::string>{"i0.o", "i0.i.o", "i0.i.i"}));
}

// The inner loop is outside of the outer one, so the remainder cannot be split off.
TEST(Split, GuardsTheRestWhenTheInnerLoopStandsOutside) {
  Schedule s(chain(10));
  ASSERT_TRUE(s.split("t", "i0", 4).ok());
  ASSERT_TRUE(s.reorder("t", {"i0.i", "i0.o"}).ok());
  ASSERT_TRUE(s.vectorize("t", "i0.o").ok());
  EXPECT_TRUE(has(loops_text(s),
                  "  for i0.i in 0..4 {\n"
                  "    for i0.o in 0..3 {\n"  // not vectorized: it has a condition
                  "      if (((i0.o * 4) + i0.i) < 10) {\n"))
      << loops_text(s);
}

TEST(ComputeAt, ComputesTheRowsThatATileReads) {
  Schedule s(conv_relu(2, 8, 6, 3));
  ASSERT_TRUE(s.split("relu", "i1", 4).ok());
  ASSERT_TRUE(s.compute_at("conv", "relu", "i1.o").ok());
  ASSERT_TRUE(s.compute_at("pad", "relu", "i1.o").ok());
  const std::string text = loops_text(s);
  EXPECT_TRUE(has(text, "stack pad: f32[2, 6, 8]")) << text;  // 4 rows and one at each end
  EXPECT_TRUE(has(text, "stack conv: f32[1, 4, 6]")) << text;
}

// At the ends of the tensor the window is shifted to be inside; its size does not change.
TEST(ComputeAt, MovesWindowsThatWouldLeaveTheTensor) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {10});
  Tensor y = b.compute("y", {10}, [&](const Indices& i) { return x(i) * f32(2); });
  Tensor z = b.compute("z", {10}, [&](const Indices& i) {
    Expr before = select(i[0] >= 1, y(i[0] - 1), f32(0));
    return before + select(i[0] < 9, y(i[0] + 1), f32(0));
  });
  Schedule s(b.finish("f", {x}, {z}));
  ASSERT_TRUE(s.compute_at("y", "z", "i0").ok());
  EXPECT_TRUE(has(loops_text(s), "stack y: f32[3]")) << loops_text(s);
  EXPECT_TRUE(has(loops_text(s), "max(min((i0 - 1), 7), 0)")) << loops_text(s);
  EXPECT_EQ(run<float>(s, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}),
            (std::vector<float>{2, 4, 8, 12, 16, 20, 24, 28, 32, 16}));
}

TEST(ComputeAt, TakesWorkspaceBeyondFourKibibytes) {
  for (int64_t n : {1024, 1025}) {
    Schedule s(softmax_like(2, n));
    ASSERT_TRUE(s.compute_at("sum", "div", "i0").ok());
    ASSERT_TRUE(s.compute_at("exp", "div", "i0").ok());
    EXPECT_EQ(has(loops_text(s), "stack exp: f32[1, 1024]"), n == 1024) << loops_text(s);
    EXPECT_EQ(has(loops_text(s), "workspace exp: f32[1, 1025]"), n == 1025) << loops_text(s);
  }
}

// There is one pass over the rows: maximum, exponentials, sum and quotient of each row.
TEST(ComputeAt, FusesASoftmaxRowByRow) {
  Schedule s(softmax_like(4, 6));
  for (const char* stage : {"sum", "exp", "max"})
    ASSERT_TRUE(s.compute_at(stage, "div", "i0").ok()) << stage;
  EXPECT_EQ(loops_text(s).find("workspace"), std::string::npos) << loops_text(s);
  const std::vector<float> x = {1, 0, 2, 3, 3, 1, 5, 5, 5, 5, 5, 5,
                                0, 0, 0, 0, 0, 1, 7, 8, 9, 7, 8, 9};
  EXPECT_EQ(run<float>(s, {x}), run<float>(Schedule(softmax_like(4, 6)), {x}));
}

TEST(ComputeInline, LeavesNoTraceOfTheStage) {
  Schedule s(chain(4));
  ASSERT_TRUE(s.compute_inline("a").ok());
  ASSERT_TRUE(s.compute_inline("e").ok());
  EXPECT_EQ(loops_text(s),
            "loops chain(x: f32[4]) -> (t: f32[4]) {\n"
            "  for i0 in 0..4 {\n"
            "    t[i0] = ((-(abs(x[i0])) * 2.0) + x[i0])\n"
            "  }\n}\n");
}

TEST(ComputeInline, PutsValuesIntoProcedures) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {2, 3});
  Tensor flat = b.compute("flat", {6}, [&](const Indices& i) {
    return x(floor_div(i[0], 3), floor_mod(i[0], 3)) + f32(1);
  });
  const std::vector<Tensor> y =
      b.procedure("sums", {{DType::kF32, {Dim(6)}}}, {flat}, [&](const std::vector<Tensor>& y) {
        Stmt first = make_store(y[0], {0}, flat(0));
        Stmt rest =
            loop("k", 5, [&](Expr k) { return make_store(y[0], {k + 1}, y[0](k) + flat(k + 1)); });
        return make_block({first, rest});
      });
  Schedule s(b.finish("f", {x}, y));
  ASSERT_TRUE(s.compute_inline("flat").ok());
  EXPECT_EQ(loops_text(s).find("flat"), std::string::npos) << loops_text(s);
  EXPECT_EQ(run<float>(s, {{0, 1, 2, 3, 4, 5}}), (std::vector<float>{1, 3, 6, 10, 15, 21}));
}

// Each stage reads its predecessor twice, and its indices are shared. As a tree the
// result has 2^1000 nodes.
TEST(ComputeInline, KeepsAThousandDiamondsSmall) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF64, {2});
  Tensor y = x;
  for (int k = 0; k < 1000; ++k) {
    Tensor before = y;
    y = b.compute("y", {2}, [&](const Indices& i) {
      return (before(i[0] + 0) + before(i[0] * 1)) * constant(DType::kF64, 0.5);
    });
  }
  Schedule s(b.finish("f", {x}, {y}));
  for (const Stage& stage : Dag(s.dag()).stages) {
    if (stage.name == "x" || stage.outputs[0] == y) continue;
    ASSERT_TRUE(s.compute_inline(stage.name).ok()) << stage.name;
  }
  EXPECT_EQ(run<double>(s, {{3, -5}}), (std::vector<double>{3, -5}));
}

TEST(Lowering, OfThousandsOfStagesTakesLinearTime) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {2});
  Tensor y = x;
  for (int k = 0; k < 3000; ++k) {
    Tensor before = y;
    y = b.compute("y", {2}, [&](const Indices& i) { return before(i) + f32(1); });
  }
  EXPECT_EQ(run<float>(Schedule(b.finish("f", {x}, {y})), {{0, 1}}),
            (std::vector<float>{3000, 3001}));
}

TEST(CacheRead, CopiesWhatATileReads) {
  Schedule s(matmul_bias_relu(4, 3, 8));
  ASSERT_TRUE(s.cache_read("w", "matmul").ok());
  ASSERT_TRUE(s.split("matmul", "i1", 4).ok());
  ASSERT_TRUE(s.reorder("matmul", {"i1.o", "i0"}).ok());
  ASSERT_TRUE(s.compute_at("w.cache", "matmul", "i1.o").ok());
  EXPECT_TRUE(has(loops_text(s), "stack w.cache: f32[3, 4]")) << loops_text(s);
}

// Computes four partial sums at a time and then adds them, like a vector unit.
TEST(Rfactor, SumsInLanes) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {10});
  Tensor y = b.reduce("y", {}, {10}, sum_of(DType::kF32),
                      [&](const Indices&, const Indices& r) { return x(r[0]); });
  Schedule s(b.finish("f", {x}, {y}));
  ASSERT_TRUE(s.split("y", "r0", 4).ok());
  ASSERT_TRUE(s.rfactor("y", "r0.i").ok());
  ASSERT_TRUE(s.reorder("y.partial", {"r0.o", "r0.i"}).ok());
  ASSERT_TRUE(s.vectorize("y.partial", "r0.i").ok());
  EXPECT_TRUE(has(loops_text(s), "select(((((r0.o * 4) + r0.i'1) < 10)") ||
              has(loops_text(s), "select((((r0.o * 4) + r0.i'1) < 10)"))
      << loops_text(s);
  EXPECT_EQ(run<float>(s, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}), std::vector<float>{55});
}

TEST(TraceText, PrintsAndParsesBack) {
  Schedule s(matmul_bias_relu(4, 3, 8));
  ASSERT_TRUE(s.split("relu", "i1", 8).ok());
  ASSERT_TRUE(s.vectorize("relu", "i1.i").ok());
  EXPECT_EQ(print(s.trace()), "split(relu, i1, 8); vectorize(relu, i1.i)");
  EXPECT_EQ(*parse_trace(print(s.trace())), s.trace());
  EXPECT_EQ(parse_trace("")->steps.size(), 0u);
  Trace odd{{{"split", "a \"b\"\\", {"1"}, {-4}}}};
  EXPECT_EQ(print(odd), "split(\"a \\\"b\\\"\\\\\", \"1\", -4)");
  EXPECT_EQ(*parse_trace(print(odd)), odd);
}

TEST(TraceText, IsRefusedWithThePlace) {
  auto error = [](const char* text) { return parse_trace(text).status().message(); };
  EXPECT_EQ(error("split(a, i0, 4) split(b, i0, 4)"),
            "trace: expected ; between steps at letter 16, before \"split(b, i0, 4)\"");
  EXPECT_EQ(error("split a"), "trace: expected ( after split at letter 6, before \"a\"");
  EXPECT_EQ(error("split(a, 4, i0)"), "trace: a name after a number at letter 12, before \"i0)\"");
  EXPECT_EQ(error("split(a, i0"), "trace: expected , or ) at letter 11, before \"\"");
  EXPECT_EQ(error("split(\"a"), "trace: a name without closing quote at letter 8, before \"\"");
  EXPECT_EQ(error("(a)"), "trace: expected a name at letter 0, before \"(a)\"");
  EXPECT_EQ(error("split(a, 99999999999999999999)"),
            "trace: expected a number of 64 bits at letter 9, before \"99999999999999999999\"");
}

TEST(Replay, NamesTheStepThatFails) {
  auto error = [](const char* text) {
    Status status = replay(chain(8), *parse_trace(text)).status();
    return cat(status.where(), ": ", status.message());
  };
  EXPECT_EQ(error("split(t, i0, 4); splat(t, i0.o, 2)"),
            "step 2 of the trace: there is no primitive splat; did you mean \"split\"?");
  EXPECT_EQ(error("split(t, i0)"),
            "step 1 of the trace: split of 1 names and 0 numbers after the stage");
  EXPECT_EQ(error("split(t, i1, 4)"),
            "step 1 of the trace: split(t, i1, 4): t has no loop i1; it has i0");
}

// Returns relu(-x) with the compute `compute`, as if a selector chose it.
Dag chosen(const char* compute) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {4});
  b.begin_op("negate", compute, 1);
  Tensor y = b.compute("y", {4}, [&](const Indices& i) { return -x(i); });
  return b.finish("chosen", {x}, {y});
}

TEST(ForCompute, KeepsATraceFromADagOfAnotherChoice) {
  Schedule s(chosen("winograd"));
  ASSERT_TRUE(s.for_compute("y", "winograd").ok());
  ASSERT_TRUE(s.split("y", "i0", 2).ok());
  EXPECT_EQ(print(s.trace()), "for_compute(y, winograd); split(y, i0, 2)");
  EXPECT_TRUE(replay(chosen("winograd"), *parse_trace(print(s.trace()))).ok());
  Status other = replay(chosen("direct"), s.trace()).status();
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(
      cat(other.where(), ": ", other.message()),
      "step 1 of the trace: for_compute(y, winograd): the compute chosen for negate is direct");
  EXPECT_EQ(Schedule(chosen("direct")).for_compute("x", "direct").message(),
            "for_compute(x, direct): x is an input and has no loops");
  EXPECT_EQ(Schedule(chain(4)).for_compute("t", "direct").message(),
            "for_compute(t, direct): t has been chosen by no selector");
}

TEST(ScheduleBy, AsksOneAfterTheOther) {
  int calls = 0;
  ScheduleProvider nothing = [&](const Dag&) -> std::optional<Result<Schedule>> {
    ++calls;
    return std::nullopt;
  };
  ScheduleProvider generic = [](const Dag& dag) { return Result<Schedule>(Schedule(dag)); };
  ScheduleProvider wrong = [](const Dag&) { return Result<Schedule>(failed("broken history")); };
  const ScheduleProvider found[] = {nothing, generic, wrong}, broken[] = {wrong, generic};
  EXPECT_TRUE(schedule_by(found, chain(4)).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(schedule_by(broken, chain(4)).status().message(), "broken history");
  Result<Schedule> none = schedule_by(std::span(found, 1), chain(4));
  EXPECT_EQ(none.status().code(), Code::kNotFound);
  EXPECT_EQ(none.status().message(), "none of 1 schedule providers has a schedule for chain");
}

// Checks the message of every refusal, and that the schedule is unchanged.
class Refusals : public testing::Test {
 protected:
  Schedule s{matmul_bias_relu(4, 6, 8)};
  void refuses(const Status& status, const std::string& message) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
  void TearDown() override {
    Result<Schedule> again = replay(matmul_bias_relu(4, 6, 8), s.trace());
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(loops_text(*again), loops_text(s));
  }
};

TEST_F(Refusals, OfStagesAndLoopsThatAreNotThere) {
  refuses(s.split("relo", "i0", 2),
          "split(relo, i0, 2): there is no stage relo; did you mean \"relu\"?");
  refuses(s.split("x", "i0", 2), "split(x, i0, 2): x is an input and has no loops");
  refuses(s.unroll("relu", "i7"), "unroll(relu, i7): relu has no loop i7; it has i0, i1");
  ASSERT_TRUE(s.compute_inline("add").ok());
  refuses(s.split("add", "i0", 2), "split(add, i0, 2): add is inlined and has no loops");
}

TEST_F(Refusals, OfSplit) {
  refuses(s.split("relu", "i0", 0), "split(relu, i0, 0): the factor must be at least 1");
  ASSERT_TRUE(s.unroll("relu", "i0").ok());
  refuses(s.split("relu", "i0", 2), "split(relu, i0, 2): i0 is unrolled already");
  ASSERT_TRUE(s.compute_at("add", "relu", "i1").ok());
  refuses(s.split("relu", "i1", 2), "split(relu, i1, 2): add is computed at i1");
}

TEST_F(Refusals, OfFuse) {
  refuses(s.fuse("relu", "i1", "i0"), "fuse(relu, i1, i0): i0 is not the loop right inside i1");
  refuses(s.fuse("matmul", "i1", "r0"),
          "fuse(matmul, i1, r0): one of them is a loop of the reduction and one is not");
}

TEST_F(Refusals, OfReorder) {
  refuses(s.reorder("relu", {"i0", "i0"}), "reorder(relu, i0, i0): i0 is named twice");
  ASSERT_TRUE(s.compute_at("add", "relu", "i1").ok());
  ASSERT_TRUE(s.compute_at("matmul", "relu", "i0").ok());
  refuses(
      s.reorder("relu", {"i1", "i0"}),
      "reorder(relu, i1, i0): two loops at which other stages are computed would change places");
  ASSERT_TRUE(s.vectorize("add", "i1").ok());
  refuses(s.reorder("add", {"i1", "i0"}),
          "reorder(add, i1, i0): i1 is vectorized and must stay the innermost loop");
}

TEST_F(Refusals, OfTile) {
  refuses(s.tile("relu", "i0", "i0", 2, 2), "tile(relu, i0, i0, 2, 2): i0 is named twice");
  refuses(s.tile("relu", "i0", "i1", 2, 0),
          "tile(relu, i0, i1, 2, 0): the factors must be at least 1");
}

TEST_F(Refusals, OfVectorizeAndUnroll) {
  refuses(s.vectorize("relu", "i0"), "vectorize(relu, i0): i0 is not the innermost loop");
  refuses(s.vectorize("matmul", "r0"),
          "vectorize(matmul, r0): r0 is a loop of the reduction; rfactor gives partial results");
  ASSERT_TRUE(s.vectorize("relu", "i1").ok());
  refuses(s.unroll("relu", "i1"), "unroll(relu, i1): i1 is vectorized already");
  refuses(s.compute_at("add", "relu", "i1"), "compute_at(add, relu, i1): i1 is vectorized");
  Builder b;
  Var n("n");
  Tensor x = b.placeholder("x", DType::kF32, {n});
  Tensor y = b.compute("y", {n}, [&](const Indices& i) { return x(i); });
  Schedule symbolic(b.finish("f", {x}, {y}));
  refuses(symbolic.vectorize("y", "i0"), "vectorize(y, i0): i0 has no constant extent");
  refuses(symbolic.unroll("y", "i0"), "unroll(y, i0): i0 has no constant extent");
}

TEST_F(Refusals, OfParallel) {
  refuses(s.parallel("matmul", "r0"), "parallel(matmul, r0): r0 is a loop of the reduction");
  ASSERT_TRUE(s.compute_at("add", "relu", "i0").ok());
  ASSERT_TRUE(s.parallel("relu", "i0").ok());
  refuses(s.parallel("relu", "i1"),
          "parallel(relu, i1): it would be inside or around the parallel loop i0 of relu");
  refuses(s.parallel("add", "i1"),
          "parallel(add, i1): it would be inside or around the parallel loop i0 of relu");
  ASSERT_TRUE(s.parallel("matmul", "i0").ok());
  refuses(s.compute_at("matmul", "relu", "i0"),
          "compute_at(matmul, relu, i0): the parallel loop i0 of matmul would be inside i0 of "
          "relu");
}

TEST_F(Refusals, OfComputeAt) {
  refuses(s.compute_at("relu", "add", "i0"),
          "compute_at(relu, add, i0): relu is a result and must be computed as a whole");
  refuses(s.compute_at("matmul", "relu", "i0"),
          "compute_at(matmul, relu, i0): add reads matmul too, and is not computed inside i0 of "
          "relu");
  ASSERT_TRUE(s.compute_at("add", "relu", "i1").ok());
  refuses(s.compute_at("add", "relu", "i0"),
          "compute_at(add, relu, i0): add is computed at a loop of relu already");
  refuses(s.compute_inline("add"),
          "compute_inline(add): add is computed at a loop of relu already");
}

TEST_F(Refusals, OfComputeInline) {
  refuses(s.compute_inline("matmul"), "compute_inline(matmul): matmul is a reduction");
  refuses(s.compute_inline("relu"),
          "compute_inline(relu): relu is a result and must be computed as a whole");
  ASSERT_TRUE(s.compute_at("matmul", "add", "i0").ok());
  refuses(s.compute_inline("add"), "compute_inline(add): matmul is computed at its loops");
}

TEST_F(Refusals, OfCaches) {
  refuses(s.cache_read("w", "add"), "cache_read(w, add): add does not read w");
  ASSERT_TRUE(s.compute_at("matmul", "add", "i0").ok());
  refuses(s.cache_read("matmul", "add"),
          "cache_read(matmul, add): matmul is computed at a loop of add already");
  refuses(s.cache_write("add"),
          "cache_write(add): add has been scheduled already; cache_write comes first");
  ASSERT_TRUE(s.compute_inline("matmul").ok() == false);
}

TEST_F(Refusals, OfCachesOfInlinedStages) {
  ASSERT_TRUE(s.compute_inline("add").ok());
  refuses(s.cache_read("add", "relu"),
          "cache_read(add, relu): add is inlined and has no memory to copy");
  ASSERT_TRUE(s.compute_at("matmul", "relu", "i0").ok());
  refuses(s.cache_write("relu"),
          "cache_write(relu): relu has been scheduled already; cache_write comes first");
}

TEST_F(Refusals, OfRfactor) {
  refuses(s.rfactor("matmul", "i0"), "rfactor(matmul, i0): i0 is not a loop of the reduction");
  ASSERT_TRUE(s.compute_at("matmul", "add", "i0").ok());
  refuses(s.rfactor("matmul", "r0"),
          "rfactor(matmul, r0): matmul is computed elsewhere, or others are computed at its loops");
}

TEST(RefusalsOfProcedures, NameThem) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {2});
  Tensor y = b.compute("y", {2}, [&](const Indices& i) { return x(Expr(1) - i[0]); });
  Tensor z = b.procedure("z", {{DType::kF32, {2}}}, {y}, [&](const std::vector<Tensor>& out) {
    return loop("i", 2, [&](Expr i) { return make_store(out[0], {i}, y(i)); });
  })[0];
  Schedule s(b.finish("f", {x}, {z}));
  EXPECT_EQ(s.split("z", "i", 2).message(),
            "split(z, i, 2): z is a procedure, whose loops are as they are written");
}

}  // namespace
}  // namespace byoc::te
