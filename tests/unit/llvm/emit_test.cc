// SPDX-License-Identifier: Apache-2.0
// Compiles hand-written loop functions to machine code, runs them, and compares with plain C++.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "run_loops.h"

namespace byoc {
namespace {

using te::LoopKind;
using te::Stmt;
using te::Tensor;
using test::Data;
using test::f32;
using ::testing::ElementsAre;

std::vector<float> counting(size_t n) {
  std::vector<float> out(n);
  for (size_t k = 0; k < n; ++k) out[k] = static_cast<float>(k % 97) - 40;
  return out;
}

/// Returns one loop that computes y[i] = value(x, i) for i < n.
te::LoopFunction map(int64_t n, int64_t size, LoopKind kind,
                     const std::function<te::Expr(const Tensor&, te::Expr)>& value) {
  Tensor x("x", DType::kF32, {size}), y("y", DType::kF32, {n});
  auto body = te::loop(
      "i", n, [&](te::Expr i) { return te::make_store(y, {i}, value(x, i)); }, kind);
  return {"map", {x}, {y}, body};
}

TEST(EmitLoops, EveryKindOfLoopComputesTheSame) {
  for (LoopKind kind :
       {LoopKind::kSerial, LoopKind::kParallel, LoopKind::kVectorized, LoopKind::kUnrolled}) {
    auto function =
        map(13, 13, kind, [](const Tensor& x, te::Expr i) { return x(i) * x(i) + x(i); });
    auto x = counting(13), y = test::run_f32(function, x);
    for (size_t k = 0; k < y.size(); ++k) EXPECT_EQ(y[k], x[k] * x[k] + x[k]);
  }
}

TEST(EmitLoops, VectorsOfAnyExtentStayInsideTheirTensors) {  // a guard page follows each
  for (int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 31, 64, 65, 100, 1000}) {
    auto function =
        map(n, n, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) { return x(i) + x(i); });
    auto x = counting(static_cast<size_t>(n)), y = test::run_f32(function, x);
    for (size_t k = 0; k < y.size(); ++k) ASSERT_EQ(y[k], 2 * x[k]) << n;
  }
}

TEST(EmitLoops, LoadsWithStridesAndThroughIndices) {
  auto every_third =
      map(10, 30, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) { return x(i * 3 + 1); });
  auto backwards =
      map(10, 30, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) { return x(29 - i); });
  auto scattered = map(10, 30, LoopKind::kVectorized,
                       [](const Tensor& x, te::Expr i) { return x(te::floor_mod(i * 7, 30)); });
  auto same = map(10, 30, LoopKind::kVectorized,
                  [](const Tensor& x, te::Expr i) { return x(te::floor_div(i, 16) + 5); });
  auto x = counting(30);
  auto a = test::run_f32(every_third, x), b = test::run_f32(backwards, x);
  auto c = test::run_f32(scattered, x), d = test::run_f32(same, x);
  for (size_t k = 0; k < 10; ++k) {
    EXPECT_EQ(a[k], x[3 * k + 1]);
    EXPECT_EQ(b[k], x[29 - k]);
    EXPECT_EQ(c[k], x[7 * k % 30]);
    EXPECT_EQ(d[k], x[5]);
  }
}

TEST(EmitLoops, LoadsEverySecondElementAndNothingAfterTheLast) {  // a guard page follows it
  for (int64_t n : {1, 2, 3, 4, 7, 8, 14, 15, 16, 31, 64, 100}) {
    auto function = map(n, 2 * n - 1, LoopKind::kVectorized,
                        [](const Tensor& x, te::Expr i) { return x(i * 2); });
    auto x = counting(static_cast<size_t>(2 * n - 1)), y = test::run_f32(function, x);
    for (size_t k = 0; k < y.size(); ++k) ASSERT_EQ(y[k], x[2 * k]) << n;
  }
}

// Lanes that read an element several times, or rows of them, from a vector of few elements.
TEST(EmitLoops, LoadsElementsForSeveralLanesAndNothingAfterTheLast) {  // a guard page follows
  for (int64_t times : {1, 2, 3, 4, 7, 8, 16, 32}) {
    for (int64_t n : {1, 2, 7, 8, 15, 16, 24, 31, 56, 100}) {
      auto repeated = map(n, (n + times - 1) / times, LoopKind::kVectorized,
                          [&](const Tensor& x, te::Expr i) { return x(te::floor_div(i, times)); });
      auto periodic = map(n, times, LoopKind::kVectorized,
                          [&](const Tensor& x, te::Expr i) { return x(te::floor_mod(i, times)); });
      auto x = counting(static_cast<size_t>((n + times - 1) / times));
      auto y = test::run_f32(repeated, x);
      for (size_t k = 0; k < y.size(); ++k)
        ASSERT_EQ(y[k], x[k / static_cast<size_t>(times)]) << n << " by " << times;
      x = counting(static_cast<size_t>(times)), y = test::run_f32(periodic, x);
      for (size_t k = 0; k < y.size(); ++k)
        ASSERT_EQ(y[k], x[k % static_cast<size_t>(times)]) << n << " by " << times;
    }
  }
}

TEST(EmitLoops, LoadsElementsForSeveralLanesFromSumsOfIndicesAndUnderAMask) {
  auto sums = map(64, 200, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) {
    return x(te::floor_div(i, 4) * 3 + te::floor_mod(i, 4) * 40 + te::floor_div(i, 8));
  });
  auto masked = map(16, 6, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) {
    return te::select(i < te::Expr(11), x(te::floor_div(i, 2)), te::constant(DType::kF32, -1));
  });
  auto x = counting(200), y = test::run_f32(sums, x);
  for (size_t k = 0; k < 64; ++k) EXPECT_EQ(y[k], x[k / 4 * 3 + k % 4 * 40 + k / 8]) << k;
  x = counting(6), y = test::run_f32(masked, x);
  for (size_t k = 0; k < 16; ++k) EXPECT_EQ(y[k], k < 11 ? x[k / 2] : -1) << k;
}

TEST(EmitLoops, StoresLanesInAnOrderOfTheirOwn) {
  Tensor x("x", DType::kF32, {48}), y("y", DType::kF32, {48});
  auto body = te::loop(
      "i", 48,
      [&](te::Expr i) {
        return te::make_store(y, {te::floor_mod(i, 4) * 12 + te::floor_div(i, 4)}, x(i));
      },
      LoopKind::kVectorized);
  const auto in = counting(48);
  const auto out = test::run_f32({"map", {x}, {y}, body}, in);
  for (size_t k = 0; k < 48; ++k) EXPECT_EQ(out[k % 4 * 12 + k / 4], in[k]) << k;
}

TEST(EmitLoops, LoadsEverySecondElementOfOtherDtypesAndUnderAMask) {
  for (DType dtype : {DType::kI8, DType::kF64}) {
    Tensor x("x", dtype, {25}), y("y", dtype, {13});
    auto body = te::loop(
        "i", 13, [&](te::Expr i) { return te::make_store(y, {i}, x(i * 2)); },
        LoopKind::kVectorized);
    Data in{dtype, std::vector<std::byte>(25 * dtype_size(dtype))};
    for (size_t k = 0; k < in.bytes.size(); ++k) in.bytes[k] = static_cast<std::byte>(k);
    const Data out = test::run_loops({"map", {x}, {y}, body}, {in})[0];
    for (size_t k = 0; k < out.bytes.size(); ++k) {
      const size_t element = k / dtype_size(dtype), byte = k % dtype_size(dtype);
      EXPECT_EQ(out.bytes[k], in.bytes[2 * element * dtype_size(dtype) + byte]) << k;
    }
  }
  auto masked = map(16, 21, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) {
    return te::select(i < te::Expr(11), x(i * 2), te::constant(DType::kF32, -1));
  });
  auto x = counting(21), y = test::run_f32(masked, x);
  for (size_t k = 0; k < 16; ++k) EXPECT_EQ(y[k], k < 11 ? x[2 * k] : -1) << k;
}

TEST(EmitSelect, GuardsLoadsOutsideOfTheirTensor) {  // padding: 5 before, 4 after
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized}) {
    for (DType dtype : {DType::kF32, DType::kI8, DType::kF64}) {
      Tensor x("x", dtype, {11}), y("y", dtype, {20});
      auto body = te::loop(
          "i", 20,
          [&](te::Expr i) {
            auto inside = te::Expr(5) <= i && i < te::Expr(16);
            return te::make_store(y, {i}, te::select(inside, x(i - 5), te::constant(dtype, -1)));
          },
          kind);
      std::vector<int8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
      std::vector<float> floats(bytes.begin(), bytes.end());
      std::vector<double> doubles(bytes.begin(), bytes.end());
      test::Data in = dtype == DType::kI8    ? test::Data::of(dtype, bytes)
                      : dtype == DType::kF32 ? f32(floats)
                                             : test::Data::of(dtype, doubles);
      test::Data out = test::run_loops({"pad", {x}, {y}, body}, {in})[0];
      for (size_t k = 0; k < 20; ++k) {
        double expected = k >= 5 && k < 16 ? static_cast<double>(k - 4) : -1;
        double got = dtype == DType::kI8    ? out.as<int8_t>()[k]
                     : dtype == DType::kF32 ? double{out.as<float>()[k]}
                                            : out.as<double>()[k];
        ASSERT_EQ(got, expected) << k << " " << dtype_name(dtype);
      }
    }
  }
}

TEST(EmitSelect, GuardsOneValueForAllLanes) {  // no lane uses it: no load
  auto function = map(16, 4, LoopKind::kVectorized, [](const Tensor& x, te::Expr i) {
    te::Expr far = te::cast(DType::kI64, x(0)) * (int64_t{1} << 40);
    return te::select(i < te::Expr(0), x(far), x(1));
  });
  EXPECT_THAT(test::run_f32(function, {3, 7, 0, 0}), ::testing::Each(7));
}

TEST(EmitIf, StoresUnderAMask) {
  Tensor x("x", DType::kF32, {16}), y("y", DType::kF32, {16});
  auto body = te::loop(
      "i", 16,
      [&](te::Expr i) {
        return te::make_if(x(i) < te::constant(DType::kF32, 0),
                           te::make_store(y, {i}, te::constant(DType::kF32, -1)),
                           te::make_store(y, {i}, x(i)));
      },
      LoopKind::kVectorized);
  auto values = counting(16);
  values[3] = 5;
  auto y_values = test::run_f32({"clip", {x}, {y}, body}, values);
  for (size_t k = 0; k < 16; ++k) EXPECT_EQ(y_values[k], values[k] < 0 ? -1 : values[k]);
}

TEST(EmitLoops, ABodyThatVectorsCannotDoRunsAllTheSame) {  // a sum: all lanes store to one element
  Tensor x("x", DType::kF32, {20}), y("y", DType::kF32, {1});
  auto body =
      te::make_block({te::make_store(y, {0}, te::constant(DType::kF32, 0)),
                      te::loop(
                          "i", 20, [&](te::Expr i) { return te::make_store(y, {0}, y(0) + x(i)); },
                          LoopKind::kVectorized)});
  EXPECT_THAT(test::run_f32({"sum", {x}, {y}, body}, std::vector<float>(20, 1.5f)),
              ElementsAre(30));
}

/// Returns c[m][n] = sum over k of a[m][k] b[k][n], with the sums of a row on the stack.
te::LoopFunction row_sums(int64_t m, int64_t k, int64_t n, te::Scope scope, LoopKind outer) {
  Tensor a("a", DType::kF32, {m, k}), b("b", DType::kF32, {k, n}), c("c", DType::kF32, {m, n});
  auto body = te::loop(
      "i", m,
      [&](te::Expr i) {
        Tensor acc("acc", DType::kF32, {n});
        auto lanes = [&](const std::function<te::Stmt(te::Expr)>& inside) {
          return te::loop("j", n, inside, LoopKind::kVectorized);
        };
        return te::make_alloc(
            acc, scope,
            te::make_block({lanes([&](te::Expr j) {
                              return te::make_store(acc, {j}, te::constant(DType::kF32, 0));
                            }),
                            te::loop("k", k,
                                     [&](te::Expr r) {
                                       return lanes([&](te::Expr j) {
                                         return te::make_store(acc, {j},
                                                               acc(j) + a(i, r) * b(r, j));
                                       });
                                     }),
                            lanes([&](te::Expr j) {
                              return te::make_store(c, {i, j}, acc(j));
                            })}));
      },
      outer);
  return {"rows", {a, b}, {c}, body};
}

// A session may have more threads, or fewer, than the function was compiled for.
TEST(EmitAlloc, StackAndWorkspaceAndOneWorkspacePerWorker) {
  const int64_t m = 370, k = 11, n = 20;
  auto a = counting(static_cast<size_t>(m * k)), b = counting(static_cast<size_t>(k * n));
  std::vector<float> expected(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t r = 0; r < k; ++r)
        expected[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + r)] * b[static_cast<size_t>(r * n + j)];
  for (te::Scope scope : {te::Scope::kStack, te::Scope::kWorkspace}) {
    for (LoopKind outer : {LoopKind::kSerial, LoopKind::kParallel}) {
      for (uint32_t threads : {1u, 2u, 3u}) {
        for (uint32_t compiled_for : {1u, 2u, 4u}) {
          auto c = test::run_loops(row_sums(m, k, n, scope, outer), {f32(a), f32(b)},
                                   {.threads = threads, .compiled_for = compiled_for});
          EXPECT_EQ(c[0].as<float>(), expected) << threads << " threads, for " << compiled_for;
        }
      }
    }
  }
}

TEST(EmitLet, NamesAValueOfEachLane) {
  Tensor x("x", DType::kF32, {12}), y("y", DType::kF32, {12});
  te::Var index("k"), twice("t", DType::kF32);
  auto body = te::loop(
      "i", 12,
      [&](te::Expr i) {
        te::Stmt store = te::make_store(y, {index}, te::Expr(twice) + x(index));
        return te::make_let(index, te::Expr(11) - i, te::make_let(twice, x(i) + x(i), store));
      },
      LoopKind::kVectorized);
  auto in = counting(12), out = test::run_f32({"let", {x}, {y}, body}, in);
  for (size_t k = 0; k < 12; ++k) EXPECT_EQ(out[k], 2 * in[11 - k] + in[k]);
}

/// Returns a loop that stores `count` values per iteration, in turns: y[count i + q] = x[q n + i].
te::LoopFunction in_turns(int64_t n, int64_t count, DType dtype = DType::kF32) {
  Tensor x("x", DType::kF32, {n * count}), y("y", dtype, {n * count});
  auto body = te::loop(
      "i", n,
      [&](te::Expr i) {
        std::vector<te::Stmt> stores;
        for (int64_t q = 0; q < count; ++q)
          stores.push_back(te::make_store(y, {i * count + q}, te::cast(dtype, x(i + q * n))));
        return te::make_block(std::move(stores));
      },
      LoopKind::kVectorized);
  return {"in_turns", {x}, {y}, body};
}

TEST(EmitStore, FillsRowsWithLanesInTurns) {  // a guard page follows them
  for (int64_t count : {2, 3, 4, 5, 6, 7, 8, 9}) {
    for (int64_t n : {1, 2, 3, 7, 16, 31, 100}) {
      auto x = counting(static_cast<size_t>(n * count));
      auto y = test::run_f32(in_turns(n, count), x);
      for (int64_t k = 0; k < n * count; ++k)
        ASSERT_EQ(y[static_cast<size_t>(k)], x[static_cast<size_t>(k % count * n + k / count)])
            << count << " of " << n;
    }
  }
  const std::vector<float> x = counting(62);
  const auto y = test::run_loops(in_turns(31, 2, DType::kF64), {f32(x)})[0].as<double>();
  for (size_t k = 0; k < y.size(); ++k) EXPECT_EQ(y[k], x[k % 2 * 31 + k / 2]);
}

// The same stores, with the loop over them outside.
TEST(EmitStore, FillsRowsOfAnUnrolledLoopAroundVectors) {
  for (int64_t count : {2, 3, 4, 7, 8, 9}) {
    for (int64_t n : {1, 5, 16, 33, 200}) {
      Tensor x("x", DType::kF32, {n * count}), y("y", DType::kF32, {n * count});
      auto vectors = [&](te::Expr q) {
        return te::loop(
            "i", n, [&](te::Expr i) { return te::make_store(y, {i * count + q}, x(i + q * n)); },
            LoopKind::kVectorized);
      };
      const auto from = counting(static_cast<size_t>(n * count));
      const auto to = test::run_f32(
          {"rows", {x}, {y}, te::loop("q", count, vectors, LoopKind::kUnrolled)}, from);
      for (int64_t k = 0; k < n * count; ++k)
        ASSERT_EQ(to[static_cast<size_t>(k)], from[static_cast<size_t>(k % count * n + k / count)])
            << count << " of " << n;
    }
  }
}

// The second store reads what the first one wrote, or leaves a gap, or goes back.
TEST(EmitStore, KeepsTheOrderOfStoresThatFillNoRows) {
  Tensor x("x", DType::kF32, {40}), y("y", DType::kF32, {60});
  auto run = [&](const std::function<std::vector<te::Stmt>(te::Expr)>& stores) {
    Stmt clear = te::loop(
        "k", 60, [&](te::Expr k) { return te::make_store(y, {k}, te::constant(DType::kF32, 0)); });
    Stmt all = te::loop(
        "i", 20, [&](te::Expr i) { return te::make_block(stores(i)); }, LoopKind::kVectorized);
    return test::run_f32({"stores", {x}, {y}, te::make_block({clear, all})}, counting(40));
  };
  const std::vector<float> from = counting(40);
  auto a = run([&](te::Expr i) {
    return std::vector{te::make_store(y, {i * 2}, x(i)),
                       te::make_store(y, {i * 2 + 1}, y(i * 2) + x(i))};
  });
  auto b = run([&](te::Expr i) {
    return std::vector{te::make_store(y, {i * 3}, x(i)), te::make_store(y, {i * 3 + 1}, x(i + 20))};
  });
  auto c = run([&](te::Expr i) {
    return std::vector{te::make_store(y, {i * 2 + 1}, x(i)), te::make_store(y, {i * 2}, x(i + 20))};
  });
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(a[2 * i], from[i]);
    EXPECT_EQ(a[2 * i + 1], 2 * from[i]);
    EXPECT_EQ(b[3 * i], from[i]);
    EXPECT_EQ(b[3 * i + 1], from[i + 20]);
    EXPECT_EQ(b[3 * i + 2], 0);
    EXPECT_EQ(c[2 * i + 1], from[i]);
    EXPECT_EQ(c[2 * i], from[i + 20]);
  }
}

TEST(EmitErrors, NameAnIntrinsicThatIsNotKnown) {
  Tensor y("y", DType::kF32, {1});
  te::LoopFunction function{"f", {}, {y}, te::make_intrinsic("gemm_9x9", {{y, {0}}}, {})};
  auto kernel = llvm_plugin::compile_kernel(function, "k", test::this_machine(), {});
  EXPECT_EQ(kernel.status().message(), "no micro-kernel is called gemm_9x9");
}

TEST(EmitErrors, NameAPrefetchOfNoPlace) {
  Tensor y("y", DType::kF32, {1});
  te::LoopFunction function{"f", {}, {y}, te::make_intrinsic("prefetch", {}, {})};
  auto kernel = llvm_plugin::compile_kernel(function, "k", test::this_machine(), {});
  EXPECT_EQ(kernel.status().message(), "prefetch takes 1 place and no values, not 0 and 0");
}

// The indices of all lanes add up to one place, in which one lane stores.
TEST(EmitStore, WritesThePlaceThatOneLaneMeans) {
  Tensor x("x", DType::kF32, {4}), y("y", DType::kF32, {4, 1});
  auto body = te::loop(
      "i", 4,
      [&](te::Expr i) {
        return te::make_if(i == te::Expr(2), te::make_store(y, {i, te::Expr(2) - i}, x(i)));
      },
      LoopKind::kVectorized);
  auto out = test::run_loops({"one_place", {x}, {y}, body}, {test::f32({1, 2, 3, 4})})[0];
  EXPECT_EQ(out.as<float>()[2], 3);
  EXPECT_EQ(out.as<uint32_t>()[3], 0xcdcdcdcd);
}

}  // namespace
}  // namespace byoc
