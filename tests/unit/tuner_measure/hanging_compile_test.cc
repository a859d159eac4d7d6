// SPDX-License-Identifier: Apache-2.0
// byoc tune with a plugin that does not return from compile: the time limit makes it a failed
// point, and one signal ends the command.
#include "byoc/tune/record.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kHangingRelu = "fn main(%x: f32[4096]) {\n  %0 = relu(%x)\n  return %0\n}\n";

std::string tune_with(const Byoc& byoc, const std::string& how) {
  return cat("tune ", byoc.write("m.ir", kHangingRelu), " --log ", byoc.file("log.jsonl"),
             " --compiler knobby --default json --plugin ", BYOC_BUILD_DIR,
             "/tests/unit/tuner_measure/libbyoc_knobby.so --plugin-option knobby.work=10",
             " --plugin-option knobby.how=", how, " --trials 2");
}

TEST(TuneWithHangingCompile, CountsThePointAsFailedAfterItsLimit) {
  Byoc byoc;
  Ran ran = byoc(tune_with(byoc, "right,build_hang") + " --build-limit 1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> errors;
  auto read = tune::read_log(byoc.file("log.jsonl"),
                             [&](tune::Record record) { errors.push_back(record.error); });
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_THAT(errors, Contains("timeout"));
  EXPECT_THAT(errors, Contains(""));
}

TEST(TuneWithHangingCompile, EndsAtOneSignal) {
  for (std::string signal : {"INT", "TERM"}) {
    Byoc byoc(cat("timeout --foreground --preserve-status -k 30 -s ", signal, " 2 ", BYOC_BUILD_DIR,
                  "/bin/byoc"));
    Ran ran = byoc(tune_with(byoc, "build_hang") + " --build-limit 1000");
    EXPECT_EQ(ran.code, 130) << signal << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error[interrupted]")) << signal;
  }
}

}  // namespace
}  // namespace byoc::test
