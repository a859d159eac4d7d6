// SPDX-License-Identifier: Apache-2.0
// The loops of every op are printed, parsed and printed again: all dtypes, shapes and attributes of
// the conformance kit. The canonical text, which the printer has no part in, is compared too.
#include "byoc/te/text.h"

#include <gtest/gtest.h>

#include "byoc/te/key.h"
#include "byoc/translate/translate.h"
#include "core/conform/samples/samples.h"

namespace byoc {
namespace {

std::string canonical(const te::LoopFunction& function) {
  te::Dag dag{function.name, {}, function.inputs, function.outputs};
  for (const te::Tensor& input : function.inputs)
    dag.stages.push_back({input.name(), {input}, te::Placeholder{}, {}, {}, 0});
  dag.stages.push_back(
      {"body", function.outputs, te::Procedure{function.inputs, function.body}, {}, {}, 0});
  return te::canonical_text(dag);
}

/// Returns what is wrong with the text of the program's loops, or "".
std::string fault_of(const conform::Program& program) {
  const Function& main = program.module.function("main");
  auto dag = te::translate_to_te(program.module, main, te::Target{}, te::by_level());
  if (!dag.ok()) return dag.status().to_string();
  const std::string stages = te::print_te(*dag);
  auto read = te::parse_te(stages);
  if (!read.ok()) return cat(read.status().to_string(), "\n", stages);
  if (te::print_te(read->dag) != stages ||
      te::canonical_text(read->dag) != te::canonical_text(*dag))
    return cat("printed again:\n", te::print_te(read->dag), stages);
  auto loops = te::lower(te::Schedule(*std::move(dag)));
  if (!loops.ok()) return loops.status().to_string();
  const std::string text = te::print(*loops);
  auto parsed = te::parse_loops(text);
  if (!parsed.ok()) return cat(parsed.status().to_string(), "\n", text);
  if (te::print(*parsed) != text) return cat("printed again:\n", te::print(*parsed), text);
  return canonical(*parsed) == canonical(*loops) ? "" : cat("another canonical text:\n", text);
}

TEST(Text, HasTheStagesAndLoopsOfEveryOp) {
  size_t ops = 0, programs = 0;
  for (const OpDef* op : conform::ops_to_check()) {
    if (!op->compute) continue;
    ++ops;
    for (const conform::Program& program : conform::programs_of(*op, conform::Level::kFull)) {
      ++programs;
      ASSERT_EQ(fault_of(program), "") << program.label;
    }
  }
  EXPECT_GT(ops, 100u);
  EXPECT_GT(programs, ops);
  std::printf("%zu programs of %zu ops\n", programs, ops);
}

}  // namespace
}  // namespace byoc
