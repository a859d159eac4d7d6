// SPDX-License-Identifier: Apache-2.0
// Recurrent nets. Expected values: torch 1.13 (nn.LSTM, nn.GRU, nn.RNN) in f64, with the gates in
// ONNX's order. For gru without linear_before_reset and for peepholes: ONNX's equations in numpy.
#include "pattern.h"

namespace byoc::testing {
namespace {

const double kSixDigits = 1e-5;  // the expected values are written with six digits

Values eighths(Values values) {
  for (double& value : values.values) value /= 8;
  return values;
}
Values x() { return eighths(pattern({3, 2, 3})); }
// The weights w, r and b have the hidden extent 2; h and c are initial states.
Values w(int64_t directions, int64_t gates) { return eighths(weights({directions, gates * 2, 3})); }
Values r(int64_t directions, int64_t gates) {
  return eighths(pattern({directions, gates * 2, 2}, 3, 5, 2));
}
Values b(int64_t directions, int64_t gates) { return eighths(weights({directions, gates * 4})); }
Values h(int64_t directions) { return eighths(pattern({directions, 2, 2})); }
Values c(int64_t directions) { return eighths(weights({directions, 2, 2})); }

std::vector<Values> outputs(std::string_view op, const std::vector<Values>& in, Attrs attrs) {
  auto results = run_op(op, in, std::move(attrs));
  if (results.ok()) return *results;
  ADD_FAILURE() << results.status().to_string();
  return std::vector<Values>(3);
}

TEST(Lstm, RunsBothWaysFromInitialStates) {
  auto y = outputs("lstm", {x(), w(2, 4), r(2, 4), b(2, 4), h(2), c(2)},
                   {{"direction", "bidirectional"}});
  expect_near(y[0],
              f32({3, 2, 2, 2}, {-0.187885, 0.092397,  -0.002469, -0.177286, 0.168137,  -0.081488,
                                 0.027871,  -0.229275, -0.155182, -0.025877, -0.058345, -0.162862,
                                 0.070101,  -0.166264, 0.032827,  -0.245332, -0.207029, -0.102683,
                                 -0.155759, -0.165855, 0.129820,  -0.071712, 0.035295,  -0.193365}),
              kSixDigits);
  expect_near(y[1],
              f32({2, 2, 2}, {-0.207029, -0.102683, -0.155759, -0.165855, 0.168137, -0.081488,
                              0.027871, -0.229275}),
              kSixDigits);
  expect_near(y[2],
              f32({2, 2, 2}, {-0.446785, -0.172821, -0.315358, -0.282162, 0.300774, -0.170156,
                              0.048781, -0.458743}),
              kSixDigits);
}

TEST(Lstm, StartsFromZerosWithoutStates) {
  auto y = outputs("lstm", {x(), w(1, 4), r(1, 4)}, {});
  expect_near(y[0],
              f32({3, 1, 2, 2}, {-0.046766, 0.073111, 0.057432, -0.042109, 0.030467, -0.001106,
                                 0.072529, -0.054954, 0.012290, -0.043217, 0.020138, -0.066456}),
              kSixDigits);
  expect_near(y[2], f32({1, 2, 2}, {0.022166, -0.075350, 0.035622, -0.116348}), kSixDigits);
}

TEST(Lstm, RunsInReverse) {
  auto y = outputs("lstm", {x(), w(1, 4), r(1, 4)}, {{"direction", "reverse"}});
  expect_near(y[0],
              f32({3, 1, 2, 2}, {-0.027313, 0.050138, 0.071832, -0.067032, 0.046510, -0.054577,
                                 0.033174, -0.048676, -0.003994, -0.042643, -0.016309, -0.037576}),
              kSixDigits);
  expect_near(y[1], f32({1, 2, 2}, {-0.027313, 0.050138, 0.071832, -0.067032}), kSixDigits);
}

TEST(Lstm, LooksThroughPeepholes) {
  Values none = f32({1, 16}, std::vector<double>(16, 0)),
         zero = f32({1, 2, 2}, std::vector<double>(4, 0));
  auto y = outputs("lstm", {x(), w(1, 4), r(1, 4), none, zero, c(1), eighths(weights({1, 6}))}, {});
  expect_near(y[0],
              f32({3, 1, 2, 2}, {-0.129481, 0.123231, 0.057432, -0.105585, -0.001937, 0.027596,
                                 0.069598, -0.085739, -0.003265, -0.027968, 0.018177, -0.081184}),
              kSixDigits);
  expect_near(y[2], f32({1, 2, 2}, {-0.005907, -0.048616, 0.032044, -0.140127}), kSixDigits);
}

TEST(Lstm, KeepsItsStatesWhenThereAreNoSteps) {
  Values none = f32({0, 2, 3}, {});
  auto y = outputs("lstm", {none, w(1, 4), r(1, 4), b(1, 4), h(1), c(1)}, {});
  EXPECT_EQ(y[0].type, f32_type({0, 1, 2, 2}));
  expect_close(y[1], h(1));
  expect_close(y[2], c(1));
}

TEST(Gru, ResetsBeforeOrAfterTheProduct) {
  std::vector<Values> in = {x(), w(1, 3), r(1, 3), b(1, 3), h(1)};
  auto y = outputs("gru", in, {{"linear_before_reset", true}});
  expect_near(y[0],
              f32({3, 1, 2, 2}, {-0.237425, 0.244242, 0.168326, 0.566031, 0.198537, 0.386849,
                                 0.395990, 0.520004, 0.123300, 0.296251, 0.239187, 0.347903}),
              kSixDigits);
  y = outputs("gru", in, {});
  expect_near(y[0],
              f32({3, 1, 2, 2}, {-0.296466, 0.343800, 0.094148, 0.647826, 0.101218, 0.519860,
                                 0.297840, 0.646946, 0.014644, 0.457460, 0.131604, 0.507458}),
              kSixDigits);
  expect_near(y[1], f32({1, 2, 2}, {0.014644, 0.457460, 0.131604, 0.507458}), kSixDigits);
}

TEST(Rnn, RunsBothWays) {
  auto y = outputs("rnn", {x(), w(2, 1), r(2, 1), b(2, 1), h(2)}, {{"direction", "bidirectional"}});
  expect_near(y[0],
              f32({3, 2, 2, 2}, {0.108941,  0.344663,  -0.411570, 0.031240,  0.258175,  -0.341426,
                                 0.127050,  -0.349476, -0.498007, -0.114448, -0.413709, -0.158155,
                                 0.035250,  -0.369107, 0.070265,  -0.385961, -0.397818, -0.044457,
                                 -0.406964, -0.096895, 0.509830,  0.108941,  0.462117,  0.093476}),
              kSixDigits);
  expect_near(y[1],
              f32({2, 2, 2}, {-0.397818, -0.044457, -0.406964, -0.096895, 0.258175, -0.341426,
                              0.127050, -0.349476}),
              kSixDigits);
}

TEST(Recurrent, RefusesLengthsOutside) {
  const std::vector<Values> two = {x(), w(1, 1), r(1, 1), b(1, 1), h(1), i64({2}, {3, 0})};
  EXPECT_TRUE(run_op("rnn", two).ok());
  for (double length : {-1.0, 4.0}) {
    std::vector<Values> in = two;
    in.back() = i64({2}, {2, length});
    auto got = run_op("rnn", in);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.status().code(), Code::kOutOfRange);
    EXPECT_EQ(got.status().message(), cat("rnn: lengths holds ", length, ", expected 0 to 3"));
  }
}

TEST(RecurrentInfer, KeepsSymbolicTimeAndBatch) {
  Dim t = Dim::symbol("T"), n = Dim::symbol("N");
  EXPECT_EQ(infer("lstm", {f32_type({t, n, 3}), f32_type({1, 8, 3}), f32_type({1, 8, 2})}),
            "f32[T,1,N,2] f32[1,N,2] f32[1,N,2]");
  EXPECT_EQ(infer("gru", {f32_type({t, n, 3}), f32_type({1, 6, 3}), f32_type({1, 6, 2})}),
            "f32[T,1,N,2] f32[1,N,2]");
}

TEST(RecurrentInfer, RejectsFunctionsAndLengths) {
  TensorType x = f32_type({4, 5, 3}), w = f32_type({1, 2, 3}), r = f32_type({1, 2, 2});
  TensorType b = f32_type({1, 4}), h = f32_type({1, 5, 2});
  EXPECT_EQ(infer("rnn", {x, w, r}, {{"activations", Strings{"Sine"}}}),
            "rnn: activation \"Sine\" is none of Sigmoid, Tanh, Relu, Affine, LeakyRelu, "
            "ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign, Softplus");
  EXPECT_EQ(infer("rnn", {x, w, r}, {{"activations", Strings{"Relu", "Relu"}}}),
            "rnn: has 2 activations, expected 1");
  EXPECT_EQ(infer("rnn", {x, w, r}, {{"alpha", Floats{1}}}),
            "rnn: has 0 activations, and 1 values of alpha");
  EXPECT_EQ(infer("rnn", {x, w, r}, {{"clip", -1.0}}), "rnn: clip is -1, expected at least 0");
  EXPECT_EQ(infer("rnn", {x, w, r, b, h, type_of(DType::kI32, {5})}),
            "rnn: lengths is i32[5], expects one of i64");
  EXPECT_THAT(infer("rnn", {x, w, r, b, h, type_of(DType::kI64, {4})}),
              ::testing::HasSubstr("rnn: lengths must have shape [5]"));
  EXPECT_EQ(infer("rnn", {x, w, r, b, h, type_of(DType::kI64, {5})}), "f32[4,1,5,2] f32[1,5,2]");
}

TEST(RecurrentInfer, RejectsWhatDoesNotFit) {
  TensorType x = f32_type({4, 5, 3}), w = f32_type({1, 8, 3}), r = f32_type({1, 8, 2}),
             b = f32_type({1, 16});
  TensorType state = f32_type({1, 5, 2});
  EXPECT_EQ(infer("lstm", {x, w, r}, {{"direction", "backward"}}),
            "lstm: direction is \"backward\", expected forward, reverse or bidirectional");
  EXPECT_EQ(infer("lstm", {x, w, r}, {{"direction", "bidirectional"}}),
            "lstm: r must have shape [2,8,2] (f32[4,5,3], f32[1,8,3], f32[1,8,2])");
  EXPECT_EQ(infer("lstm", {x, f32_type({1, 8, 4}), r}),
            "lstm: w must have shape [1,8,3] (f32[4,5,3], f32[1,8,4], f32[1,8,2])");
  EXPECT_EQ(infer("lstm", {x, w, r, f32_type({1, 8})}),
            "lstm: b must have shape [1,16] (f32[4,5,3], f32[1,8,3], f32[1,8,2], f32[1,8])");
  EXPECT_EQ(infer("lstm", {x, w, r, b, f32_type({1, 4, 2})}),
            "lstm: initial_h must have shape [1,5,2] (f32[4,5,3], f32[1,8,3], f32[1,8,2], "
            "f32[1,16], f32[1,4,2])");
  EXPECT_EQ(infer("lstm", {x, w, r, b, state, f32_type({1, 4, 2})}),
            "lstm: initial_c must have shape [1,5,2] (f32[4,5,3], f32[1,8,3], f32[1,8,2], "
            "f32[1,16], f32[1,5,2], f32[1,4,2])");
  EXPECT_EQ(infer("lstm", {x, w, r, b, state, state, b}),
            "lstm: p must have shape [1,6] (f32[4,5,3], f32[1,8,3], f32[1,8,2], f32[1,16], "
            "f32[1,5,2], f32[1,5,2], f32[1,16])");
  EXPECT_EQ(infer("rnn", {f32_type({5, 3}), w, r}), "rnn: x has rank 2, expects 3 (x f32[5,3])");
  EXPECT_EQ(infer("gru", {x, w, f32_type({8, 2})}), "gru: r has rank 2, expects 3 (r f32[8,2])");
  EXPECT_EQ(infer("gru", {x, w, f32_type({1, 6, Dim::symbol("H")})}),
            "gru: the shape of r must be known (f32[4,5,3], f32[1,8,3], f32[1,6,H])");
  EXPECT_EQ(infer("lstm", {x, type_of(DType::kF64, {1, 8, 3}), r}),
            "lstm: inputs 0 and 1 are f32[4,5,3] and f64[1,8,3], expects one dtype");
  EXPECT_EQ(infer("lstm", {type_of(DType::kI32, {4, 5, 3}), w, r}),
            "lstm: x is i32[4,5,3], expects one of f32 f64 f16 bf16");
}

}  // namespace
}  // namespace byoc::testing
