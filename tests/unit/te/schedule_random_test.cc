// SPDX-License-Identifier: Apache-2.0
// Applies random primitives and compares the results with those of the generic schedule. Inputs are
// small integers, so sums are exact in any order.
#include <random>

#include "intrins.h"
#include "run.h"

namespace byoc::te {
namespace {

class RandomSchedule {
 public:
  RandomSchedule(Dag dag, uint32_t seed) : schedule_(std::move(dag)), random_(seed) {}

  Schedule make(int steps) {
    for (int k = 0; k < steps; ++k) accepted_ += step();
    return schedule_;
  }
  int accepted() const { return accepted_; }
  int tensorized() const { return tensorized_; }
  static const std::vector<TensorIntrin>& intrins() {
    static const std::vector<TensorIntrin> all = {tile_4x8(), tile_of_any(),     dot(),
                                                  clamp(),    next_transposed(), greatest()};
    return all;
  }

 private:
  size_t pick(size_t n) { return random_() % n; }
  std::string stage() {
    const auto& stages = schedule_.dag().stages;
    return stages[pick(stages.size())].name;
  }
  std::string loop(const std::string& stage) {
    std::vector<std::string> loops = schedule_.loops(stage);
    return loops.empty() ? "none" : loops[pick(loops.size())];
  }
  bool tensorize(const std::string& stage, const std::string& loop) {
    const size_t first = pick(intrins().size());
    for (size_t k = 0; k < intrins().size(); ++k) {
      const TensorIntrin& intrin = intrins()[(first + k) % intrins().size()];
      if (schedule_.tensorize(stage, loop, intrin).ok()) return ++tensorized_ > 0;
    }
    return false;
  }
  bool step() {
    const std::string s = stage(), a = loop(s), b = loop(s), c = stage();
    const auto factor = static_cast<int64_t>(1 + pick(5));
    switch (pick(19)) {
      case 0:
      case 1:
      case 2:
        return schedule_.split(s, a, factor).ok();
      case 3:
        return schedule_.fuse(s, a, b).ok();
      case 4:
        return schedule_.reorder(s, {b, a}).ok();
      case 5:
        return schedule_.tile(s, a, b, factor, 2).ok();
      case 6:
        return schedule_.vectorize(s, a).ok();
      case 7:
        return schedule_.unroll(s, a).ok();
      case 8:
        return schedule_.parallel(s, a).ok();
      case 9:
        return schedule_.compute_inline(s).ok();
      case 10:
        return schedule_.cache_read(s, c).ok();
      case 11:
        return schedule_.cache_write(s).ok();
      case 12:
        return schedule_.rfactor(s, a).ok();
      case 13:
      case 14:
      case 15:
        return tensorize(s, a);
      default:
        return schedule_.compute_at(s, c, loop(c)).ok();
    }
  }
  Schedule schedule_;
  std::mt19937 random_;
  int accepted_ = 0, tensorized_ = 0;
};

std::vector<std::vector<std::byte>> inputs_of(const Dag& dag, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::byte>> out;
  for (const Tensor& input : dag.inputs) {
    std::vector<float> values(static_cast<size_t>(elements(input)));
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
    out.push_back(bytes_of(values));
  }
  return out;
}

struct Case {
  const char* name;
  Dag (*make)();
  int tensorized;  // minimum number of times
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ScheduleRandom : public testing::TestWithParam<Case> {};

TEST_P(ScheduleRandom, ComputesWhatTheGenericScheduleComputes) {
  const Dag dag = GetParam().make();
  const auto inputs = inputs_of(dag, 7);
  const auto expected = run_bytes(Schedule(dag), inputs);
  int accepted = 0, tensorized = 0;
  for (uint32_t seed = 0; seed < 250; ++seed) {
    RandomSchedule random(dag, seed);
    const Schedule schedule = random.make(4 + static_cast<int>(seed % 24));
    accepted += random.accepted();
    tensorized += random.tensorized();
    Result<Trace> trace = parse_trace(print(schedule.trace()));
    ASSERT_TRUE(trace.ok()) << trace.status().to_string();
    ASSERT_EQ(*trace, schedule.trace());
    Result<Schedule> replayed = replay(dag, *trace, RandomSchedule::intrins());
    ASSERT_TRUE(replayed.ok()) << replayed.status().to_string();
    ASSERT_EQ(print(*lower(*replayed)), print(*lower(schedule)));
    ASSERT_EQ(run_bytes(schedule, inputs), expected)
        << "seed " << seed << ": " << print(*trace) << "\n"
        << print(*lower(schedule));
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GE(tensorized, GetParam().tensorized);
}

INSTANTIATE_TEST_SUITE_P(
    Dags, ScheduleRandom,
    testing::Values(Case{"chain", [] { return chain(13); }, 0},
                    Case{"diamond", [] { return diamond(5, 6); }, 15},
                    Case{"matmul", [] { return matmul_bias_relu(7, 5, 9); }, 35},
                    Case{"conv", [] { return conv_relu(2, 5, 6, 3); }, 20},
                    Case{"softmax", [] { return softmax_like(4, 7); }, 20},
                    Case{"argmax", [] { return argmax(3, 10); }, 0},
                    Case{"two_matmuls", [] { return two_matmuls(4, 3, 5, 6); }, 45},
                    Case{"reshapes", [] { return reshapes(4, 6); }, 15}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace byoc::te
