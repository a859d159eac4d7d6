// SPDX-License-Identifier: Apache-2.0
// Buffers of which each iteration of a loop computes what is new.
#include <random>

#include "dags.h"
#include "run.h"
#include "text.h"

namespace byoc::te {
namespace {

/// Windows over the rows of an image: y[c, i, j] is the sum over k < rows of
/// double[c, i * stride + k * dilation - pad, j], or of zero outside of the image.
struct Windows {
  int64_t c = 2, h = 9, w = 3;
  int64_t rows = 3, stride = 1, dilation = 1, pad = 0;
  bool is_upside_down = false;  // the last windows first
  bool is_read_twice = false;   // y also adds double[c, min(i * stride, h - 1), j]
  int64_t results() const { return (h + 2 * pad - (rows - 1) * dilation - 1) / stride + 1; }
};

// Returns the stages double [c, h, w], sums [c, results, w] and y, the negated sums.
Dag dag_of(const Windows& of) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {of.c, of.h, of.w});
  Tensor twice = b.compute("double", {of.c, of.h, of.w},
                           [&](const Indices& i) { return x(i) * f32(2) + f32(1); });
  Tensor sums =
      b.reduce("sums", {of.c, of.results(), of.w}, {of.rows}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) {
                 const Expr window = of.is_upside_down ? (of.results() - 1) - i[1] : i[1];
                 const Expr row = window * of.stride + r[0] * of.dilation - of.pad;
                 const Expr value = twice(i[0], row, i[2]);
                 return of.pad == 0 ? value : select(row >= 0 && row < of.h, value, f32(0));
               });
  Tensor y = b.compute("y", {of.c, of.results(), of.w}, [&](const Indices& i) {
    const Expr row = min(i[1] * of.stride, of.h - 1);
    return of.is_read_twice ? twice(i[0], row, i[2]) - sums(i) : -sums(i);
  });
  return b.finish("windows", {x}, {y});
}

std::vector<float> input_of(const Windows& of) {
  std::vector<float> out;
  for (int64_t k = 0; k < of.c * of.h * of.w; ++k) out.push_back(static_cast<float>(k % 11 - 5));
  return out;
}

// Returns the results by their definition.
std::vector<float> definition(const Windows& of, const std::vector<float>& x) {
  std::vector<float> out;
  for (int64_t c = 0; c < of.c; ++c) {
    for (int64_t i = 0; i < of.results(); ++i) {
      for (int64_t j = 0; j < of.w; ++j) {
        auto twice = [&](int64_t row) {
          return x[static_cast<size_t>((c * of.h + row) * of.w + j)] * 2 + 1;
        };
        float sum = 0;
        for (int64_t k = 0; k < of.rows; ++k) {
          const int64_t window = of.is_upside_down ? of.results() - 1 - i : i;
          const int64_t row = window * of.stride + k * of.dilation - of.pad;
          if (row < 0 || row >= of.h) continue;
          sum += twice(row);
        }
        out.push_back((of.is_read_twice ? twice(std::min(i * of.stride, of.h - 1)) : 0) - sum);
      }
    }
  }
  return out;
}

// Puts the image and the sums at the loop over the rows of y, which is the outermost one.
Schedule by_rows(const Windows& of) {
  Schedule out(dag_of(of));
  EXPECT_TRUE(out.reorder("y", {"i1", "i0"}).ok());
  EXPECT_TRUE(out.compute_at("sums", "y", "i1").ok());
  EXPECT_TRUE(out.compute_at("double", "y", "i1").ok());
  return out;
}

TEST(RollingBuffer, ComputesEachRowOnce) {
  const Windows of{1, 6, 2};
  Schedule s = by_rows(of);
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  const std::string text = print(*lower(s));
  EXPECT_TRUE(has(text,
                  "  stack double: f32[1, 3, 2]\n"
                  "  for i1 in 0..4 {\n"))
      << text;
  EXPECT_TRUE(has(text, "in 0..select((i1 == 0), 3, 1) {\n")) << text;
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

TEST(RollingBuffer, KeepsWhatTwoReadersRead) {
  Windows of{2, 9, 3, 3, 2};
  of.is_read_twice = true;
  Schedule s = by_rows(of);
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  EXPECT_TRUE(has(print(*lower(s)), "select((i1 == 0)")) << print(*lower(s));
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

TEST(RollingBuffer, SkipsRowsThatNoWindowReads) {
  const Windows of{2, 14, 2, 2, 5};
  Schedule s = by_rows(of);
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

// The loop over channels is inside of that over rows: the buffer has the rows of all channels.
TEST(RollingBuffer, KeepsWhatLoopsInsideCompute) {
  const Windows of{4, 9, 3, 3, 2, 1, 1};
  Schedule s(dag_of(of));
  ASSERT_TRUE(s.reorder("y", {"i1", "i0"}).ok());
  ASSERT_TRUE(s.compute_at("sums", "y", "i0").ok());
  ASSERT_TRUE(s.compute_at("double", "y", "i0").ok());
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  const std::string text = print(*lower(s));
  EXPECT_TRUE(has(text, "stack double: f32[4, 3, 3]\n  for i1 in 0..5 {\n")) << text;
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

// Inside the nest of a stage that is itself computed at the loop.
TEST(RollingBuffer, ReachesALoopOfAnotherStage) {
  const Windows of{4, 9, 3, 3, 2, 1, 1};
  Schedule s(dag_of(of));
  ASSERT_TRUE(s.reorder("y", {"i1", "i0"}).ok());
  ASSERT_TRUE(s.compute_at("sums", "y", "i1").ok());
  ASSERT_TRUE(s.compute_at("double", "sums", "i0").ok());
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  const std::string text = print(*lower(s));
  EXPECT_TRUE(has(text, "stack double: f32[4, 3, 3]\n  for i1 in 0..5 {\n")) << text;
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

// Each part of the rows begins anew.
TEST(RollingBuffer, BeginsAnewInEachPart) {
  const Windows of{2, 10, 3};
  Schedule s(dag_of(of));
  ASSERT_TRUE(s.split("y", "i1", 4).ok());
  ASSERT_TRUE(s.reorder("y", {"i1.o", "i1.i", "i0"}).ok());
  ASSERT_TRUE(s.parallel("y", "i1.o").ok());
  ASSERT_TRUE(s.compute_at("sums", "y", "i1.i").ok());
  ASSERT_TRUE(s.compute_at("double", "y", "i1.i").ok());
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1.i").ok());
  EXPECT_TRUE(has(print(*lower(s)), "select((i1.i == 0), 3, 1)")) << print(*lower(s));
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

// Returns true when the buffer has an effect.
bool rolls(const Schedule& s) { return has(print(*lower(s)), "select((i1"); }

TEST(RollingBuffer, HasNoEffectWhereRowsGoBackwards) {
  Windows of;
  of.is_upside_down = true;
  Schedule s = by_rows(of);
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  EXPECT_FALSE(rolls(s)) << print(*lower(s));
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

TEST(RollingBuffer, HasNoEffectOnAParallelLoop) {
  const Windows of;
  Schedule s = by_rows(of);
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  EXPECT_TRUE(rolls(s));
  ASSERT_TRUE(s.parallel("y", "i1").ok());
  EXPECT_FALSE(rolls(s)) << print(*lower(s));
}

// Rows of the last part are computed under a condition, so that no iteration can count on others.
TEST(RollingBuffer, HasNoEffectUnderAConditionInsideTheLoop) {
  const Windows of{2, 9, 5};
  Schedule s(dag_of(of));
  ASSERT_TRUE(s.split("y", "i2", 2).ok());
  ASSERT_TRUE(s.reorder("y", {"i2.i", "i1", "i2.o", "i0"}).ok());
  ASSERT_TRUE(s.compute_at("sums", "y", "i0").ok());
  ASSERT_TRUE(s.compute_at("double", "y", "i0").ok());
  ASSERT_TRUE(s.rolling_buffer("double", "y", "i1").ok());
  EXPECT_TRUE(has(print(*lower(s)), "if (")) << print(*lower(s));
  EXPECT_FALSE(rolls(s)) << print(*lower(s));
  EXPECT_EQ(run<float>(s, {input_of(of)}), definition(of, input_of(of)));
}

TEST(RollingBuffer, IsRefusedWithAReason) {
  Schedule s(dag_of({}));
  auto refuses = [&](const std::string& stage, const std::string& host, const std::string& loop,
                     const std::string& why) {
    const std::string before = print(s.trace());
    const Status status = s.rolling_buffer(stage, host, loop);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), cat("rolling_buffer(", stage, ", ", host, ", ", loop, "): ", why));
    EXPECT_EQ(print(s.trace()), before);
  };
  refuses("double", "y", "i1", "double is not computed inside i1 of y");
  refuses("y", "y", "i1", "y is not computed inside i1 of y");
  ASSERT_TRUE(s.compute_at("sums", "y", "i1").ok());
  ASSERT_TRUE(s.compute_at("double", "y", "i1").ok());
  refuses("double", "sums", "i1", "double is not computed inside i1 of sums");
  ASSERT_TRUE(s.reorder("y", {"i1", "i0"}).ok());
  refuses("double", "y", "i0", "double is not computed inside i0 of y");
  ASSERT_TRUE(s.parallel("y", "i1").ok());
  refuses("double", "y", "i1", "i1 is not serial");
}

// Makes a random schedule of windows, with the image computed somewhere in y's loops or those of
// the sums, and a buffer that rolls along a loop around.
class RandomRolling {
 public:
  explicit RandomRolling(uint32_t seed) : random_(seed) {
    of_.c = 1 + pick(3), of_.h = 5 + pick(9), of_.w = 1 + pick(4);
    of_.rows = 1 + pick(4), of_.stride = 1 + pick(3), of_.dilation = 1 + pick(2);
    of_.pad = pick(3), of_.is_upside_down = pick(8) == 0;
    of_.is_read_twice = pick(3) == 0;
    if ((of_.rows - 1) * of_.dilation >= of_.h) of_.rows = 1;
  }
  const Windows& windows() const { return of_; }
  Schedule make(bool with_buffer) {
    Schedule out(dag_of(of_));
    for (int k = 0; k < 4; ++k) change(out, pick(3) == 0 ? "sums" : "y");
    if (pick(4) > 0) (void)out.compute_at("sums", "y", loop(out, "y"));
    for (int k = 0; k < 2; ++k) change(out, "double");
    const std::string host = pick(2) == 0 ? "sums" : "y";
    if (!out.compute_at("double", host, loop(out, host)).ok())
      (void)out.compute_at("double", "y", loop(out, "y"));
    const std::string along = pick(4) == 0 ? "sums" : "y", at = loop(out, along);
    if (with_buffer) (void)out.rolling_buffer("double", along, at);
    return out;
  }

 private:
  int64_t pick(uint32_t n) { return random_() % n; }
  std::string loop(const Schedule& s, const std::string& stage) {
    const std::vector<std::string> loops = s.loops(stage);
    return loops[static_cast<size_t>(pick(static_cast<uint32_t>(loops.size())))];
  }
  void change(Schedule& s, const std::string& stage) {
    const std::string a = loop(s, stage), b = loop(s, stage);
    switch (pick(5)) {
      case 0:
        return (void)s.split(stage, a, 1 + pick(4));
      case 1:
        return (void)s.fuse(stage, a, b);
      case 2:
        return (void)s.unroll(stage, a);
      case 3:
        return pick(3) == 0 ? (void)s.parallel(stage, a) : (void)0;
      default:
        return (void)s.reorder(stage, {b, a});
    }
  }

  Windows of_;
  std::mt19937 random_;
};

TEST(RollingBuffer, ComputesWhatTheWholePartsCompute) {
  int rolling = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Schedule schedule = RandomRolling(seed).make(true);
    const Windows of = RandomRolling(seed).windows();
    const std::string text = print(*lower(schedule));
    rolling += text != print(*lower(RandomRolling(seed).make(false)));
    ASSERT_EQ(run<float>(schedule, {input_of(of)}), definition(of, input_of(of)))
        << "seed " << seed << ": " << print(schedule.trace()) << "\n"
        << text;
    const Result<Trace> trace = parse_trace(print(schedule.trace()));
    ASSERT_TRUE(trace.ok() && *trace == schedule.trace());
    ASSERT_EQ(print(*lower(*replay(dag_of(of), *trace))), text);
  }
  EXPECT_GT(rolling, 300);
}

}  // namespace
}  // namespace byoc::te
