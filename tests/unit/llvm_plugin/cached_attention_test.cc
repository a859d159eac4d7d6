// SPDX-License-Identifier: Apache-2.0
// Attention to the valid keys of a cache by the llvm plugin, at random shapes: heads that fill no
// vector or several and a rest, blocks of keys and rows with a remainder, few and many queries,
// also as an open size, lengths from none to all.
// Expected values: the definition in f64, of scores of all keys, of which some are hidden.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "byoc/te/target.h"
#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

struct Attended {
  int64_t n = 1, heads = 1, kv_heads = 1, s = 1, t = 1, d = 1, e = 1;
  bool is_causal = false, is_packed = false;
  int64_t left = -1;
  DType cache = DType::kF32;
  bool is_open = false;         // the number of queries
  bool has_infinities = false;  // in values that no or not all queries see
};

template <class Length>
std::string shape_of(const Attended& c, int64_t heads, const Length& length, int64_t size) {
  if (c.is_packed) return cat("[", c.n, ",", length, ",", heads * size, "]");
  return cat("[", c.n, ",", heads, ",", length, ",", size, "]");
}

std::string text_of(const Attended& c) {
  const std::string s = c.is_open ? cat("1<=S<=", c.s + 9) : cat(c.s);
  return cat("fn main(%q: f32", shape_of(c, c.heads, s, c.d), ", %k: ", c.cache,
             shape_of(c, c.kv_heads, c.t, c.d), ", %v: ", c.cache,
             shape_of(c, c.kv_heads, c.t, c.e), ", %n: i64[", c.n,
             "]) {\n  %0 = cached_attention(%q, %k, %v, %n) {heads=", c.heads,
             ", kv_heads=", c.kv_heads, ", causal=", c.is_causal ? "true" : "false",
             ", left_window=", c.left, "}\n  return %0\n}");
}

// Returns the bits of a number that is a multiple of 1/4, from -1 to 1, as a float of 16 bits.
uint16_t bits_of(float x, DType dtype) {
  const auto wide = std::bit_cast<uint32_t>(x);
  if (dtype == DType::kBF16 || x == 0) return static_cast<uint16_t>(wide >> 16);
  const uint32_t exponent = (wide >> 23 & 0xff) - 127 + 15;
  return static_cast<uint16_t>((wide >> 16 & 0x8000) | exponent << 10 | (wide >> 13 & 0x3ff));
}

// Appends a tensor of multiples of 1/4, which all floats hold, and returns the numbers.
std::vector<float> add_quarters(std::mt19937& random, const TensorType& type,
                                std::vector<Tensor>& in) {
  in.push_back(*Tensor::make({type.dtype, static_extents(type.shape)}));
  void* data = in.back().data();
  std::vector<float> out(static_cast<size_t>(*num_elements(type.shape)));
  for (size_t k = 0; k < out.size(); ++k) {
    out[k] = static_cast<float>(random() % 9) / 4 - 1;
    if (type.dtype == DType::kF32) static_cast<float*>(data)[k] = out[k];
    else static_cast<uint16_t*>(data)[k] = bits_of(out[k], type.dtype);
  }
  return out;
}

struct Operands {
  const Attended& c;
  std::vector<std::vector<float>> x;  // q, k, v
  std::vector<int64_t> lengths;

  size_t place(int64_t count, int64_t length, int64_t size, int64_t image, int64_t head,
               int64_t row, int64_t column) const {
    const int64_t at =
        c.is_packed ? (image * length + row) * count + head : (image * count + head) * length + row;
    return static_cast<size_t>(at * size + column);
  }
  double score(int64_t image, int64_t head, int64_t i, int64_t key) const {
    const int64_t position = i + lengths[static_cast<size_t>(image)] - c.s;
    if (key >= lengths[static_cast<size_t>(image)] || (c.is_causal && key > position) ||
        (c.left >= 0 && key < position - c.left))
      return -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (int64_t m = 0; m < c.d; ++m)
      sum +=
          double{x[0][place(c.heads, c.s, c.d, image, head, i, m)]} *
          double{x[1][place(c.kv_heads, c.t, c.d, image, head / (c.heads / c.kv_heads), key, m)]};
    return sum / std::sqrt(static_cast<double>(c.d));
  }
  void write_row(int64_t image, int64_t head, int64_t i, std::vector<float>& y) const {
    std::vector<double> sums(static_cast<size_t>(c.e));
    double all = 0;
    for (int64_t key = 0; key < c.t; ++key) {
      const double p = std::exp(score(image, head, i, key));
      all += p;
      for (int64_t m = 0; m < c.e && p != 0; ++m)
        sums[static_cast<size_t>(m)] +=
            p *
            double{x[2][place(c.kv_heads, c.t, c.e, image, head / (c.heads / c.kv_heads), key, m)]};
    }
    for (int64_t m = 0; m < c.e; ++m)
      y[place(c.heads, c.s, c.e, image, head, i, m)] =
          static_cast<float>(all == 0 ? 0 : sums[static_cast<size_t>(m)] / all);
  }
  std::vector<float> expected() const {
    std::vector<float> y(static_cast<size_t>(c.n * c.heads * c.s * c.e));
    for (int64_t image = 0; image < c.n; ++image) {
      for (int64_t head = 0; head < c.heads; ++head)
        for (int64_t i = 0; i < c.s; ++i) write_row(image, head, i, y);
    }
    return y;
  }
};

// Makes the values of the last key of each image infinite, which the last query alone sees.
void add_infinities(Operands& operands, Tensor& values) {
  const Attended& c = operands.c;
  auto* data = static_cast<float*>(static_cast<void*>(values.data()));
  for (int64_t image = 0; image < c.n; ++image) {
    const int64_t last = operands.lengths[static_cast<size_t>(image)] - 1;
    for (int64_t head = 0; head < c.kv_heads && last >= 0; ++head) {
      for (int64_t m = 0; m < c.e; ++m) {
        const size_t at = operands.place(c.kv_heads, c.t, c.e, image, head, last, m);
        operands.x[2][at] = std::numeric_limits<float>::infinity();
        data[at] = operands.x[2][at];
      }
    }
  }
}

void check(const Attended& c, uint32_t seed, uint32_t threads, const char* cpu = "") {
  SCOPED_TRACE(cat(text_of(c), " ", cpu));
  std::mt19937 random(seed);
  BuildOptions options{.plugins = built_plugins(), .compilers = {"llvm"}, .strict = true};
  if (*cpu != 0) options.target_json = te::print(*te::parse_target(cpu));
  const Result<Executable> program = build(parse(text_of(c)), options);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  Attended fixed = c;
  fixed.is_open = false;
  const IRModule module = parse(text_of(fixed));
  std::vector<Tensor> in;
  Operands operands{c, {}, {}};
  for (size_t k = 0; k < 3; ++k)
    operands.x.push_back(add_quarters(random, *module.function("main").nodes[k].types[0], in));
  in.push_back(*Tensor::make({DType::kI64, {c.n}}));
  for (int64_t image = 0; image < c.n; ++image) {
    const int64_t ends[] = {0, c.t, std::min<int64_t>(c.t, 1)};
    operands.lengths.push_back(image < 3 ? ends[image]
                                         : static_cast<int64_t>(random()) % (c.t + 1));
    static_cast<int64_t*>(static_cast<void*>(in.back().data()))[image] = operands.lengths.back();
  }
  if (c.has_infinities) add_infinities(operands, in[2]);
  const std::vector<float> got = floats(execute(*program, built_plugins(), in, 1, threads).at(0));
  const std::vector<float> expected = operands.expected();
  ASSERT_EQ(got.size(), expected.size());
  // Values are at most 1; sums of up to 130 products and one exponential each, in f32.
  for (size_t k = 0; k < got.size(); ++k) {
    if (std::isfinite(expected[k])) ASSERT_NEAR(got[k], expected[k], 2e-5) << "element " << k;
    else ASSERT_EQ(got[k], expected[k]) << "element " << k;
  }
}

TEST(LlvmCachedAttention, FollowsTheDefinition) {
  const Attended cases[] = {
      {.n = 5, .heads = 8, .kv_heads = 8, .t = 130, .d = 64, .e = 64},
      {.n = 4, .heads = 12, .kv_heads = 4, .t = 65, .d = 80, .e = 128, .is_packed = true},
      {.n = 4, .heads = 9, .kv_heads = 1, .s = 3, .t = 64, .d = 3, .e = 1, .is_causal = true},
      {.n = 4,
       .heads = 2,
       .kv_heads = 2,
       .s = 9,
       .t = 70,
       .d = 1,
       .e = 17,
       .is_causal = true,
       .left = 66},
      {.n = 4, .heads = 6, .kv_heads = 3, .s = 2, .t = 5, .d = 128, .e = 3, .left = 1},
      {.n = 4, .heads = 4, .kv_heads = 2, .s = 5, .t = 200, .d = 17, .e = 300, .is_packed = true},
      {.n = 4, .heads = 4, .kv_heads = 2, .t = 67, .d = 64, .e = 64, .cache = DType::kF16},
      {.n = 4, .heads = 4, .kv_heads = 4, .t = 67, .d = 24, .e = 40, .cache = DType::kBF16},
      {.n = 4, .heads = 6, .kv_heads = 2, .s = 40, .t = 150, .d = 64, .e = 64, .is_causal = true},
      {.n = 4, .heads = 12, .kv_heads = 1, .t = 130, .d = 16, .e = 24},
      {.n = 4, .heads = 2, .kv_heads = 2, .s = 9, .t = 70, .d = 20, .e = 5, .cache = DType::kF16},
      {.n = 4,
       .heads = 6,
       .kv_heads = 2,
       .s = 37,
       .t = 90,
       .d = 9,
       .e = 13,
       .is_causal = true,
       .is_packed = true,
       .left = 10},
      {.n = 4,
       .heads = 6,
       .kv_heads = 2,
       .s = 21,
       .t = 80,
       .d = 8,
       .e = 8,
       .is_causal = true,
       .is_open = true},
      {.n = 4, .heads = 6, .kv_heads = 2, .t = 80, .d = 8, .e = 8, .is_open = true}};
  uint32_t seed = 1;
  for (const Attended& c : cases) check(c, seed, 1 + seed % 2), ++seed;
}

// Tiles of 2, 4 and 8 sums, and blocks of keys that all, some and no queries of a block see.
TEST(LlvmCachedAttention, ComputesPromptsForAnyNumberOfRegisters) {
  const Attended causal{.n = 5,
                        .heads = 6,
                        .kv_heads = 2,
                        .s = 150,
                        .t = 333,
                        .d = 40,
                        .e = 43,
                        .is_causal = true,
                        .has_infinities = true};
  Attended window = causal, open = causal, few = causal;
  window.left = 70, open.is_open = true, few.s = 11;
  uint32_t seed = 50;
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", ""}) {
    for (const Attended& c : {causal, window, open, few}) check(c, seed, 1 + seed % 2, cpu), ++seed;
  }
}

}  // namespace
}  // namespace byoc::test
