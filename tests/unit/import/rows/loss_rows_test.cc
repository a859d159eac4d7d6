// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/loss.cc. Expected: torch 1.13 (nll_loss, cross_entropy), f64.
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

FoldedNode loss(const char* op, const char* reduction, bool weighted = false) {
  FoldedNode node(op, 13);
  node.floats({2, 3, 2}, pattern(12)).ints({2, 2}, {0, 2, 1, 0});
  if (weighted) node.floats({3}, {0.5, 1, 2});
  node.with("reduction", reduction);
  return node;
}

TEST(NegativeLogLikelihoodLossRow, DividesByTheWeights) {
  expect_values(loss("NegativeLogLikelihoodLoss", "mean", true).result(), {3.125});
}

TEST(NegativeLogLikelihoodLossRow, LeavesEntriesOut) {
  expect_values(loss("NegativeLogLikelihoodLoss", "none").with("ignore_index", 0).result(),
                {0, 3, 4, 0});
  expect_values(loss("NegativeLogLikelihoodLoss", "mean", true).with("ignore_index", 0).result(),
                {3.33333});
}

TEST(SoftmaxCrossEntropyLossRow, TakesTheLogOfTheSoftmax) {
  expect_values(loss("SoftmaxCrossEntropyLoss", "sum").result(), {25.1558});
  expect_values(loss("SoftmaxCrossEntropyLoss", "mean").with("ignore_index", 2).result(), {5.7023});
}

TEST(LossRows, IgnoreClassesThatDoNotExist) {
  FoldedNode node("NegativeLogLikelihoodLoss", 13);
  node.floats({2, 2}, {1, 2, 3, 4}).ints({2}, {-100, 1}).with("ignore_index", -100);
  expect_values(node.result(), {-4});
}

TEST(LossRows, RefuseWhatDoesNotFit) {
  EXPECT_THAT(ops_of(loss("SoftmaxCrossEntropyLoss", "median").model),
              HasSubstr("reduction is \"median\", expected none, sum or mean"));
  FoldedNode node("NegativeLogLikelihoodLoss", 13);
  node.floats({2, 3}, pattern(6)).ints({2, 1}, {0, 1});
  EXPECT_THAT(ops_of(node.model), HasSubstr("the scores must be [n, c, ...] and the classes"));
}

}  // namespace
}  // namespace byoc::test
