// SPDX-License-Identifier: Apache-2.0
// Compares the tensor expression of every op with its reference kernel, on the programs of the
// conformance kit: all dtypes, shapes and attributes of the op. The interpreter runs the default
// loops of the stages. It refuses operations that are undefined in compiled code.
#include "agree.h"

namespace byoc {
namespace {

using conform::Program;
using conform::Special;
using testing::check;

// Ops without a compute, each with its reason.
const std::set<std::string> kWithoutCompute = {};

class Computes : public ::testing::TestWithParam<std::string> {};

TEST_P(Computes, GiveWhatTheReferenceKernelGives) {
  const OpDef* op = all_ops().find(GetParam());
  ASSERT_NE(op, nullptr);
  int programs = 0, failures = 0;
  for (const Program& program : conform::programs_of(*op, conform::Level::kFull)) {
    for (Special special : {Special::kNone, Special::kNans}) {
      ++programs;
      std::string text = check(program, special);
      failures += !text.empty();
      EXPECT_EQ(text, "") << program.label << (special == Special::kNone ? "" : ", special values");
      if (failures > 5) FAIL() << "more failures of " << op->name;
    }
  }
  EXPECT_GT(programs, 0) << "the conformance kit has no program of this op";
  std::printf("%s: %d programs agree\n", op->name.c_str(), programs - failures);
}

std::vector<std::string> names_with_compute() {
  std::vector<std::string> names;
  for (const OpDef* op : conform::ops_to_check()) {
    if (op->compute) names.push_back(op->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Ops, Computes, ::testing::ValuesIn(names_with_compute()),
                         [](const auto& info) { return info.param; });

TEST(Computes, AreThereForEveryOpThatAPluginMayBeAskedAbout) {
  for (const OpDef* op : conform::ops_to_check()) {
    EXPECT_EQ(op->compute == nullptr, kWithoutCompute.count(op->name) != 0)
        << op->name << ": give it a compute, or list it here with the reason";
  }
}

TEST(Computes, AreNoneForAnnotations) {
  for (const OpDef* op : all_ops().all()) {
    EXPECT_FALSE(op->is_annotation && op->compute) << op->name;
  }
}

}  // namespace
}  // namespace byoc
