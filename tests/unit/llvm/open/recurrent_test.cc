// SPDX-License-Identifier: Apache-2.0
// Recurrent nets of open lengths and batches, at each of their sizes.
#include "unit/llvm/open/open_sizes.h"

namespace byoc {
namespace {

using at_sizes::expect_all;
using at_sizes::Sizes;

// Expects the values of a net with these gates and attributes.
void expect_net(const char* op, int64_t gates, int64_t directions, const std::string& attrs) {
  const Sizes sizes = {{"B", 1, 8}, {"T", 1, 9}};
  const int64_t hidden = 12, input = 7;
  expect_all(sizes, [&](auto& d) {
    const std::string w = cat("f32[", directions, ",", gates * hidden, ",");
    return cat("fn main(%x: f32[", d[1], ",", d[0], ",", input, "], %w: ", w, input, "], %r: ", w,
               hidden, "], %b: f32[", directions, ",", 2 * gates * hidden, "]) {\n  %0 = ", op,
               "(%x, %w, %r, %b)", attrs, "\n  return %0, %0#1\n}\n");
  });
}

TEST(OpenRecurrentNets, OfLstm) {
  expect_net("lstm", 4, 1, "");
  expect_net("lstm", 4, 1, " {direction=\"reverse\"}");
  expect_net("lstm", 4, 2, " {direction=\"bidirectional\"}");
}

TEST(OpenRecurrentNets, OfGru) {
  expect_net("gru", 3, 1, "");
  expect_net("gru", 3, 2, " {direction=\"bidirectional\", linear_before_reset=true}");
}

TEST(OpenRecurrentNets, OfRnn) {
  expect_net("rnn", 1, 1, "");
  expect_net("rnn", 1, 1, " {direction=\"reverse\"}");
}

}  // namespace
}  // namespace byoc
