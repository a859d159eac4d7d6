// SPDX-License-Identifier: Apache-2.0
// Sequences of different lengths in core/import/onnx/rows/recurrent.cc. Expected values: torch 1.13
// (nn.RNN and nn.LSTM on packed sequences of the lengths 3 and 1) in f64.
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

FoldedNode rnn(int64_t directions) {
  FoldedNode node("RNN", 14, 2);
  node.floats({3, 2, 2}, pattern(12, 7, 11, 5, 0.25f));
  node.floats({directions, 2, 2}, weights(4 * directions, 0.25f));
  node.floats({directions, 2, 2}, weights(4 * directions, 0.2f));
  node.none().ints({2}, {3, 1}, onnx::TensorProto::INT32).with("hidden_size", 2);
  return node;
}

TEST(SequenceLengths, EndEachSequenceByItself) {
  expect_values(rnn(1).result(), {0.829802, -0.244919, 0.761594, -0.5546, -0.820501, 0.440594, 0, 0,
                                  0.946133, -0.501447, 0, 0});
  expect_values(rnn(1).result(1), {0.946133, -0.501447, 0.761594, -0.5546});
}

TEST(SequenceLengths, AreWhereTheOtherDirectionBegins) {
  FoldedNode node = rnn(2);
  node.with("direction", "bidirectional");
  expect_values(node.result(), {0.829802,   -0.244919, 0.761594,  -0.5546,  -0.712415, -0.3672,
                                -0.0624187, -0.670967, -0.820501, 0.440594, 0,         0,
                                -0.350874,  0.654763,  0,         0,        0.946133,  -0.501447,
                                0,          0,         -0.50983,  -0.30271, 0,         0});
  expect_values(node.result(1), {0.946133, -0.501447, 0.761594, -0.5546, -0.712415, -0.3672,
                                 -0.0624187, -0.670967});
}

TEST(SequenceLengths, KeepTheInitialStateOfEmptySequences) {
  FoldedNode node("RNN", 14, 2);
  node.floats({1, 2, 1}, {1, 1}).floats({1, 1, 1}, {0}).floats({1, 1, 1}, {0}).none();
  node.ints({2}, {1, 0}, onnx::TensorProto::INT32).floats({1, 2, 1}, {5, 7});
  expect_values(node.result(), {0, 0});
  expect_values(node.result(1), {0, 7});
}

TEST(SequenceLengths, AreKnownForTheOutputOfAnLstm) {
  FoldedNode node("LSTM", 14, 2);
  node.floats({3, 2, 2}, pattern(12, 7, 11, 5, 0.25f)).floats({1, 4, 2}, weights(8, 0.25f));
  node.floats({1, 4, 1}, weights(4, 0.2f)).none().ints({2}, {3, 1}, onnx::TensorProto::INT32);
  expect_values(node.result(), {-0.0209256, -0.158503, 0.0865294, 0, -0.0801285, 0});
  expect_values(node.result(1), {-0.0801285, -0.158503});
}

TEST(SequenceLengths, AreNotSupportedForTheCellsOfAnLstm) {
  FoldedNode node("LSTM", 14, 3);
  node.floats({3, 2, 2}, pattern(12)).floats({1, 4, 2}, weights(8)).floats({1, 4, 1}, weights(4));
  node.none().ints({2}, {3, 1}, onnx::TensorProto::INT32);
  EXPECT_THAT(ops_of(node.model), HasSubstr("Y_c with sequence_lens is not supported"));
}

}  // namespace
}  // namespace byoc::test
