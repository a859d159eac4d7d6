// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices in blocks of 4 and 8 bits, and of 16-bit floats, on random shapes
// against sums by their definition in f64.
#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/machine/machine.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr double kUnits = 2e-6;  // of the sum of the largest magnitudes that the format has

/// A product of x [.., k] with a matrix [k, n]. `bits`: 4, 8, or 16 for bf16, whose form may be
/// transposed.
struct Narrow {
  Ints rows;
  int64_t k, n, bits, block;
  bool has_zeros, is_transposed;
  int64_t sliced = 0;         // columns that a slice after the product leaves out
  bool is_flattened = false;  // a reshape to one dim is after it
  bool is_result = false;     // the product itself is a second result
  bool is_rounded = false;    // rows are rounded to 8 bits
  bool has_ends = false;      // of the ranges alone, for rows and for entries of a column alike
  float largest = 1;          // of the largest element of the rows
  float sixth = 0;            // element of each row, where it is not 0
  int64_t count() const { return (k + block - 1) / block; }
  bool has_blocks() const { return bits < 16; }
};

/// Operands in the order of the op, and the matrix.
struct Operands {
  std::vector<test::Data> data;
  std::vector<TensorType> types;
  std::vector<double> matrix;     // [k, n]
  std::vector<double> magnitude;  // [n]: the largest entry of a column that the format has
};

size_t size(int64_t n) { return static_cast<size_t>(n); }

void add(Operands& to, test::Data data, const Ints& extents) {
  to.types.push_back({data.dtype, make_shape(extents)});
  to.data.push_back(std::move(data));
}

void add_blocks(Operands& to, const Narrow& c, std::minstd_rand& random) {
  const int64_t bytes = c.count() * c.block * c.bits / 8, middle = int64_t{1} << (c.bits - 1);
  std::vector<uint8_t> codes(size(c.n * bytes)), zeros(size(c.n * c.count()));
  std::vector<float> scales(zeros.size());
  for (uint8_t& code : codes) code = static_cast<uint8_t>(random() >> 7);
  if (c.has_ends)
    for (size_t k = 0; k < codes.size(); ++k)
      codes[k] = k / size(bytes) % 3 == 2 ? codes[k] : k / size(bytes) % 3 == 1 ? 255 : 0;
  for (uint8_t& zero : zeros) zero = static_cast<uint8_t>(random() % size(2 * middle));
  for (float& scale : scales) scale = 0.01f + static_cast<float>(random() % 100) / 1000;
  to.matrix.resize(size(c.k * c.n)), to.magnitude.resize(size(c.n));
  for (int64_t column = 0; column < c.n; ++column) {
    for (int64_t row = 0; row < c.k; ++row) {
      const int64_t grain = column * c.count() + row / c.block;
      const int byte = codes[size(column * bytes + row * c.bits / 8)];
      const int code = c.bits == 8 ? byte : row % 2 == 0 ? byte & 15 : byte >> 4;
      const double zero = c.has_zeros ? zeros[size(grain)] : static_cast<double>(middle);
      to.matrix[size(row * c.n + column)] = (code - zero) * double{scales[size(grain)]};
      double& most = to.magnitude[size(column)];
      most = std::max(most, 2.0 * static_cast<double>(middle) * scales[size(grain)]);
    }
  }
  add(to, test::Data::of(DType::kU8, codes), {c.n, bytes});
  add(to, test::f32(scales), {c.n, c.count()});
  if (c.has_zeros) add(to, test::Data::of(DType::kU8, zeros), {c.n, c.count()});
}

void add_halves(Operands& to, const Narrow& c, std::minstd_rand& random) {
  std::vector<uint16_t> weight(size(c.k * c.n));
  to.matrix.resize(weight.size()), to.magnitude.assign(size(c.n), 2);
  for (int64_t row = 0; row < c.k; ++row) {
    for (int64_t column = 0; column < c.n; ++column) {
      const auto bits = static_cast<uint32_t>(0x3f80 + random() % 128);  // 1 to 2
      weight[size(c.is_transposed ? column * c.k + row : row * c.n + column)] =
          static_cast<uint16_t>(bits);
      to.matrix[size(row * c.n + column)] = std::bit_cast<float>(bits << 16);
    }
  }
  add(to, test::Data::of(DType::kBF16, weight), c.is_transposed ? Ints{c.n, c.k} : Ints{c.k, c.n});
}

Operands operands_of(const Narrow& c, std::minstd_rand& random) {
  Operands out;
  Ints shape = c.rows;
  shape.push_back(c.k);
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> x(size(count));
  for (float& value : x) value = number(random) * c.largest;
  if (c.sixth != 0)
    for (size_t k = 5; k < x.size(); k += size(c.k)) x[k] = c.sixth;
  if (c.has_ends)
    for (size_t k = 0; k < x.size(); ++k)
      x[k] = k / size(c.k) % 2 == 0 ? -1.0f : std::copysign(1.0f, x[k]);
  add(out, test::f32(x), shape);
  if (c.has_blocks()) add_blocks(out, c, random);
  else add_halves(out, c, random);
  return out;
}

IRModule module_of(const Narrow& c, const Operands& operands) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  std::vector<ValueId> values;
  for (size_t k = 0; k < operands.types.size(); ++k)
    values.push_back(f.param(cat("p", k), operands.types[k]));
  const ValueId y =
      c.has_blocks()
          ? f.call(
                "matmul_blocks", values,
                {{"bits", c.bits}, {"block", c.block}, {"row_bits", int64_t{c.is_rounded ? 8 : 0}}})
          : f.call("matmul_widened", values, {{"trans_b", c.is_transposed}});
  std::vector<ValueId> results = {y};
  if (c.sliced > 0) {
    const Attrs attrs = {{"axes", Ints{-1}}, {"starts", Ints{c.sliced}}, {"ends", Ints{c.n}}};
    results[0] = f.call("slice", {y}, attrs);
  }
  if (c.is_flattened) results[0] = f.call("reshape", {results[0]}, {{"shape", Ints{-1}}});
  if (c.is_result) results.push_back(y);
  EXPECT_TRUE(f.finish("main", results).ok());
  module.function("main").attrs.set("llvm.inputs", int64_t{1});
  return module;
}

// Returns rows whose blocks are rounded to multiples of 1 / 127 of their largest magnitude.
std::vector<float> rounded(const Narrow& c, std::vector<float> x) {
  for (size_t first = 0; first < x.size(); first += size(c.k)) {
    for (size_t block = 0; block < size(c.k); block += size(c.block)) {
      const auto begin = x.begin() + static_cast<int64_t>(first + block);
      const auto end = begin + std::min(c.block, c.k - static_cast<int64_t>(block));
      float most = 0;
      for (auto at = begin; at != end; ++at) most = std::max(most, std::abs(*at));
      for (auto at = begin; at != end; ++at)
        *at = std::nearbyint(*at * (127 / most)) * (most / 127);
    }
  }
  return x;
}

// `first`: the column of the first element of each row.
void expect_sums(const Narrow& c, const Operands& operands, const std::vector<float>& y,
                 int64_t first) {
  std::vector<float> x = operands.data[0].as<float>();
  if (c.is_rounded) x = rounded(c, std::move(x));
  const size_t columns = size(c.n - first);
  ASSERT_EQ(y.size() * size(c.k), x.size() * columns);
  for (size_t at = 0; at < y.size(); ++at) {
    const size_t row = at / columns, column = size(first) + at % columns;
    double sum = 0, most = 0;
    for (size_t k = 0; k < size(c.k); ++k) {
      sum += double{x[row * size(c.k) + k]} * operands.matrix[k * size(c.n) + column];
      most += std::abs(double{x[row * size(c.k) + k]}) * operands.magnitude[column];
    }
    if (!std::isfinite(sum)) {
      ASSERT_EQ(cat(y[at]), cat(sum)) << "row " << row << ", column " << column;
      continue;
    }
    ASSERT_NEAR(y[at], sum, kUnits * most) << "row " << row << ", column " << column;
  }
}

// Runs a case, compares, and returns the name of the compute.
std::string expect_product(const Narrow& c, const test::RunOptions& options,
                           std::minstd_rand& random) {
  SCOPED_TRACE(cat(c.rows.size(), " dims, ", c.rows.back(), " rows, k=", c.k, " n=", c.n, " bits ",
                   c.bits, " block ", c.block, c.has_zeros ? " zeros" : "",
                   c.is_transposed ? " transposed" : "", ", ", options.threads, " threads"));
  const Operands operands = operands_of(c, random);
  te::Target target = llvm_plugin::host_target();
  target.threads = options.threads;
  auto dag = llvm_plugin::translate(module_of(c, operands), target);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto kernel = llvm_plugin::lower_with_constants(*dag, 1, target);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  if (!dag.ok() || !kernel.ok()) return "";
  std::vector<test::Data> inputs = {operands.data[0]};
  const std::vector<test::Data> constants(operands.data.begin() + 1, operands.data.end());
  if (kernel->constants) {
    size_t bytes = 0, packed = 0;
    for (const test::Data& constant : constants) bytes += constant.bytes.size();
    for (test::Data& panel : test::run_loops(kernel->constants->loops, constants)) {
      packed += panel.bytes.size();
      inputs.push_back(std::move(panel));
    }
    // Panels fill up columns and rows, and nothing else.
    const int64_t columns = (c.n + 31) / 32 * 32, rows = (c.k + 15) / 16 * 16;
    EXPECT_LE(packed * size(c.n * c.k), bytes * size(columns * rows)) << "panels are wider";
  } else {
    inputs.insert(inputs.end(), constants.begin(), constants.end());
  }
  const std::vector<test::Data> results = test::run_loops(kernel->loops, inputs, options);
  expect_sums(c, operands, results[0].as<float>(), c.sliced);
  if (c.is_result) expect_sums(c, operands, results[1].as<float>(), 0);
  for (const te::Stage& stage : dag->stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute != nullptr && !compute->reduce.empty()) return stage.compute;
  }
  return "";
}

TEST(NarrowProduct, UnpacksForFewRowsInRegisters) {
  std::minstd_rand random(1);
  EXPECT_EQ(expect_product({{1}, 64, 64, 4, 32, false, false}, {}, random), "narrow_rows");
  EXPECT_EQ(expect_product({{2, 2}, 64, 64, 8, 16, true, false}, {}, random), "narrow_rows");
  EXPECT_EQ(expect_product({{1, 1, 1}, 64, 64, 16, 0, false, true}, {}, random), "narrow_rows");
}

// Rows must not be scaled where they lose bits.
TEST(NarrowProduct, KeepsTheBitsOfSmallRows) {
  std::minstd_rand random(7);
  for (const int64_t bits : {4, 8}) {
    for (const int64_t rows : {1, 3, 9}) {
      for (const bool has_zeros : {false, true}) {
        Narrow c{{rows}, 256, 64, bits, 32, has_zeros, false};
        c.largest = 1e-34f;
        expect_product(c, {}, random);
      }
    }
  }
}

// The sum of a block without its scale is beyond f32, the result is not.
TEST(NarrowProduct, KeepsLargeRowsFinite) {
  std::minstd_rand random(8);
  for (const int64_t bits : {4, 8}) {
    for (const int64_t rows : {1, 3}) {
      for (const bool has_zeros : {false, true}) {
        for (const int64_t block : {16, 64}) {
          Narrow c{{rows}, 200, 64, bits, block, has_zeros, false};
          c.largest = bits == 4 ? 1e37f : 1e36f;
          expect_product(c, {}, random);
          c.largest = 1e-3f, c.sixth = bits == 4 ? 1e38f : 8e36f;
          expect_product(c, {}, random);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// An infinity times an entry less its zero point is the infinity of that sign.
TEST(NarrowProduct, KeepsTheSignsOfInfinities) {
  std::minstd_rand random(9);
  const bool has_tables = llvm_plugin::host_target().lanes(sizeof(float)) >= 16;
  for (const bool has_zeros : {false, true}) {
    for (const int64_t rows : {1, 3, 9}) {
      if (rows == 1 && has_zeros && has_tables) continue;  // sums of zero points are apart
      Narrow c{{rows}, 200, 64, 4, 32, has_zeros, false};
      for (const float sign : {1.0f, -1.0f}) {
        c.sixth = sign * std::numeric_limits<float>::infinity();
        expect_product(c, {}, random);
      }
    }
  }
}

TEST(NarrowProduct, UnpacksPanelsForManyRows) {
  std::minstd_rand random(2);
  EXPECT_EQ(expect_product({{70}, 512, 160, 4, 32, true, false}, {}, random), "narrow_unpacked");
  EXPECT_EQ(expect_product({{3, 5}, 100, 65, 8, 64, false, false}, {}, random), "narrow_unpacked");
  EXPECT_EQ(expect_product({{9}, 67, 33, 16, 0, false, false}, {}, random), "narrow_unpacked");
}

TEST(NarrowProduct, MultipliesIntegersWhereRowsAreRounded) {
  std::minstd_rand random(5);
  const Ints blocks = {8, 16, 24, 32, 64, 128};
  for (int round = 0; round < 48; ++round) {
    const Ints bits = {4, 8};
    Narrow c{{1 + round % 9},
             8 + 17 * (round % 11),
             32 + 5 * (round % 7),
             bits[size(round % 2)],
             blocks[size(round / 2 % 6)],
             round % 3 == 0,
             false};
    if (round % 7 == 0) c.rows.insert(c.rows.begin(), 2);
    c.is_rounded = true;
    EXPECT_EQ(expect_product(c, {.threads = 1 + static_cast<uint32_t>(round % 2)}, random),
              "narrow_integers");
    if (HasFailure()) return;
  }
}

// Codes of 127 and -127 by entries of 0 and 15 or 255: the largest products there are.
TEST(NarrowProduct, IsExactAtTheEndsOfItsIntegers) {
  std::minstd_rand random(6);
  for (const int64_t bits : {4, 8}) {
    for (const int64_t block : {8, 16, 32, 64}) {
      for (const int64_t rows : {1, 5}) {
        Narrow c{{rows}, 128, 48, bits, block, block == 32, false};
        c.is_rounded = true, c.has_ends = true;
        EXPECT_EQ(expect_product(c, {}, random), "narrow_integers");
        if (HasFailure()) return;
      }
    }
  }
}

TEST(NarrowProduct, IsStoredForResultsOfOtherShapes) {
  std::minstd_rand random(4);
  for (const bool is_result : {false, true}) {
    for (const bool is_flattened : {false, true}) {
      for (const int64_t sliced : {0, 3, 64}) {
        for (const int64_t rows : {1, 3, 40}) {
          for (const uint32_t threads : {1u, 2u}) {
            const Narrow c{{2, rows}, 64, 64, 8, 16, true, false, sliced, is_flattened, is_result};
            const std::string compute = expect_product(c, {.threads = threads}, random);
            EXPECT_EQ(compute, rows > 2 ? "narrow_unpacked" : "narrow_rows");
          }
        }
      }
    }
  }
}

TEST(NarrowProduct, ComputesRandomShapes) {
  std::minstd_rand random(3);
  auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % size(most)); };
  const Ints bits = {4, 8, 16}, blocks = {16, 32, 64, 128};
  size_t narrow = 0;
  for (int round = 0; round < 72; ++round) {
    Narrow c{{round % 2 == 0 ? up_to(4) : up_to(40)},
             up_to(300),
             up_to(120),
             bits[size(round % 3)],
             blocks[size(round / 3 % 4)],
             round % 4 < 2,
             round % 5 < 2};
    if (round % 7 == 0) c.rows.insert(c.rows.begin(), up_to(3));
    if (round % 11 == 0) c.rows.insert(c.rows.begin(), 2);
    test::RunOptions options{.threads = 1 + static_cast<uint32_t>(round % 2)};
    narrow += expect_product(c, options, random).starts_with("narrow");
    if (HasFailure()) return;
  }
  EXPECT_GE(narrow, 36u);
}

}  // namespace
}  // namespace byoc
