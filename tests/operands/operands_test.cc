// SPDX-License-Identifier: Apache-2.0
// Every operator with an operand whose values may be out of range.
#include <gmock/gmock.h>

#include <set>

#include "one_node.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

struct OperandsConfig {
  const char* name;
  std::vector<std::string> compilers;
};
const OperandsConfig kOperandsConfigs[] = {{"json", {"json"}}, {"llvm", {"llvm"}}, {"default", {}}};

std::string shown(const std::vector<double>& values) {
  std::string text;
  for (double value : values) text += cat(text.empty() ? "" : ",", value);
  return text;
}

void expect_values(const Outcome& outcome, const std::vector<double>& expected) {
  ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
  ASSERT_EQ(outcome->size(), expected.size()) << shown(*outcome);
  for (size_t k = 0; k < expected.size(); ++k)
    EXPECT_NEAR((*outcome)[k], expected[k], 1e-5 * std::max(1.0, std::abs(expected[k])))
        << "element " << k << " of " << shown(*outcome);
}

/// Checks that there is an error, and that it names the node.
void expect_refusal(const Outcome& outcome) {
  ASSERT_FALSE(outcome.ok()) << "no error, result " << shown(*outcome);
  EXPECT_THAT(outcome.status().to_string(), HasSubstr("the_node"));
}

TEST(Operands, GiveTheRightResultOrAnErrorOfTheRun) {
  auto plugins = built_plugins();
  for (const OperandRow& row : operand_rows()) {
    for (const OperandsConfig& config : kOperandsConfigs) {
      SCOPED_TRACE(cat(row.op, "(", row.operands, ") by ", config.name, ", at run time"));
      auto outcome = [&](const std::vector<double>& elements) {
        return run_node(row, elements, false, plugins, config.compilers);
      };
      if (row.is_constant) {
        const Outcome refused = outcome(row.right);
        expect_refusal(refused);
        if (refused.ok()) break;
        EXPECT_THAT(refused.status().to_string(), HasSubstr("at run time"));
        break;  // before any plugin is involved
      }
      expect_values(outcome(row.right), row.expected);
      for (const auto& elements : row.wrong) {
        SCOPED_TRACE(shown(elements));
        const Outcome wrong = outcome(elements);
        expect_refusal(wrong);
        if (wrong.ok()) continue;
        EXPECT_EQ(wrong.status().code(), Code::kOutOfRange);
      }
    }
  }
}

TEST(Operands, AreCheckedAsConstants) {
  auto plugins = built_plugins();
  for (const OperandRow& row : operand_rows()) {
    for (const char* plugin : {"json", "llvm"}) {
      SCOPED_TRACE(cat(row.op, "(", row.operands, ") by ", plugin, ", as a constant"));
      expect_values(run_node(row, row.right, true, plugins, {plugin}), row.expected);
      for (const auto& elements : row.wrong) {
        SCOPED_TRACE(shown(elements));
        expect_refusal(run_node(row, elements, true, plugins, {plugin}));
      }
    }
  }
}

}  // namespace
}  // namespace byoc::test
