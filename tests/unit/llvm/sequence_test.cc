// SPDX-License-Identifier: Apache-2.0
// The code of sequences: equal pieces share one function, and the calls are data.
#include "plugins/llvm/sequence.h"

#include "run_loops.h"

namespace byoc::llvm_plugin {
namespace {

std::shared_ptr<const Kernel> piece(const std::string& symbol) {
  return std::make_shared<const Kernel>(Kernel{symbol, "", {0}});
}

LinkedSequence twice(const std::string& symbol, size_t calls = 1) {
  LinkedSequence out;
  out.pieces = {piece(symbol)};
  out.sequence.arena_bytes = Sequence::kUnit;
  for (size_t k = 0; k < calls; ++k) {
    out.sequence.calls.push_back({0, {0, ~0}});
    out.sequence.calls.push_back({0, {~0, 1}});
  }
  return out;
}

CompiledSequences compiled(const std::vector<LinkedSequence>& sequences) {
  Result<CompiledSequences> out = compile_sequences(sequences, test::this_machine());
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : CompiledSequences();
}

TEST(Sequence, EqualOnesAreOneFunction) {
  CompiledSequences out = compiled({twice("a"), twice("b"), twice("a")});
  ASSERT_EQ(out.functions.size(), 3u);
  EXPECT_EQ(out.functions[0].symbol, out.functions[2].symbol);
  EXPECT_NE(out.functions[0].symbol, out.functions[1].symbol);
  EXPECT_EQ(compiled({twice("a"), twice("a")}).code.object.size(),
            compiled({twice("a")}).code.object.size());
}

TEST(Sequence, GrowsByItsTableAlone) {
  size_t one = compiled({twice("a", 1)}).code.object.size();
  size_t many = compiled({twice("a", 1001)}).code.object.size();
  EXPECT_EQ(many - one, 1000u * 2 * 4 * sizeof(int32_t));
}

TEST(Sequence, WorkspaceHoldsOperandsArenaAndPieces) {
  LinkedSequence sequence = twice("a");
  sequence.pieces = {std::make_shared<const Kernel>(Kernel{"a", "", {4096}})};
  EXPECT_EQ(compiled({sequence}).functions[0].workspace.bytes, 64u + 64u + 4096u);
}

}  // namespace
}  // namespace byoc::llvm_plugin
