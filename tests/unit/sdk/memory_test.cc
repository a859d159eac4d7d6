// SPDX-License-Identifier: Apache-2.0
// The memory of a kernel of several steps: what lives at the same time does not overlap, and what
// does not shares the workspace.
#include <gtest/gtest.h>

#include <random>

#include "byoc/plugin/sdk/memory.h"

namespace byoc::sdk {
namespace {

// A call of a kernel without arguments.
struct Plain {
  explicit Plain(uint64_t bytes) : workspace(bytes) {
    raw.h = {sizeof raw, BYOC_TAG_CALL, nullptr};
    raw.workspace = workspace.data();
    raw.workspace_bytes = bytes;
  }
  uint64_t offset(const StepMemory& memory, StepMemory::Piece piece) const {
    auto* at = static_cast<char*>(memory.address(piece, Call(raw, 0)));
    return static_cast<uint64_t>(at - static_cast<const char*>(raw.workspace));
  }
  std::vector<char> workspace;
  byoc_call raw{};
};

TEST(StepMemory, GivesValuesOfDifferentTimesTheSameBytes) {
  StepMemory memory;
  std::vector<StepMemory::Piece> chain;
  for (uint32_t step = 0; step < 100; ++step) {
    chain.push_back(memory.scratch(1000));
    memory.touch(chain.back(), step);      // written
    memory.touch(chain.back(), step + 1);  // read
  }
  memory.place();
  EXPECT_EQ(memory.workspace_bytes(), 2u * 1024);
}

TEST(StepMemory, NeedsNoWorkspaceForWhatNoStepTouches) {
  StepMemory memory;
  memory.scratch(1000);
  memory.place();
  EXPECT_EQ(memory.workspace_bytes(), 0u);
}

TEST(StepMemory, KeepsValuesOfOneTimeApart) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    struct Value {
      StepMemory::Piece piece;
      uint64_t bytes;
      uint32_t first, last;
    };
    StepMemory memory;
    std::vector<Value> values;
    for (int k = 0; k < 40; ++k) {
      Value value{0, random() % 500, static_cast<uint32_t>(random() % 30), 0};
      value.last = value.first + random() % 8;
      value.piece = memory.scratch(value.bytes);
      memory.touch(value.piece, value.last);
      memory.touch(value.piece, value.first);
      values.push_back(value);
    }
    memory.place();
    Plain call(memory.workspace_bytes());
    for (const Value& a : values) {
      const uint64_t begin = call.offset(memory, a.piece), end = begin + a.bytes;
      EXPECT_EQ(begin % 64, 0u);
      EXPECT_LE(end, memory.workspace_bytes());
      for (const Value& b : values) {
        if (a.piece == b.piece || a.last < b.first || b.last < a.first) continue;
        const uint64_t other = call.offset(memory, b.piece);
        EXPECT_TRUE(a.bytes == 0 || b.bytes == 0 || end <= other || other + b.bytes <= begin);
      }
    }
  }
}

}  // namespace
}  // namespace byoc::sdk
