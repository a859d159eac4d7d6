// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace byoc::tune {
namespace {

using ::testing::HasSubstr;

TEST(Protocol, RequestsReadBackEqual) {
  Request request{.kind = Request::kDuel, .folder = "/tmp/a folder"};
  request.point = {{"tile", "6"}, {"name", "a \"quoted\"\nline"}};
  request.flags = 5;
  request.artifact = "b.byoc";
  request.champion = "c.byoc";
  request.best_ns = 12.5;
  request.is_cold = true;
  auto read = parse_request(print(request));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, request);
  EXPECT_EQ(print(request).find('\n'), std::string::npos);
  EXPECT_EQ(*parse_request(print(Request{})), Request{}) << "no best time is infinity";
}

TEST(Protocol, AnswersReadBackEqual) {
  const Answer answer{"run: failed", 3.5, {1, 2.5}, {4}, 1.25, true};
  auto read = parse_answer(print(answer));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, answer);
}

TEST(Protocol, RefusesOtherLines) {
  EXPECT_FALSE(parse_request("").ok());
  EXPECT_FALSE(parse_request("[1]").ok());
  EXPECT_FALSE(parse_answer("{\"error\":").ok());
  EXPECT_THAT(parse_answer("{\"error\":1}").status().message(), HasSubstr("\"error\""));
  std::string unknown = print(Request{});
  unknown.replace(unknown.find("reference"), 9, "explode__");
  EXPECT_THAT(parse_request(unknown).status().message(), HasSubstr("explode__"));
}

TEST(Protocol, PrintsMessagesThatAreNoUtf8) {
  EXPECT_TRUE(parse_answer(print(Answer{.error = "bad byte \xff"})).ok());
}

}  // namespace
}  // namespace byoc::tune
