// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/composite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace byoc {
namespace {

Function body() { return small_module().function("main"); }

TEST(Captures, ReadBackAsTheyWereSet) {
  Function f = body();
  Captures set{{"a=b", {{Capture::kNode, 0}, {Capture::kNode, 1}}},
               {"none", {}},
               {"x", {{Capture::kInput, 0}}}};
  set_captures(f, set);
  EXPECT_EQ(cat(f.attrs), R"({captures=["a=b=n0,n1","none=","x=i0"]})");
  EXPECT_EQ(*captures(f), set);
  set_captures(f, {});
  EXPECT_TRUE(f.attrs.empty());
  EXPECT_TRUE(captures(f)->empty());
}

TEST(Captures, CountOnlyNodesThatComputeSomething) {
  EXPECT_EQ(graph_nodes(body()), (std::vector<uint32_t>{2, 3}));
}

TEST(Captures, RefuseMalformedEntries) {
  auto refusal = [](AttrValue value) {
    Function f = body();
    f.attrs.set("captures", std::move(value));
    return captures(f).status().message();
  };
  EXPECT_EQ(refusal("post=n0"), "captures is a string, expected a list of strings");
  EXPECT_EQ(refusal(Strings{"post"}), "captures: expected name=n0,i1,... in \"post\"");
  EXPECT_EQ(refusal(Strings{"post=n0,7"}),
            "captures: expected n<node> or i<input> in \"post=n0,7\"");
  EXPECT_EQ(refusal(Strings{"post=n2"}), "captures: n2 does not exist in \"post=n2\"");
  EXPECT_EQ(refusal(Strings{"w=i1"}), "captures: i1 does not exist in \"w=i1\"");
  EXPECT_EQ(refusal(Strings{"w=i0", "w=n0"}), "captures: the name occurs twice in \"w=n0\"");
}

}  // namespace
}  // namespace byoc
