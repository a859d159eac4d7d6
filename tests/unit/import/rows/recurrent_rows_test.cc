// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of core/import/onnx/rows/recurrent.cc. Expected values: torch 1.13 (nn.RNN and
// nn.LSTM on packed sequences of the lengths 3 and 1) in f64, and where a test has "by ONNX
// Runtime" onnxruntime 1.32.
#include "support/evaluate.h"
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

/// Returns the results, which are computed by the reference kernels.
std::vector<std::vector<double>> results(const FoldedNode& node) {
  auto module = node.model.import();
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  if (!module.ok()) return std::vector<std::vector<double>>(3);
  auto values = byoc::testing::evaluate(*module, {});
  EXPECT_TRUE(values.ok()) << values.status().to_string();
  std::vector<std::vector<double>> out(3);
  for (size_t k = 0; values.ok() && k < values->size(); ++k) out[k] = (*values)[k].values;
  return out;
}

/// A net with the batch 2, the input extent 2, the hidden extent 2 and three steps.
struct Net {
  const char* op;
  int64_t gates, directions = 1;
  std::vector<int64_t> lengths = {};  // none: 3
  bool bias = true, states = true, peepholes = true;
};

FoldedNode make_net(const Net& net) {
  const int64_t d = net.directions, rows = net.gates * 2;
  const bool is_lstm = net.gates == 4;
  FoldedNode node(net.op, 14, is_lstm ? 3 : 2);
  node.floats({3, 2, 2}, pattern(12, 7, 11, 5, 0.25f));
  node.floats({d, rows, 2}, weights(d * rows * 2, 0.25f));
  node.floats({d, rows, 2}, weights(d * rows * 2, 0.2f));
  if (net.bias) node.floats({d, 2 * rows}, weights(d * 2 * rows, 0.125f));
  else node.none();
  if (net.lengths.empty()) node.none();
  else node.ints({2}, net.lengths, onnx::TensorProto::INT32);
  if (net.states) node.floats({d, 2, 2}, pattern(d * 4, 7, 11, 5, 0.125f));
  else node.none();
  if (is_lstm && net.states) node.floats({d, 2, 2}, weights(d * 4, 0.25f));
  if (is_lstm && net.peepholes) node.floats({d, 6}, pattern(d * 6, 7, 11, 5, 0.1f));
  return node.with("hidden_size", 2);
}

FoldedNode rnn(int64_t directions) {
  FoldedNode node("RNN", 14, 2);
  node.floats({3, 2, 2}, pattern(12, 7, 11, 5, 0.25f));
  node.floats({directions, 2, 2}, weights(4 * directions, 0.25f));
  node.floats({directions, 2, 2}, weights(4 * directions, 0.2f));
  node.none().ints({2}, {3, 1}, onnx::TensorProto::INT32).with("hidden_size", 2);
  return node;
}

TEST(SequenceLengths, EndEachSequenceByItself) {
  expect_values(results(rnn(1))[0], {0.829802, -0.244919, 0.761594, -0.5546, -0.820501, 0.440594, 0,
                                     0, 0.946133, -0.501447, 0, 0});
  expect_values(results(rnn(1))[1], {0.946133, -0.501447, 0.761594, -0.5546});
}

TEST(SequenceLengths, AreWhereTheOtherDirectionBegins) {
  FoldedNode node = rnn(2);
  node.with("direction", "bidirectional");
  expect_values(results(node)[0], {0.829802,   -0.244919, 0.761594,  -0.5546,  -0.712415, -0.3672,
                                   -0.0624187, -0.670967, -0.820501, 0.440594, 0,         0,
                                   -0.350874,  0.654763,  0,         0,        0.946133,  -0.501447,
                                   0,          0,         -0.50983,  -0.30271, 0,         0});
  expect_values(results(node)[1], {0.946133, -0.501447, 0.761594, -0.5546, -0.712415, -0.3672,
                                   -0.0624187, -0.670967});
}

TEST(SequenceLengths, KeepTheInitialStateOfEmptySequences) {
  FoldedNode node("RNN", 14, 2);
  node.floats({1, 2, 1}, {1, 1}).floats({1, 1, 1}, {0}).floats({1, 1, 1}, {0}).none();
  node.ints({2}, {1, 0}, onnx::TensorProto::INT32).floats({1, 2, 1}, {5, 7});
  expect_values(results(node)[0], {0, 0});
  expect_values(results(node)[1], {0, 7});
}

TEST(SequenceLengths, AreKnownForTheOutputOfAnLstm) {
  FoldedNode node("LSTM", 14, 2);
  node.floats({3, 2, 2}, pattern(12, 7, 11, 5, 0.25f)).floats({1, 4, 2}, weights(8, 0.25f));
  node.floats({1, 4, 1}, weights(4, 0.2f)).none().ints({2}, {3, 1}, onnx::TensorProto::INT32);
  expect_values(results(node)[0], {-0.0209256, -0.158503, 0.0865294, 0, -0.0801285, 0});
  expect_values(results(node)[1], {-0.0801285, -0.158503});
}

TEST(SequenceLengths, AreKnownForTheCellsOfAnLstmByOnnxRuntime) {
  FoldedNode node = make_net({"LSTM", 4, 1, {2, 3}, false});
  auto y = results(node.with("direction", "reverse"));
  expect_values(y[0], {-0.135216, 0.240958, -0.103773, -0.0271444, -0.124348, 0.0908716, 0.0709208,
                       -0.165589, 0, 0, 0.0135822, -0.154137});
  expect_values(y[1], {-0.135216, 0.240958, -0.103773, -0.0271444});
  expect_values(y[2], {-0.459085, 0.482829, -0.211774, -0.0860009});
}

// Functions with parameters of their own, a limit, peepholes, states, and sequences of two lengths.
TEST(Activations, AreThoseOfOnnxRuntimeInAnLstm) {
  FoldedNode node = make_net({"LSTM", 4, 2, {3, 1}});
  node.with("direction", "bidirectional").with("clip", 0.5f);
  node.with("activations",
            Strings{"Sigmoid", "LeakyRelu", "Elu", "HardSigmoid", "Softsign", "ScaledTanh"});
  node.with("activation_alpha", std::vector<float>{0.1f, 0.7f, 0.3f, 1.5f});
  node.with("activation_beta", std::vector<float>{0.4f, 0.8f});
  auto y = results(node);
  expect_values(y[0], {-0.0729752, 0.324876,  -0.00896484, -0.0304602,  0.0381995,  -0.0217026,
                       -0.0183672, -0.178356, -0.0613722,  0.112518,    0,          0,
                       -0.0266231, 0.024648,  0,           0,           -0.0336113, 0.166871,
                       0,          0,         0.245133,    -0.00758343, 0,          0});
  expect_values(y[1], {-0.0336113, 0.166871, -0.00896484, -0.0304602, 0.0381995, -0.0217026,
                       -0.0183672, -0.178356});
  expect_values(y[2], {-0.136028, 0.345811, -0.031123, -0.122459, 0.0611397, -0.0724229, -0.0541667,
                       -0.449896});
}

TEST(Lstm, CouplesTheInputAndForgetGatesAsOnnxRuntime) {
  auto y = results(make_net({"LSTM", 4, 1, {}, false, false, false}).with("input_forget", 1));
  expect_values(y[0], {-0.0938446, 0.168624, -0.141497, 0.0797462, -0.0567485, -0.0504295,
                       -0.0833379, -0.0605604, -0.115704, 0.120591, 0.00725824, -0.218968});
  expect_values(y[1], {-0.115704, 0.120591, 0.00725824, -0.218968});
  expect_values(y[2], {-0.340512, 0.286275, 0.0199946, -0.304433});
}

TEST(Activations, AreThoseOfOnnxRuntimeInAGruFromTheEnd) {
  FoldedNode node = make_net({"GRU", 3, 1, {1, 3}});
  node.with("direction", "reverse").with("clip", 0.3f);
  auto y = results(node.with("activations", Strings{"HardSigmoid", "softplus"}));
  expect_values(y[0], {-0.106084, 0.588439, 0.640259, 0.787622, 0, 0, 0.595409, 0.702688, 0, 0,
                       0.265841, 0.642805});
  expect_values(y[1], {-0.106084, 0.588439, 0.640259, 0.787622});
}

TEST(Activations, AreThoseOfOnnxRuntimeInAGruOfTwoDirections) {
  FoldedNode node = make_net({"GRU", 3, 2, {2, 3}});
  node.with("direction", "bidirectional").with("linear_before_reset", 1);
  auto y = results(node.with("activations", Strings{"Sigmoid", "Relu", "Sigmoid", "Tanh"}));
  expect_values(
      y[0], {-0.476117,  0.988476, -0.177737, 1.25176,  0.166416, -0.326326, -0.124251, 0.0652608,
             -0.0375278, 0.458372, 0.352595,  0.436221, 0.273736, -0.186828, 0.375122,  0.257908,
             0,          0,        0.237588,  0.253299, 0,        0,         0.587758,  -0.19154});
  expect_values(
      y[1], {-0.0375278, 0.458372, 0.237588, 0.253299, 0.166416, -0.326326, -0.124251, 0.0652608});
}

/// Returns y of h = f(x + h / 2) for x = -3, -0.5, 0.3, 2.
std::vector<double> by(const char* name, const std::vector<float>& alpha = {},
                       const std::vector<float>& beta = {}) {
  FoldedNode node("RNN", 22);
  node.floats({4, 1, 1}, {-3, -0.5, 0.3f, 2}).floats({1, 1, 1}, {1}).floats({1, 1, 1}, {0.5});
  node.with("activations", Strings{name});
  if (!alpha.empty()) node.with("activation_alpha", alpha);
  if (!beta.empty()) node.with("activation_beta", beta);
  return results(node)[0];
}

TEST(Activations, AreThoseOfOnnxRuntimeInAnRnn) {
  expect_values(by("Affine", {0.5}, {0.25}), {-1.25, -0.3125, 0.321875, 1.33047});
  expect_values(by("Relu"), {0, 0, 0.3, 2.15});
  expect_values(by("ThresholdedRelu", {0.5}), {0, 0, 0, 2});
  expect_values(by("Elu"), {-0.950213, -0.622848, -0.0113589, 1.99432});
  expect_values(by("Softplus"), {0.0485873, 0.483318, 1.00021, 2.57899});
  expect_values(by("ScaledTanh", {2}, {0.5}), {-1.8103, -1.212, -0.303634, 1.45565});
  expect_values(by("LeakyRelu"), {-0.03, -0.00515, 0.297425, 2.14871});
  expect_values(by("HardSigmoid"), {0, 0.4, 0.6, 0.96});
  expect_values(by("Softsign"), {-0.75, -0.466667, 0.0625, 0.670103});
  expect_values(by("sigmoid"), {0.0474259, 0.383129, 0.620475, 0.909721});
}

// The operands between the bias and the lengths are left out, and zeros.
TEST(SequenceLengths, FollowOmittedOperands) {
  auto y = results(make_net({"RNN", 1, 1, {2, 3}, true, false}));
  FoldedNode whole = make_net({"RNN", 1, 1, {}, true, false});
  auto all = results(whole)[0];
  for (size_t k : {8, 9}) all[k] = 0;  // step 2 of the first sequence
  expect_values(y[0], all);
}

TEST(Activations, AreRefusedWithTheirNames) {
  FoldedNode node = make_net({"RNN", 1});
  EXPECT_THAT(ops_of(node.with("activations", Strings{"Sine"}).model),
              HasSubstr("activation \"Sine\" is none of ONNX's: Affine, Elu, HardSigmoid, "
                        "LeakyRelu, Relu, "));
  node = make_net({"RNN", 1});
  EXPECT_THAT(ops_of(node.with("activations", Strings{"Affine"}).model),
              HasSubstr("activation \"Affine\" needs activation_alpha and activation_beta"));
  node = make_net({"GRU", 3});
  EXPECT_THAT(ops_of(node.with("activations", Strings{"Tanh"}).model),
              HasSubstr("activations has 1 names, expected 2"));
  node = make_net({"GRU", 3});
  EXPECT_THAT(ops_of(node.with("clip", -1.0f).model), HasSubstr("clip is -1, expected at least 0"));
}

}  // namespace
}  // namespace byoc::test
