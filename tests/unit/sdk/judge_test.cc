// SPDX-License-Identifier: Apache-2.0
// byoc_verdict::reason is valid until the next call of judge on the same thread. It is freed then,
// so that the memory of a process that compiles many models stays bounded.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <thread>

#include "byoc/plugin/sdk.h"

namespace byoc::sdk {
namespace {

constexpr std::string_view kJudgedGraph =
    R"({"format":"byoc.graph","version":1,"types":[{"dtype":"f32","shape":[2]}],
        "inputs":[{"name":"x","type":0}],
        "nodes":[{"op":"relu","version":1,"args":[["i",0]],"types":[0],"attrs":{}}],
        "outputs":[["n",0,0]]})";

std::atomic<int> judged{0};

/// Refuses each call with a different reason of at least 1000 characters.
class Refuses : public Plugin {
 public:
  std::vector<Pattern> patterns() const override { return {}; }
  Verdict judge(const Graph&) const override {
    return Verdict::no(std::string(1000, '.') + std::to_string(judged++));
  }
};
using RefusingTable = detail::Glue<Refuses>;

class Judge : public ::testing::Test {
 protected:
  Judge() {
    byoc_host host{};
    host.h = {sizeof host, BYOC_TAG_HOST, nullptr};
    EXPECT_EQ(RefusingTable::open(&host, {}, &instance_), nullptr);
  }
  ~Judge() override { RefusingTable::close(instance_); }
  byoc_str reason() {
    byoc_verdict verdict{};
    verdict.h = {sizeof verdict, BYOC_TAG_VERDICT, nullptr};
    EXPECT_EQ(RefusingTable::judge(instance_, 0, to_str(kJudgedGraph), &verdict), nullptr);
    EXPECT_EQ(verdict.accept, 0u);
    return verdict.reason;
  }

 private:
  byoc_instance* instance_ = nullptr;
};

TEST_F(Judge, KeepsOneReasonPerThread) {
  reason();
  const size_t before = ::mallinfo2().uordblks;
  for (int k = 0; k < 10000; ++k) EXPECT_GT(reason().n, 1000u);
  EXPECT_LT(::mallinfo2().uordblks, before + 10000);
}

TEST_F(Judge, KeepsAReasonUntilTheNextJudgeOfItsThread) {
  byoc_str mine = reason();
  const std::string text(to_view(mine));
  std::jthread([&] {
    for (int k = 0; k < 100; ++k) EXPECT_NE(to_view(reason()), text);
  }).join();
  EXPECT_EQ(to_view(mine), text);
}

}  // namespace
}  // namespace byoc::sdk
