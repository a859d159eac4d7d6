// SPDX-License-Identifier: Apache-2.0
// Operands of concats in the places where the result has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "byoc/compile.h"
#include "byoc/pass/codegen.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

using testing::ElementsAre;

IRModule joined(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  if (!module.ok()) return IRModule();
  Result<IRModule> out = plan_memory(*std::move(module), PassContext());
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : IRModule();
}

Program program_of(std::string_view text) {
  Result<Executable> made = make_executable(joined(text));
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return made.ok() ? made->program : Program();
}

std::vector<std::string> steps_of(const Program& program) {
  std::vector<std::string> out;
  for (const Step& step : program.steps) out.push_back(step.symbol);
  return out;
}

TEST(JoinedPlaces, AreOneAfterAnotherInTheResultWhichNoStepCopies) {
  const Program program = program_of(R"(
fn main(%x: f32[16]) {joins=["j"]} {
  %0 = call_dps_packed(@a, %x) : f32[16]
  %1 = call_dps_packed(@b, %x) : f32[32]
  %2 = call_dps_packed(@c, %x) : f32[5]
  %3 = call_dps_packed(@j, %0, %1, %2) : f32[53]
  %4 = call_dps_packed(@d, %3) : f32[16]
  return %4
})");
  EXPECT_THAT(steps_of(program), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(program.steps[0].args[1], (Place{Place::kArena, 0, 0}));
  EXPECT_EQ(program.steps[1].args[1], (Place{Place::kArena, 0, 64}));
  EXPECT_EQ(program.steps[2].args[1], (Place{Place::kArena, 0, 192}));
  EXPECT_EQ(program.steps[3].args[0], (Place{Place::kArena, 0, 0}));
  EXPECT_EQ(program.arena_bytes, 256u);
}

TEST(JoinedPlaces, OfConcatsOfConcats) {
  const Program program = program_of(R"(
fn main(%x: f32[16]) {joins=["i", "j"]} {
  %0 = call_dps_packed(@a, %x) : f32[16]
  %1 = call_dps_packed(@b, %0) : f32[16]
  %2 = call_dps_packed(@c, %x) : f32[16]
  %3 = call_dps_packed(@d, %x) : f32[16]
  %4 = call_dps_packed(@i, %2, %3) : f32[32]
  %5 = call_dps_packed(@j, %1, %4) : f32[48]
  %6 = call_dps_packed(@e, %5) : f32[16]
  return %6
})");
  EXPECT_THAT(steps_of(program), ElementsAre("a", "b", "c", "d", "e"));
  const uint64_t begin = program.steps[4].args[0].offset;
  EXPECT_EQ(program.steps[1].args[1].offset, begin);
  EXPECT_EQ(program.steps[2].args[1].offset, begin + 64);
  EXPECT_EQ(program.steps[3].args[1].offset, begin + 128);
}

// Each of these has one operand that cannot be a part of the result, so that all are copied.
TEST(JoinedPlaces, AreLeftToTheStepWhereAnOperandHasAnotherPlace) {
  for (const char* body : {
           "%2 = call_dps_packed(@j, %0, %x) : f32[32]\n return %2",  // a parameter
           "%2 = call_dps_packed(@j, %0, %0) : f32[32]\n return %2",  // twice
           "%2 = call_dps_packed(@j, %0, %1) : f32[32]\n return %2",  // a result
           "%2 = call_dps_packed(@j, %0, %1) : f32[32]\n"             // an operand is a result
           "%3 = call_dps_packed(@c, %2) : f32[16]\n return %3, %1",  //
           "%2 = call_dps_packed(@j, %0, %1) : f32[32]\n"             // with another reader
           "%3 = call_dps_packed(@c, %2, %1) : f32[16]\n return %3",  //
           "%2 = call_dps_packed(@s, %x) : f32[3]\n"                  // off alignment
           "%3 = call_dps_packed(@j, %0, %2, %1) : f32[35]\n"         //
           "%4 = call_dps_packed(@c, %3) : f32[16]\n return %4",      //
       }) {
    SCOPED_TRACE(body);
    const Program program = program_of(
        cat("fn main(%x: f32[16]) {joins=[\"j\"]} {\n %0 = call_dps_packed(@a, %x) : f32[16]\n"
            " %1 = call_dps_packed(@b, %x) : f32[16]\n",
            body, "\n}"));
    EXPECT_THAT(steps_of(program), testing::Contains("j"));
  }
}

TEST(JoinedPlaces, OfOneConcatAreNotThoseOfAnother) {
  const Program program = program_of(R"(
fn main(%x: f32[16]) {joins=["i", "j"]} {
  %0 = call_dps_packed(@a, %x) : f32[16]
  %1 = call_dps_packed(@b, %x) : f32[16]
  %2 = call_dps_packed(@c, %x) : f32[16]
  %3 = call_dps_packed(@i, %0, %1) : f32[32]
  %4 = call_dps_packed(@j, %1, %2) : f32[32]
  %5 = call_dps_packed(@e, %3, %4) : f32[16]
  return %5
})");
  EXPECT_THAT(steps_of(program), ElementsAre("a", "b", "c", "i", "j", "e"));
}

// A random program of steps that compute, and of concats. Each value has contents of its own.
class Model {
 public:
  explicit Model(uint32_t seed) : random_(seed) {
    add("x0", {}, 16), add("x1", {}, 5);
    const uint32_t nodes = 4 + below(20);
    std::string body, joins;
    for (uint32_t k = 0; k < nodes; ++k) add_node(body, joins);
    std::string results;
    for (size_t v = 2; v < contents_.size(); ++v) {
      if (v + 1 == contents_.size() || below(8) == 0)
        results += cat(results.empty() ? "" : ", ", "%", v - 2);
      if (v + 1 == contents_.size() || results.ends_with(cat("%", v - 2))) results_.push_back(v);
    }
    text_ = cat("fn main(%x0: f32[16], %x1: f32[5]) {joins=[", joins, "]} {\n", body, "  return ",
                results, "\n}");
  }
  const std::string& text() const { return text_; }
  size_t concats() const { return concats_; }
  void expect_run(const Program& program) const;

 private:
  using Floats = std::vector<float>;
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }
  static std::string name(size_t value) {
    return value < 2 ? cat("%x", value) : cat("%", value - 2);
  }
  void add(const std::string& symbol, std::vector<size_t> args, size_t size) {
    Floats own(size);
    for (size_t k = 0; k < size; ++k) own[k] = static_cast<float>(contents_.size() * 1000 + k);
    value_of_[symbol] = contents_.size();
    contents_.push_back(std::move(own));
    args_.push_back(std::move(args));
  }
  void add_node(std::string& body, std::string& joins);

  std::minstd_rand random_;
  std::vector<Floats> contents_;  // per value: parameters, then nodes
  std::vector<std::vector<size_t>> args_;
  std::map<std::string, size_t> value_of_;  // by symbol
  std::vector<size_t> results_;
  size_t concats_ = 0;
  std::string text_;
};

void Model::add_node(std::string& body, std::string& joins) {
  const size_t value = contents_.size();
  const bool is_concat = value > 4 && below(3) == 0;
  const std::string symbol = cat(is_concat ? "j" : "f", value);
  std::vector<size_t> args;
  for (uint32_t k = 0, count = (is_concat ? 2u : 1u) + below(3); k < count; ++k)
    args.push_back(value - 1 - below(std::min<uint32_t>(static_cast<uint32_t>(value), 5)));
  static constexpr size_t kSizes[] = {16, 32, 48, 16, 0, 7};
  add(symbol, args, kSizes[below(6)]);
  if (is_concat) {
    Floats joined;
    for (size_t arg : args)
      joined.insert(joined.end(), contents_[arg].begin(), contents_[arg].end());
    contents_[value] = joined;
    joins += cat(joins.empty() ? "" : ",", "\"", symbol, "\"");
    ++concats_;
  }
  std::string operands;
  for (size_t arg : args) operands += ", " + name(arg);
  body += cat("  ", name(value), " = call_dps_packed(@", symbol, operands, ") : f32[",
              contents_[value].size(), "]\n");
}

// Runs the steps on memory of the program's size and checks all that each reads.
void Model::expect_run(const Program& program) const {
  Floats arena(program.arena_bytes / 4, -1);
  std::vector<Floats> outputs(program.outputs.size());
  auto read = [&](const Place& place, size_t size) {
    if (place.kind == Place::kInput) return contents_[place.index];
    if (place.kind == Place::kOutput) return outputs[place.index];
    const auto begin = arena.begin() + static_cast<ptrdiff_t>(place.offset / 4);
    return Floats(begin, begin + static_cast<ptrdiff_t>(size));
  };
  for (const Step& step : program.steps) {
    const size_t value = value_of_.at(step.symbol);
    for (size_t k = 0; k < step.n_in; ++k) {
      const Floats& expected = contents_[args_[value][k]];
      ASSERT_EQ(read(step.args[k], expected.size()), expected) << step.symbol << ", operand " << k;
    }
    const Place& to = step.args.back();
    if (to.kind == Place::kOutput) outputs[to.index] = contents_[value];
    else std::ranges::copy(contents_[value], arena.begin() + static_cast<ptrdiff_t>(to.offset / 4));
  }
  for (const Copy& copy : program.copies)
    outputs[copy.output] = read(copy.from, contents_[results_[copy.output]].size());
  for (size_t k = 0; k < outputs.size(); ++k) EXPECT_EQ(outputs[k], contents_[results_[k]]) << k;
}

TEST(JoinedPlaces, HoldWhatEachStepReadsInRandomPrograms) {
  size_t concats = 0, copied = 0;
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    const Model model(seed);
    SCOPED_TRACE(model.text());
    const Program program = program_of(model.text());
    model.expect_run(program);
    concats += model.concats();
    for (const Step& step : program.steps) copied += step.symbol[0] == 'j';
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(concats, 1000u);
  EXPECT_LT(copied, concats) << "some are placed";
  EXPECT_GT(copied, concats / 2) << "most have an operand that others read";
}

}  // namespace
}  // namespace byoc
