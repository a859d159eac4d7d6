// SPDX-License-Identifier: Apache-2.0
// The machine code of lstm, gru and rnn, with operands between guard pages, against the reference
// kernels, which tests/ops compares with torch. Among the extents are 0, 1, and those that vectors
// and tiles do not divide.
#include <gmock/gmock.h>

#include <cmath>

#include "assembly.h"
#include "byoc/op/evaluate.h"
#include "byoc/op/registry.h"
#include "byoc/te/schedule.h"
#include "run_loops.h"

namespace byoc {
namespace {

struct Net {
  std::string op;
  int64_t time, batch, input, hidden;
  std::string direction = "forward";
  size_t operands = 3;  // x, w, r, b, initial_h, initial_c, p
  bool linear_before_reset = false;
  DType dtype = DType::kF32;
  uint32_t threads = 1;
  bool has_lengths = false;  // with all operands before
  Attrs attrs = {};
};
void PrintTo(const Net& net, std::ostream* os) {
  *os << net.op << " " << net.time << "x" << net.batch << "x" << net.input << " -> " << net.hidden
      << " " << net.direction << " of " << net.operands << " operands, " << dtype_name(net.dtype);
}

Attrs shared_steps() {
  Attrs out;
  out.set("shares_steps", true);
  return out;
}

int64_t gates_of(const Net& net) { return net.op == "lstm" ? 4 : net.op == "gru" ? 3 : 1; }

std::vector<TensorType> types_of(const Net& net) {
  const int64_t d = net.direction == "bidirectional" ? 2 : 1, g = gates_of(net), h = net.hidden;
  std::vector<TensorType> out = {{net.dtype, {net.time, net.batch, net.input}},
                                 {net.dtype, {d, g * h, net.input}},
                                 {net.dtype, {d, g * h, h}},
                                 {net.dtype, {d, 2 * g * h}},
                                 {net.dtype, {d, net.batch, h}},
                                 {net.dtype, {d, net.batch, h}},
                                 {net.dtype, {d, 3 * h}}};
  out.resize(net.operands);
  if (net.has_lengths) out.push_back({DType::kI64, {net.batch}});
  return out;
}

int64_t elements_of(const TensorType& type) {
  int64_t out = 1;
  for (Dim dim : type.shape) out *= dim.extent();
  return out;
}

// Returns numbers in [-1, 1) over sqrt(terms), so that gates stay away from saturation.
test::Data numbers(const TensorType& type, uint32_t seed, int64_t terms) {
  if (type.dtype == DType::kI64) {  // lengths, at most `terms`
    std::vector<int64_t> lengths;
    for (int64_t k = 0; k < elements_of(type); ++k) lengths.push_back(k * 3 % (terms + 1));
    return test::Data::of(type.dtype, lengths);
  }
  const auto n = static_cast<size_t>(elements_of(type));
  const double scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(terms, 1)));
  std::vector<float> floats(n);
  std::vector<double> doubles(n);
  for (size_t k = 0; k < n; ++k) {
    seed = seed * 1664525 + 1013904223;
    doubles[k] = (static_cast<double>(seed >> 8) / (1 << 23) - 1) * scale;
    floats[k] = static_cast<float>(doubles[k]);
  }
  return type.dtype == DType::kF64 ? test::Data::of(type.dtype, doubles)
                                   : test::Data::of(type.dtype, floats);
}

std::vector<double> as_doubles(const test::Data& data) {
  if (data.dtype == DType::kF64) return data.as<double>();
  const std::vector<float> floats = data.as<float>();
  return {floats.begin(), floats.end()};
}

class RecurrentCode : public ::testing::TestWithParam<Net> {
 protected:
  RecurrentCode() : op_(*all_ops().find(GetParam().op)) {
    attrs_ = GetParam().attrs;
    attrs_.set("direction", GetParam().direction);
    if (GetParam().op == "gru") attrs_.set("linear_before_reset", GetParam().linear_before_reset);
    for (const TensorType& type : types_of(GetParam())) inputs_.push_back(type);
    auto results = op_.infer(inputs_, attrs_);
    EXPECT_TRUE(results.ok()) << results.status().to_string();
    for (const TensorType& type : *results) outputs_.push_back(type);
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const bool are_lengths = inputs_[k]->dtype == DType::kI64;
      const int64_t terms = are_lengths ? GetParam().time
                            : k == 1    ? GetParam().input
                            : k == 2    ? GetParam().hidden
                                        : 1;
      data_.push_back(numbers(*inputs_[k], static_cast<uint32_t>(k + 1), terms));
    }
  }

  std::vector<test::Data> reference() const {
    std::vector<std::shared_ptr<const Buffer>> owned;
    std::vector<const Buffer*> in;
    for (const test::Data& data : data_) {
      owned.push_back(Buffer::copy(data.bytes));
      in.push_back(owned.back().get());
    }
    auto results = evaluate(op_, attrs_, inputs_, outputs_, in);
    EXPECT_TRUE(results.ok()) << results.status().to_string();
    std::vector<test::Data> out;
    for (const auto& buffer : *results) {
      auto bytes = buffer->bytes();
      out.push_back({GetParam().dtype, {bytes.begin(), bytes.end()}});
    }
    return out;
  }

  // `panel_lanes`: of the vectors for which the matrices are put into panels, 0: they are not.
  te::LoopFunction loops(int64_t panel_lanes = 0) const {
    te::Builder builder;
    Attrs attrs = attrs_;
    if (panel_lanes > 0) attrs.set("panel_lanes", panel_lanes);
    std::vector<te::Tensor> in;
    for (size_t k = 0; k < inputs_.size(); ++k)
      in.push_back(builder.placeholder(cat("x", k), *inputs_[k]));
    builder.begin_op(GetParam().op, "direct", 0);
    auto out = op_.compute(builder, in, outputs_, attrs);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    auto loops = te::lower(te::Schedule(builder.finish("main", in, *out)));
    EXPECT_TRUE(loops.ok()) << loops.status().to_string();
    return *std::move(loops);
  }
  std::vector<test::Data> compiled(int64_t panel_lanes = 0) const {
    return test::run_loops(loops(panel_lanes), data_, {.threads = GetParam().threads});
  }
  void compare(int64_t panel_lanes, double tolerance) const {
    const auto expected = reference(), got = compiled(panel_lanes);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t k = 0; k < got.size(); ++k) {
      const auto a = as_doubles(got[k]), b = as_doubles(expected[k]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t e = 0; e < a.size(); ++e) {
        ASSERT_EQ(std::isnan(a[e]), std::isnan(b[e])) << "output " << k << ", element " << e;
        if (std::isnan(b[e])) continue;
        ASSERT_NEAR(a[e], b[e], tolerance) << "output " << k << ", element " << e;
      }
    }
  }

  const OpDef& op_;
  Attrs attrs_;
  std::vector<TypeId> inputs_, outputs_;
  std::vector<test::Data> data_;
};

// Sums of up to 70 terms below 1 in f32, and functions with errors of 2 units.
double tolerance_of(const Net& net) { return net.dtype == DType::kF64 ? 1e-13 : 4e-6; }

TEST_P(RecurrentCode, AgreesWithTheReference) { compare(0, tolerance_of(GetParam())); }

TEST_P(RecurrentCode, AgreesWithItInPanels) {
  for (int64_t lanes : {4, 8, 16}) compare(lanes, tolerance_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    Lstm, RecurrentCode,
    ::testing::Values(Net{"lstm", 1, 1, 1, 1}, Net{"lstm", 3, 1, 5, 13, "reverse", 5},
                      Net{"lstm", 4, 2, 40, 32, "bidirectional", 6},
                      Net{"lstm", 5, 3, 17, 67, "forward", 7},
                      Net{"lstm", 2, 7, 8, 6, "bidirectional", 7},
                      Net{"lstm", 3, 4, 0, 8, "forward", 4}, Net{"lstm", 0, 2, 3, 5, "forward", 6},
                      Net{"lstm", 2, 0, 3, 5}, Net{"lstm", 2, 3, 4, 0},
                      Net{"lstm", 50, 2, 3, 3, "forward", 4},
                      Net{"lstm", 3, 2, 9, 11, "bidirectional", 7, false, DType::kF64}));
INSTANTIATE_TEST_SUITE_P(
    Gru, RecurrentCode,
    ::testing::Values(Net{"gru", 3, 2, 5, 19}, Net{"gru", 3, 1, 24, 32, "reverse", 5},
                      Net{"gru", 4, 3, 7, 10, "bidirectional", 5, true},
                      Net{"gru", 4, 4, 7, 10, "bidirectional", 4, true},
                      Net{"gru", 2, 1, 3, 1, "bidirectional", 5},
                      Net{"gru", 3, 5, 6, 7, "forward", 5, false, DType::kF64}));
INSTANTIATE_TEST_SUITE_P(Rnn, RecurrentCode,
                         ::testing::Values(Net{"rnn", 6, 1, 12, 2}, Net{"rnn", 3, 2, 9, 45},
                                           Net{"rnn", 2, 5, 4, 8, "bidirectional", 5}));
// Functions other than the defaults, and sequences of several lengths.
Attrs functions(const Strings& names, const Floats& alpha, const Floats& beta) {
  return {{"activations", names}, {"alpha", alpha}, {"beta", beta}, {"clip", 0.75}};
}
INSTANTIATE_TEST_SUITE_P(
    Variants, RecurrentCode,
    ::testing::Values(Net{"lstm", 4, 5, 6, 18, "bidirectional", 7, false, DType::kF32, 1, true,
                          functions({"HardSigmoid", "Softsign", "Elu", "Sigmoid", "Tanh",
                                     "ScaledTanh"},
                                    {0.2, 0, 1, 0, 0, 1.5}, {0.5, 0, 0, 0, 0, 0.5})},
                      Net{"lstm",
                          5,
                          4,
                          3,
                          7,
                          "reverse",
                          7,
                          false,
                          DType::kF64,
                          1,
                          true,
                          {{"input_forget", true}}},
                      Net{"lstm",
                          3,
                          2,
                          3,
                          7,
                          "forward",
                          4,
                          false,
                          DType::kF32,
                          1,
                          false,
                          {{"input_forget", true}, {"clip", 0.1}}},
                      Net{"gru", 4, 6, 3, 9, "reverse", 5, false, DType::kF32, 1, true,
                          functions({"Softplus", "Affine"}, {0, 0.5}, {0, 0.25})},
                      Net{"gru", 4, 6, 3, 33, "bidirectional", 5, true, DType::kF32, 1, true},
                      Net{"rnn", 4, 6, 3, 9, "bidirectional", 5, false, DType::kF32, 1, true,
                          functions({"LeakyRelu", "ThresholdedRelu"}, {0.1, 0.2}, {0, 0})},
                      Net{"rnn", 3, 6, 3, 9, "forward", 5, false, DType::kF32, 1, true,
                          functions({"Relu"}, {0}, {0})},
                      Net{"rnn", 0, 2, 3, 9, "forward", 5, false, DType::kF32, 1, true}));
// Rows of large products, and directions, are divided among threads.
INSTANTIATE_TEST_SUITE_P(
    Threads, RecurrentCode,
    ::testing::Values(Net{"lstm", 2, 3, 9, 112, "forward", 5, false, DType::kF32, 3},
                      Net{"gru", 3, 2, 30, 40, "bidirectional", 4, false, DType::kF32, 2}));
// Or rows of both directions, where a step is large.
INSTANTIATE_TEST_SUITE_P(SharedSteps, RecurrentCode,
                         ::testing::Values(Net{"lstm", 3, 1, 20, 363, "bidirectional", 6, false,
                                               DType::kF32, 3, false, shared_steps()},
                                           Net{"gru", 3, 4, 20, 224, "bidirectional", 5, false,
                                               DType::kF32, 3, false, shared_steps()}));

using RecurrentSpecials = RecurrentCode;

// Without an initial state h is 0 at the start and its product with r is no term, but the reset
// gate's result times r is: 0 * infinity is NaN.
TEST_P(RecurrentSpecials, AreWhereTheReferenceHasThem) {
  for (size_t operand : {0, 1, 2}) {
    for (float special : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
      const test::Data before = data_[operand];
      std::vector<float> values = data_[operand].as<float>();
      values[values.size() / 2] = special;
      data_[operand] = test::Data::of(DType::kF32, values);
      for (int64_t lanes : {0, 16}) {
        SCOPED_TRACE(cat("operand ", operand, ", ", special, ", lanes ", lanes));
        compare(lanes, 4e-6);
      }
      data_[operand] = before;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Nets, RecurrentSpecials,
                         ::testing::Values(Net{"gru", 3, 2, 4, 5},
                                           Net{"gru", 3, 2, 4, 5, "reverse", 5},
                                           Net{"gru", 3, 2, 4, 5, "forward", 4, true},
                                           Net{"lstm", 3, 2, 4, 5}, Net{"rnn", 3, 2, 4, 5}));

class RecurrentAssembly : public RecurrentCode {
 protected:
  // Expects loops with `sums` multiply-adds of these registers, and no memory of the stack in them.
  void expect_tiles(const std::string& assembly, size_t sums, const char* registers,
                    size_t instructions, size_t at_least) const {
    size_t tiles = 0;
    for (const auto& loop : test::innermost_loops(assembly)) {
      if (test::count(loop, cat("vfmadd.*", registers)) != sums) continue;
      ++tiles;
      EXPECT_EQ(test::count(loop, "%rsp|%rbp"), 0u) << test::joined(loop);
      EXPECT_LE(loop.size(), instructions) << test::joined(loop);
    }
    EXPECT_GE(tiles, at_least) << assembly;
  }
  std::string assembly(int64_t panel_lanes) const {
    auto target = te::parse_target("x86-64-v4");  // with 16 registers LLVM spills in some copies
    auto machine = llvm_plugin::machine_of(*target);
    EXPECT_TRUE(machine.ok());
    auto listed = llvm_plugin::list_kernel(loops(panel_lanes), *machine, {});
    EXPECT_TRUE(listed.ok()) << listed.status().message();
    return listed->assembly;
  }
};

TEST_P(RecurrentAssembly, KeepsATileOfSumsInRegisters) {
  expect_tiles(assembly(0), 12, "ymm", 30, 2);  // of the input and of the state
}

TEST_P(RecurrentAssembly, KeepsATileOfAPanelInRegisters) {
  const std::string listed = assembly(16);
  expect_tiles(listed, 24, "zmm", 50, 1);  // 6 columns of the input by 4 vectors
  expect_tiles(listed, 21, "zmm", 50, 1);  // 3 columns of the state by 7 vectors
}
INSTANTIATE_TEST_SUITE_P(Tiles, RecurrentAssembly,
                         ::testing::Values(Net{"lstm", 8, 3, 64, 64, "forward", 4},
                                           Net{"gru", 8, 3, 64, 64, "forward", 4, true}));

}  // namespace
}  // namespace byoc
