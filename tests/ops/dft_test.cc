// SPDX-License-Identifier: Apache-2.0
// dft. Expected values: numpy 1.24 (fft.fft, rfft, ifft, irfft) in f64.
#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

TEST(Dft, TransformsRealSignals) {
  expect_near(
      run_op1("dft", {pattern({6, 1})}),
      f32({6, 2}, {-2, 0, -10, -1.732051, 1, -6.928203, -10, 0, 1, 6.928203, -10, 1.732051}),
      kSmall);
}

TEST(Dft, PadsWithZerosAndReturnsOneSide) {
  expect_near(run_op1("dft", {pattern({6, 1})}, {{"length", 8}, {"onesided", true}}),
              f32({5, 2}, {-2, 0, -6, -5.071068, -2, 6, -6, -9.071068, -10, 0}), kSmall);
}

TEST(Dft, CutsLongerSignals) {
  expect_close(run_op1("dft", {f32({3, 1}, {1, 2, 100})}, {{"length", 2}}),
               f32({2, 2}, {3, 0, -1, 0}));
}

TEST(Dft, InvertsSpectra) {
  Values c = pattern({4, 2});
  expect_near(run_op1("dft", {c}, {{"inverse", true}}),
              f32({4, 2}, {-0.5, 1, -2.75, -0.25, -1.5, -1.5, -0.25, 2.75}), kSmall);
  expect_near(run_op1("dft", {c}, {{"inverse", true}, {"onesided", true}}),
              f32({6, 1}, {-0.5, -2.57735, -2.309401, -0.5, 2.309401, -1.42265}), kSmall);
  expect_near(
      run_op1("dft", {c}, {{"inverse", true}, {"onesided", true}, {"length", 7}}),
      f32({7, 1}, {0.1428571, -2.445071, -1.896645, -1.565591, 1.014359, 1.632664, -1.882572}),
      kSmall);
}

TEST(Dft, RunsAlongAnyAxisButTheLast) {
  Values x = f32({2, 2, 1}, {1, 2, 3, 4});
  expect_close(run_op1("dft", {x}, {{"axis", 0}}), f32({2, 2, 2}, {4, 0, 6, 0, -2, 0, -2, 0}));
  expect_close(run_op1("dft", {x}, {{"axis", -2}}), f32({2, 2, 2}, {3, 0, -1, 0, 7, 0, -1, 0}));
}

TEST(DftInfer, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("dft", {f32_type({2, 8, 1})}, {{"onesided", true}}), "f32[2,5,2]");
  EXPECT_EQ(
      infer("dft", {f32_type({8, 3})}),
      "dft: x must have rank 2 or more, and a last dim of 1 (real) or 2 (complex) (x f32[8,3])");
  EXPECT_EQ(infer("dft", {f32_type({8, 2})}, {{"axis", 1}}),
            "dft: axis is the last dim, which holds real and imaginary parts (x f32[8,2])");
  EXPECT_EQ(infer("dft", {f32_type({8, 2})}, {{"onesided", true}}),
            "dft: one side of the spectrum requires real x (x f32[8,2])");
  EXPECT_EQ(infer("dft", {f32_type({8, 1})}, {{"onesided", true}, {"inverse", true}}),
            "dft: one side of the inverse requires complex x (x f32[8,1])");
  EXPECT_EQ(infer("dft", {f32_type({0, 1})}),
            "dft: the length is 0, expected 1 to 2^31 - 1 (x f32[0,1])");
}

}  // namespace
}  // namespace byoc::testing
