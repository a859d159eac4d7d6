// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Session> load(Executable executable, uint32_t threads = 1) {
  auto session = Session::load(std::move(executable), nullptr, {.threads = threads});
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return std::move(*session);
}

/// A session of add_mul() with its two functions provided.
class AddMul : public ::testing::Test {
 protected:
  AddMul() : session_(load(test::add_mul())) {
    test::provide(*session_);
    context_ = *session_->make_context();
  }
  Status run(std::vector<DLTensor> inputs, std::vector<DLTensor> outputs) {
    return session_->run(*context_, inputs, outputs);
  }
  std::unique_ptr<Session> session_;
  std::unique_ptr<Context> context_;
  Floats x_{{1, 0, -1, 10}}, y_{{0, 0, 0, 0}}, z_{{0, 0, 0, 0}};
};

TEST_F(AddMul, ComputesInOrderAndCopiesRepeatedOutputs) {
  ASSERT_TRUE(run({x_.view()}, {y_.view(), z_.view()}).ok());
  EXPECT_THAT(y_.values(), ElementsAre(2, 4, 6, 56));  // (x + c) * c, c = 1 2 3 4
  EXPECT_THAT(z_.values(), ElementsAre(2, 4, 6, 56));
}

TEST_F(AddMul, RunsAgainWithOtherBuffers) {
  ASSERT_TRUE(run({x_.view()}, {y_.view(), z_.view()}).ok());
  Floats x({0, 0, 0, 0}), y({9, 9, 9, 9});
  ASSERT_TRUE(run({x.view()}, {y.view(), z_.view()}).ok());
  EXPECT_THAT(y.values(), ElementsAre(1, 4, 9, 16));
  EXPECT_THAT(y_.values(), ElementsAre(2, 4, 6, 56));
}

TEST_F(AddMul, TakesStridedInputs) {
  Floats wide({1, 99, 0, 99, -1, 99, 10, 99});
  DLTensor view = x_.view();
  int64_t stride = 2;
  view.data = wide.view().data, view.strides = &stride;
  ASSERT_TRUE(run({view}, {y_.view(), z_.view()}).ok());
  EXPECT_THAT(y_.values(), ElementsAre(2, 4, 6, 56));
}

TEST_F(AddMul, TakesAndGivesMemoryThatIsNotAligned) {
  Floats memory({99, 1, 0, -1, 10, 99, 99, 99, 99, 99, 99});
  DLTensor in = x_.view(), out = y_.view();
  in.data = memory.view().data, in.byte_offset = 4;
  out.data = memory.view().data, out.byte_offset = 24;
  ASSERT_TRUE(run({in}, {out, z_.view()}).ok());
  EXPECT_THAT(memory.values(), ElementsAre(99, 1, 0, -1, 10, 99, 2, 4, 6, 56, 99));
}

TEST_F(AddMul, TakesAnInputThatIsAlsoAnOutput) {
  ASSERT_TRUE(run({x_.view()}, {y_.view(), x_.view()}).ok());
  EXPECT_THAT(x_.values(), ElementsAre(2, 4, 6, 56));
  EXPECT_THAT(y_.values(), ElementsAre(2, 4, 6, 56));
}

TEST_F(AddMul, RefusesOutputsThatShareMemory) {
  Status status = run({x_.view()}, {y_.view(), y_.view()});
  EXPECT_EQ(status.slug(), "output-overlap");
}

TEST_F(AddMul, NamesWhatIsWrongWithTheArguments) {
  EXPECT_EQ(run({}, {y_.view(), z_.view()}).to_string(),
            "error[input-count]: the model has 1 input, 0 were given");
  EXPECT_EQ(run({x_.view()}, {y_.view()}).to_string(),
            "error[output-count]: the model has 2 outputs, 1 were given");
  DLTensor bad = x_.view();
  bad.dtype = {kDLFloat, 64, 1};
  EXPECT_EQ(run({bad}, {y_.view(), z_.view()}).to_string(),
            "error[input-dtype]: \"x\" is f64[4], the model expects f32[4]");
  bad.dtype = {kDLComplex, 64, 1};
  EXPECT_THAT(run({bad}, {y_.view(), z_.view()}).message(), HasSubstr("DLPack type 5/64/1[4]"));
  bad = x_.view();
  int64_t shape[] = {2, 2}, stride = 2;
  bad.shape = shape, bad.ndim = 2;
  EXPECT_EQ(run({bad}, {y_.view(), z_.view()}).to_string(),
            "error[input-shape]: \"x\" is f32[2,2], the model expects f32[4]");
  EXPECT_EQ(run({x_.view()}, {bad, z_.view()}).to_string(),
            "error[output-shape]: \"y\" is f32[2,2], the model expects f32[4]");
  bad = x_.view(), bad.data = nullptr;
  EXPECT_EQ(run({bad}, {y_.view(), z_.view()}).to_string(), "error[input-data]: \"x\" has no data");
  bad = x_.view(), bad.shape = nullptr;
  EXPECT_EQ(
      run({bad}, {y_.view(), z_.view()}).to_string(),
      "error[input-shape]: \"x\" has 1 dims whose extents are NULL, the model expects f32[4]");
  bad = x_.view(), bad.device.device_type = kDLCUDA;
  EXPECT_THAT(run({bad}, {y_.view(), z_.view()}).to_string(),
              HasSubstr("on device 2, expected the CPU's memory"));
  bad = y_.view(), bad.strides = &stride;
  EXPECT_THAT(run({x_.view()}, {bad, z_.view()}).to_string(),
              HasSubstr("outputs are written compactly"));
}

TEST_F(AddMul, GivesTheWordsOfAFailingFunctionAndItsPlace) {
  ASSERT_TRUE(
      session_
          ->register_extern(
              "add", [](auto, auto) { return failed("the sensor is off").with_slug("sensor"); })
          .ok());
  EXPECT_EQ(run({x_.view()}, {y_.view(), z_.view()}).to_string(),
            "error[sensor]: the sensor is off\n  add (\"Add_0\")");
  ASSERT_TRUE(
      session_
          ->register_extern("add", [](auto, auto) -> Status { throw std::runtime_error("smoke"); })
          .ok());
  EXPECT_THAT(run({x_.view()}, {y_.view(), z_.view()}).to_string(),
              HasSubstr("error[run-failed]: threw: smoke"));
}

TEST_F(AddMul, FourThreadsWithAContextEachGiveTheSerialResults) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto context = *session_->make_context();
      for (int round = 0; round < 200; ++round) {
        float v = static_cast<float>(t * 1000 + round);
        Floats x({v, v, v, v}), y({0, 0, 0, 0}), z({0, 0, 0, 0});
        DLTensor in = x.view(), out[] = {y.view(), z.view()};
        bool ok = session_->run(*context, {&in, 1}, out).ok();
        for (int k = 0; k < 4; ++k)
          ok &= y.values()[k] == (v + k + 1) * (k + 1) && z.values()[k] == y.values()[k];
        wrong[t] += !ok;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST_F(AddMul, RefusesAnotherSessionsContext) {
  auto other = load(test::add_mul());
  EXPECT_EQ(other->run(**other->make_context(), {}, {}).slug(), "input-count");
  DLTensor none{};
  EXPECT_EQ(other->run(*context_, {&none, 1}, {}).slug(), "context");
}

TEST(Externs, ThoseThatNobodyProvidesAreNamed) {
  auto session = load(test::add_mul());
  EXPECT_THAT(
      session->check_externs().to_string(),
      HasSubstr(
          "error[missing-extern]: no implementation of the external functions \"add\", \"mul\""));
  test::provide(*session);
  EXPECT_TRUE(session->check_externs().ok());
  EXPECT_EQ(session->register_extern("sub", nullptr).slug(), "unknown-extern");
}

TEST(Externs, RunningWithoutOneIsAnErrorToo) {
  auto session = load(test::add_mul());
  Floats x({1, 2, 3, 4}), y = x, z = x;
  DLTensor in = x.view(), out[] = {y.view(), z.view()};
  EXPECT_EQ(session->run(**session->make_context(), {&in, 1}, out).slug(), "missing-extern");
}

TEST(SessionCopies, PassInputsAndConstantsThroughEvenOntoThemselves) {
  Executable executable = test::add_mul();
  Program& program = executable.program;
  program.steps.clear();
  program.copies = {{test::in(0), 0}, {test::constant(0), 1}};
  auto session = load(std::move(executable));
  auto context = *session->make_context();
  Floats x({5, 6, 7, 8}), z({0, 0, 0, 0});
  DLTensor in = x.view(), out[] = {x.view(), z.view()};
  ASSERT_TRUE(session->run(*context, {&in, 1}, out).ok());
  EXPECT_THAT(x.values(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(z.values(), ElementsAre(1, 2, 3, 4));
}

TEST(SessionSizes, TensorsWithoutElementsNeedNoMemory) {
  Executable executable;
  TensorSpec empty{DType::kF32, {0, 3}};
  executable.program.inputs = {{"x", empty}};
  executable.program.outputs = {{"y", empty}, {"z", empty}};
  executable.program.steps = {test::host_step("f", 1, {test::in(0), test::out(0)}, empty)};
  executable.program.copies = {{test::in(0), 1}};
  auto session = load(std::move(executable));
  int calls = 0;
  ASSERT_TRUE(session
                  ->register_extern("f",
                                    [&](auto inputs, auto) {
                                      return ++calls,
                                             inputs[0].shape[1] == 3 ? Status() : failed("shape");
                                    })
                  .ok());
  int64_t shape[] = {0, 3};
  DLTensor nothing{nullptr, {kDLCPU, 0}, 2, to_dlpack(DType::kF32), shape, nullptr, 0};
  DLTensor out[] = {nothing, nothing};
  EXPECT_TRUE(session->run(**session->make_context(), {&nothing, 1}, out).ok());
  EXPECT_EQ(calls, 1);
}

TEST(SessionSizes, ScalarsAndBoolsCrossAsDlpackHasThem) {
  Executable executable;
  TensorSpec flag{DType::kBool, {}};
  executable.program.inputs = {{"x", flag}};
  executable.program.outputs = {{"y", flag}};
  executable.program.copies = {{test::in(0), 0}};
  auto session = load(std::move(executable));
  auto x = Tensor::make(flag), y = Tensor::make(flag);
  x->data()[0] = std::byte{1};
  DLTensor in = x->view(), out = y->view();
  ASSERT_TRUE(session->run(**session->make_context(), {&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(y->data()[0], std::byte{1});
}

TEST(SessionSizes, AnArenaThatCannotBeHadIsAnError) {
  Executable executable = test::add_mul();
  executable.program.arena_bytes = uint64_t{1} << 62;
  EXPECT_EQ(load(std::move(executable))->make_context().status().code(), Code::kResourceExhausted);
}

TEST(SessionLoad, NamesAllPluginsThatAreMissingAndWhatNeedsThem) {
  Executable executable = test::with_modules();
  executable.modules[1].plugin = "other";
  Status status = Session::load(std::move(executable), nullptr).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.to_string(),
              HasSubstr("error[missing-plugin]: no plugin \"some\" 1.2.3, which runs add; "
                        "no plugin \"other\" 1.2.3, which runs mul"));
  EXPECT_THAT(status.help(), HasSubstr("--plugin FILE"));
}

/// Returns the error of check_executable after `change`.
std::string refused(const std::function<void(Executable&)>& change) {
  Executable executable = test::with_modules();
  change(executable);
  Status status = Session::load(std::move(executable), nullptr).status();
  EXPECT_TRUE(status.slug() == "executable" || status.slug() == "tensor-size")
      << status.to_string();
  return status.to_string();
}

TEST(SessionLoad, RefusesAProgramThatDoesNotHoldTogether) {
  auto step = [](Executable& e, size_t k) -> Step& { return e.program.steps[k]; };
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).args[0].index = 1; }), HasSubstr("input 1 of 1"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).args[2] = test::arena(100); }),
              HasSubstr("arena offset 100"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).args[2] = test::in(0); }),
              HasSubstr("an input or constant would be written"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).types.pop_back(); }),
              HasSubstr("3 arguments, 2 types"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).types[0].dims = {-4}; }), HasSubstr("negative"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).n_in = 1; }),
              HasSubstr("called with 1 inputs and 2 outputs, has 2 and 1"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).symbol = "mul"; }),
              HasSubstr("its function is called add"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).function = 1; }), HasSubstr("function 1 of 1"));
  EXPECT_THAT(refused([&](auto& e) { step(e, 0).args[0] = test::out(1); }),
              HasSubstr("output \"z\" is read before it is written"));
  EXPECT_THAT(refused([&](auto& e) { e.program.copies.clear(); }),
              HasSubstr("nothing writes output \"z\""));
  EXPECT_THAT(refused([&](auto& e) {
                e.program.copies.push_back({test::in(0), 0});
              }),
              HasSubstr("written twice"));
  EXPECT_THAT(refused([&](auto& e) { e.program.copies[0].output = 7; }),
              HasSubstr("output 7 of 2"));
  EXPECT_THAT(refused([&](auto& e) { e.modules[0].blob = nullptr; }),
              HasSubstr("no bytes of the module"));
  EXPECT_THAT(refused([&](auto& e) { e.modules[0].functions[0].packed[0].second = 128; }),
              HasSubstr("aligned to 128"));
  EXPECT_THAT(refused([&](auto& e) { e.constants.clear(); }), HasSubstr("no bytes for key"));
  EXPECT_THAT(refused([&](auto& e) { e.program.constants[0].type.dims = {5}; }),
              HasSubstr("has 16 bytes, f32[5] needs 20"));
}

// Equal functions share a kernel, and their steps have names and locs of their own.
TEST(SessionLoad, AcceptsAStepThatRunsTheKernelOfAnEqualFunction) {
  Executable executable = test::with_modules();
  Step& step = executable.program.steps[0];
  EXPECT_EQ(executable.locs(step), executable.modules[0].functions[0].locs);
  step.symbol = "add_of_another_name";
  step.locs = {"Add_7"};
  EXPECT_EQ(executable.locs(step), std::vector<std::string>{"Add_7"});
  step.locs.clear();
  EXPECT_TRUE(executable.locs(step).empty()) << "the model has no names for its ops";
  EXPECT_EQ(Session::load(std::move(executable), nullptr).status().slug(), "missing-plugin");
}

TEST(SessionLoad, OutputsMayOverlapInputsInDeclaredPairsOnly) {
  auto in_place = [](uint64_t from) {
    return [from](Executable& e) {
      e.program.steps[1].args[0] = test::arena(from);
      e.program.steps[1].args[2] = test::arena(64);
      e.program.copies = {{test::arena(64), 0}, {test::out(0), 1}};
      e.program.arena_bytes = 128;
    };
  };
  Executable declared = test::with_modules();  // has the pair (0, 0)
  in_place(64)(declared);
  EXPECT_EQ(Session::load(std::move(declared), nullptr).status().slug(), "missing-plugin");
  EXPECT_THAT(refused([&](Executable& e) {
                in_place(64)(e);
                e.modules[1].functions[0].inplace.clear();
              }),
              HasSubstr("arguments 0 and 2 overlap in the arena"));
  EXPECT_THAT(refused([&](Executable& e) {
                in_place(64)(e);
                e.program.steps[1].args[1] = test::arena(64);
              }),
              HasSubstr("arguments 1 and 2 overlap"));
}

}  // namespace
}  // namespace byoc
