// SPDX-License-Identifier: Apache-2.0
// States of Sessions. Expected values are sums worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>

#include "byoc/runtime/session.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TensorSpec kRow{DType::kF32, {4}};

/// Returns next = state + x, y = next * x, by functions of the host.
Executable accumulator() {
  Executable executable;
  executable.producer = "byoc test";
  Program& program = executable.program;
  program.inputs = {{"x", kRow}, {"past", kRow}};
  program.outputs = {{"y", kRow}, {"next", kRow}};
  program.states = {{}};
  program.steps = {test::host_step("add", 2, {test::in(1), test::in(0), test::out(1)}, kRow),
                   test::host_step("mul", 2, {test::out(1), test::in(0), test::out(0)}, kRow)};
  return executable;
}

/// Returns next = relu(past) + 10, y = next, by the plugin of tests/faults/faulty.c, in place.
Executable counter() {
  Executable executable = test::two_relus();
  Program& program = executable.program;
  program.inputs = {{"past", kRow}};
  program.outputs = {{"y", kRow}, {"next", kRow}};
  program.states = {{}};
  program.arena_bytes = 0;
  program.steps.resize(1);
  program.steps[0].args = {test::in(0), test::out(1)};
  program.copies = {{test::out(1), 0}};
  return executable;
}

std::unique_ptr<Session> load(Executable executable, const std::string& fault = "") {
  auto session = Session::load(std::move(executable), test::load_fault("faulty_none", fault), {});
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return std::move(*session);
}

class Accumulator : public ::testing::Test {
 protected:
  Accumulator() : session_(load(accumulator())), context_(new_context()) {
    test::provide(*session_);
  }
  std::unique_ptr<Context> new_context() { return *session_->make_context(); }
  Status run(Context& context) {
    DLTensor in = x_.view(), out = y_.view();
    return session_->run(context, {&in, 1}, {&out, 1});
  }
  std::vector<float> state(const Context& context, std::string_view name = "past") {
    Floats read({-1, -1, -1, -1});
    EXPECT_TRUE(session_->get_state(context, name, read.view()).ok());
    return {read.values().begin(), read.values().end()};
  }
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  Floats x_{{1, 2, 3, -4}}, y_{{0, 0, 0, 0}};
};

TEST_F(Accumulator, GivesARunTheOtherInputsAlone) {
  ASSERT_EQ(session_->inputs().size(), 1u);
  EXPECT_EQ(session_->inputs()[0].name, "x");
  ASSERT_EQ(session_->outputs().size(), 1u);
  EXPECT_EQ(session_->outputs()[0].name, "y");
  ASSERT_EQ(session_->states().size(), 1u);
  EXPECT_EQ(session_->states()[0].input, "past");
  EXPECT_EQ(session_->states()[0].output, "next");
  EXPECT_FALSE(session_->states()[0].is_in_place) << "functions of the host declare no pair";
}

TEST_F(Accumulator, HandsTheStateFromRunToRun) {
  ASSERT_TRUE(run(*context_).ok());
  EXPECT_THAT(y_.values(), ElementsAre(1, 4, 9, 16));  // x * x
  ASSERT_TRUE(run(*context_).ok());
  EXPECT_THAT(y_.values(), ElementsAre(2, 8, 18, 32));
  ASSERT_TRUE(run(*context_).ok());
  EXPECT_THAT(y_.values(), ElementsAre(3, 12, 27, 48));
  EXPECT_THAT(state(*context_), ElementsAre(3, 6, 9, -12));
  EXPECT_THAT(state(*context_, "next"), ElementsAre(3, 6, 9, -12));
}

TEST_F(Accumulator, ContextsHaveStatesOfTheirOwn) {
  auto other = new_context();
  ASSERT_TRUE(run(*context_).ok());
  ASSERT_TRUE(run(*context_).ok());
  ASSERT_TRUE(run(*other).ok());
  EXPECT_THAT(state(*context_), ElementsAre(2, 4, 6, -8));
  EXPECT_THAT(state(*other), ElementsAre(1, 2, 3, -4));
}

TEST_F(Accumulator, ResetsAndSets) {
  ASSERT_TRUE(run(*context_).ok());
  ASSERT_TRUE(session_->reset_states(*context_).ok());
  EXPECT_THAT(state(*context_), ElementsAre(0, 0, 0, 0));
  ASSERT_TRUE(session_->set_state(*context_, "past", Floats({10, 20, 30, 40}).view()).ok());
  ASSERT_TRUE(run(*context_).ok());
  EXPECT_THAT(state(*context_), ElementsAre(11, 22, 33, 36));
}

TEST_F(Accumulator, SetsFromViewsWithStrides) {
  Floats wide({1, 99, 2, 99, 3, 99, 4, 99});
  DLTensor view = x_.view();
  int64_t stride = 2;
  view.data = wide.view().data, view.strides = &stride;
  ASSERT_TRUE(session_->set_state(*context_, "past", view).ok());
  EXPECT_THAT(state(*context_), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(session_->get_state(*context_, "past", view).slug(), "state-shape");
}

TEST_F(Accumulator, RefusesOtherNamesAndTypes) {
  const Status name = session_->set_state(*context_, "passt", x_.view());
  EXPECT_EQ(name.to_string(),
            "error[unknown-state]: the model has no state \"passt\"; did you mean \"past\"?");
  Floats shorter({1, 2});
  EXPECT_EQ(session_->set_state(*context_, "past", shorter.view()).slug(), "state-shape");
  EXPECT_EQ(session_->get_state(*context_, "past", shorter.view()).slug(), "state-shape");
  DLTensor integers = x_.view();
  integers.dtype = {kDLInt, 32, 1};
  EXPECT_EQ(session_->set_state(*context_, "past", integers).slug(), "state-dtype");
}

TEST_F(Accumulator, RefusesTheStateAsAnArgument) {
  DLTensor in[] = {x_.view(), x_.view()}, out = y_.view();
  const Status status = session_->run(*context_, in, {&out, 1});
  EXPECT_EQ(status.slug(), "input-count");
  EXPECT_THAT(status.message(),
              HasSubstr("the model has 1 input besides its states, 2 were given"));
  EXPECT_EQ(session_->output_types(in).status().slug(), "input-count");
  EXPECT_EQ(session_->output_types({in, 1})->size(), 1u);
}

TEST_F(Accumulator, ARunThatFailsLeavesTheState) {
  ASSERT_TRUE(run(*context_).ok());
  (void)session_->register_extern("mul", [](auto, auto) { return failed("no"); });
  EXPECT_FALSE(run(*context_).ok());
  EXPECT_THAT(state(*context_), ElementsAre(1, 2, 3, -4)) << "the step before had succeeded";
  test::provide(*session_);
  ASSERT_TRUE(run(*context_).ok());
  EXPECT_THAT(state(*context_), ElementsAre(2, 4, 6, -8));
}

TEST_F(Accumulator, RefusesASecondUseDuringARun) {
  Status second, read, set, reset;
  (void)session_->register_extern("mul", [&](auto, auto) -> Status {
    second = run(*context_);
    read = session_->get_state(*context_, "past", y_.view());
    set = session_->set_state(*context_, "past", y_.view());
    reset = session_->reset_states(*context_);
    return {};
  });
  ASSERT_TRUE(run(*context_).ok());
  EXPECT_THAT(second.to_string(),
              HasSubstr("error[state-in-use]: another thread runs with these states"));
  for (const Status& status : {second, read, set, reset}) EXPECT_EQ(status.slug(), "state-in-use");
  EXPECT_TRUE(session_->reset_states(*context_).ok()) << "the run has ended";
}

TEST_F(Accumulator, SharesStatesWithAContextOfAnotherSession) {
  auto other = load(accumulator());
  test::provide(*other);
  auto shared = other->make_context(*context_);
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  ASSERT_TRUE(run(*context_).ok());
  DLTensor in = x_.view(), out = y_.view();
  ASSERT_TRUE(other->run(**shared, {&in, 1}, {&out, 1}).ok());
  EXPECT_THAT(state(*context_), ElementsAre(2, 4, 6, -8));
  Executable renamed = accumulator();
  renamed.program.inputs[1].name = "before";
  const Status status = load(renamed)->make_context(*context_).status();
  EXPECT_EQ(status.slug(), "state-type");
  EXPECT_THAT(status.message(), HasSubstr("\"past\" is f32[4] and \"before\" f32[4]"));
}

TEST_F(Accumulator, CountsTheBytesOfWholeStates) {
  ASSERT_TRUE(run(*context_).ok());
  ASSERT_TRUE(run(*context_).ok());
  const StateTraffic traffic = session_->state_traffic(*context_);
  EXPECT_EQ(traffic.runs, 2u);
  EXPECT_EQ(traffic.in_place_bytes, 0u);
  EXPECT_EQ(traffic.whole_bytes, 2 * 16u);
}

std::vector<float> run_counter(const Session& session, Context& context, size_t outputs = 1) {
  Floats y({-1, -1, -1, -1});
  DLTensor out = y.view();
  const Status status = session.run(context, {}, {&out, outputs});
  EXPECT_TRUE(status.ok()) << status.to_string();
  return {y.values().begin(), y.values().end()};
}

TEST(StatesInPlace, AKernelWithAPairWritesOverTheOldValue) {
  auto session = load(counter());
  EXPECT_TRUE(session->states()[0].is_in_place);
  auto context = *session->make_context();
  EXPECT_THAT(run_counter(*session, *context), ElementsAre(10, 10, 10, 10));
  EXPECT_THAT(run_counter(*session, *context), ElementsAre(20, 20, 20, 20));
  EXPECT_EQ(session->state_traffic(*context).in_place_bytes, 2 * 16u);
  EXPECT_EQ(session->state_traffic(*context).whole_bytes, 0u);
}

TEST(StatesInPlace, CountsTheRowsWhereAStepWritesOnlyThese) {
  Executable executable = counter();
  executable.program.states[0].rows = {{DType::kF32, {1, 2}}, {DType::kF32, {1}}};
  auto session = load(std::move(executable));
  auto context = *session->make_context();
  run_counter(*session, *context);
  run_counter(*session, *context);
  EXPECT_EQ(session->state_traffic(*context).in_place_bytes, 2 * (8 + 4u));
}

TEST(StatesInPlace, ALaterReaderOfTheOldValueKeepsIt) {
  Executable executable = counter();
  executable.program.copies = {{test::in(0), 0}};  // y = past
  auto session = load(std::move(executable));
  EXPECT_FALSE(session->states()[0].is_in_place);
  auto context = *session->make_context();
  EXPECT_THAT(run_counter(*session, *context), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(run_counter(*session, *context), ElementsAre(10, 10, 10, 10));
  Executable step = counter();
  step.program.steps.push_back(step.program.steps[0]);
  step.program.steps[1].args = {test::in(0), test::out(0)};
  step.program.copies.clear();
  EXPECT_FALSE(load(std::move(step))->states()[0].is_in_place);
}

TEST(StatesInPlace, NeedsThePair) {
  Executable executable = counter();
  executable.modules[0].functions[0].inplace.clear();
  EXPECT_FALSE(load(std::move(executable))->states()[0].is_in_place);
}

TEST(StatesInPlace, AnIdentityIsCopied) {
  Executable executable = counter();
  executable.program.steps.clear();
  executable.program.copies = {{test::in(0), 0}, {test::in(0), 1}};  // next = past
  auto session = load(std::move(executable));
  auto context = *session->make_context();
  ASSERT_TRUE(session->set_state(*context, "past", Floats({1, 2, 3, 4}).view()).ok());
  run_counter(*session, *context);
  EXPECT_THAT(run_counter(*session, *context), ElementsAre(1, 2, 3, 4));
}

// The kernel fails for negative elements with an error that is no index: it may have written.
TEST(StatesInPlace, AFailingKernelBreaksTheStateThatItWritesInPlace) {
  auto session = load(counter(), "run-negative");
  auto context = *session->make_context();
  run_counter(*session, *context);
  ASSERT_TRUE(session->set_state(*context, "past", Floats({-1, 0, 0, 0}).view()).ok());
  Floats y({0, 0, 0, 0});
  DLTensor out = y.view();
  EXPECT_EQ(session->run(*context, {}, {&out, 1}).slug(), "run-failed");
  const Status broken = session->run(*context, {}, {&out, 1});
  EXPECT_EQ(broken.slug(), "state-broken");
  EXPECT_THAT(broken.to_string(), HasSubstr("\"past\" is broken"));
  EXPECT_EQ(session->get_state(*context, "past", y.view()).slug(), "state-broken");
  ASSERT_TRUE(session->reset_states(*context).ok());
  EXPECT_THAT(run_counter(*session, *context), ElementsAre(10, 10, 10, 10));
}

TEST(StatesOfArtifacts, AreChecked) {
  auto refused = [](auto&& change) {
    Executable executable = accumulator();
    change(executable.program);
    return Session::load(std::move(executable), nullptr).status();
  };
  EXPECT_THAT(refused([](Program& p) { p.states.resize(3); }).message(),
              HasSubstr("3 states of 2 inputs and 2 outputs"));
  const Status types = refused([](Program& p) {
    p.inputs[1].type.dims = {5};
    p.steps[0].types[0].dims = {5};
  });
  EXPECT_THAT(types.message(), HasSubstr("the state \"past\" is f32[5] and \"next\" f32[4]"));
}

TEST(StatesOfArtifacts, StayWhenTheyAreSavedAndLoaded) {
  Executable executable = accumulator();
  executable.program.states[0].rows = {{DType::kF32, {1, 2}}};
  const std::string path = testing::TempDir() + "states_test.byoc";
  ASSERT_TRUE(save_artifact(executable, path).ok());
  auto loaded = load_artifact(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  ASSERT_EQ(loaded->program.states.size(), 1u);
  EXPECT_EQ(loaded->program.states[0].rows, executable.program.states[0].rows);
}

TEST(StatesOfArtifacts, AModelWithoutThemHasNoneToSet) {
  auto session = load(test::add_mul());
  auto context = *session->make_context();
  const Status status = session->reset_states(*context);
  EXPECT_EQ(status.slug(), "unknown-state");
  EXPECT_THAT(status.to_string(), HasSubstr("--state PAST=PRESENT"));
  EXPECT_EQ(session->make_context(*context).status().slug(), "unknown-state");
}

// A cache of 8 rows of 2 floats: next = past with x from row `at` on, y = the sum of next; by a
// function of the host, which refuses rows beyond the cache as the op does.
constexpr int64_t kRows = 8, kWidth = 2;

Executable cache() {
  const TensorSpec rows{DType::kF32, {2, kWidth}}, at{DType::kI64, {}},
      all{DType::kF32, {kRows, kWidth}}, sum{DType::kF32, {}};
  Executable executable;
  executable.producer = "byoc test";
  Program& program = executable.program;
  program.inputs = {{"x", rows}, {"at", at}, {"past", all}};
  program.outputs = {{"y", sum}, {"next", all}};
  program.states = {{{rows}}};
  Step update =
      test::host_step("update", 3, {test::in(2), test::in(0), test::in(1), test::out(1)}, all);
  update.types = {all, rows, at, all};
  Step add = test::host_step("sum", 1, {test::out(1), test::out(0)}, all);
  add.types = {all, sum};
  program.steps = {update, add};
  return executable;
}

Status update_cache(std::span<const DLTensor> in, std::span<DLTensor> out) {
  const auto *past = static_cast<const float*>(in[0].data),
             *rows = static_cast<const float*>(in[1].data);
  const int64_t at = *static_cast<const int64_t*>(in[2].data);
  auto* next = static_cast<float*>(out[0].data);
  if (at < 0 || at + 2 > kRows) return Status(Code::kOutOfRange, cat("row ", at, " of ", kRows));
  std::copy_n(past, kRows * kWidth, next);
  std::copy_n(rows, 2 * kWidth, next + at * kWidth);
  return {};
}

// The same as arrays of C++.
struct PlainCache {
  std::array<float, kRows * kWidth> values{};
  float sum() const { return std::accumulate(values.begin(), values.end(), 0.0f); }
};

class CacheRuns {
 public:
  explicit CacheRuns(Session& session) : session_(session) {
    for (auto& context : contexts_) context = *session_.make_context();
  }
  void step(std::mt19937& random) {
    const size_t which = random() % 2;
    const uint32_t action = random() % 8;
    if (action == 0) reset(which);
    if (action == 1) set(which, random);
    if (action > 1) run(which, random);
    check(which);
    check(1 - which);
  }

 private:
  void reset(size_t which) {
    ASSERT_TRUE(session_.reset_states(*contexts_[which]).ok());
    plain_[which] = {};
  }
  void set(size_t which, std::mt19937& random) {
    for (float& value : plain_[which].values) value = static_cast<float>(random() % 100);
    Tensor tensor = *Tensor::make({DType::kF32, {kRows, kWidth}});
    std::memcpy(tensor.data(), plain_[which].values.data(), tensor.size_bytes());
    ASSERT_TRUE(session_.set_state(*contexts_[which], "past", tensor.view()).ok());
  }
  void run(size_t which, std::mt19937& random) {
    Tensor x = *Tensor::make({DType::kF32, {2, kWidth}}), at = *Tensor::make({DType::kI64, {}}),
           y = *Tensor::make({DType::kF32, {}});
    auto* rows = reinterpret_cast<float*>(x.data());
    for (int64_t k = 0; k < 2 * kWidth; ++k) rows[k] = static_cast<float>(random() % 100);
    const auto row = static_cast<int64_t>(random() % 10) - 1;  // -1 to 8: 0 to 6 fit
    std::memcpy(at.data(), &row, sizeof row);
    const DLTensor in[] = {x.view(), at.view()};
    DLTensor out = y.view();
    const Status status = session_.run(*contexts_[which], in, {&out, 1});
    const bool fits = row >= 0 && row + 2 <= kRows;
    ASSERT_EQ(status.ok(), fits) << status.to_string();
    if (!fits) return;
    std::copy_n(rows, 2 * kWidth, plain_[which].values.begin() + row * kWidth);
    EXPECT_EQ(*reinterpret_cast<const float*>(y.data()), plain_[which].sum());
  }
  void check(size_t which) {
    Tensor now = *Tensor::make({DType::kF32, {kRows, kWidth}});
    ASSERT_TRUE(session_.get_state(*contexts_[which], "next", now.view()).ok());
    ASSERT_EQ(std::memcmp(now.data(), plain_[which].values.data(), now.size_bytes()), 0);
  }

  Session& session_;
  std::unique_ptr<Context> contexts_[2];
  PlainCache plain_[2];
};

TEST(StatesAtRandom, AreThoseOfPlainArrays) {
  auto session = load(cache());
  (void)session->register_extern("update", update_cache);
  (void)session->register_extern(
      "sum", [](std::span<const DLTensor> in, std::span<DLTensor> out) -> Status {
        const auto* from = static_cast<const float*>(in[0].data);
        *static_cast<float*>(out[0].data) = std::accumulate(from, from + kRows * kWidth, 0.0f);
        return {};
      });
  for (uint32_t seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    CacheRuns runs(*session);
    for (int k = 0; k < 12; ++k) runs.step(random);
  }
}

}  // namespace
}  // namespace byoc
