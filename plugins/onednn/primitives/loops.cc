// SPDX-License-Identifier: Apache-2.0
#include "primitives/loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "exact/extrema.h"
#include "library/implementations.h"

namespace byoc::onednn {

Broadcast::Broadcast(const Dims& dims, std::initializer_list<Dims> operands)
    : rank_(dims.size()), operands_(operands.size()) {
  BYOC_ONEDNN_CHECK(rank_ <= kMaxRank && operands_ <= kMaxOperands, "strides_ has room for them");
  std::copy(dims.begin(), dims.end(), dims_);
  for (int64_t extent : dims) cells_ *= extent;
  size_t v = 0;
  for (const Dims& operand : operands) {
    Dims wide = padded(operand, rank_), strides = plain_strides(wide);
    for (size_t d = 0; d < rank_; ++d) strides_[v][d] = wide[d] == 1 ? 0 : strides[d];
    ++v;
  }
}

// Computes row by row; a row is the last dims along which the second operand is one cell, or
// has as many.
Loop extrema_rows(bool is_max, const Dims& dims, const Dims& second) {
  BYOC_ONEDNN_CHECK(!dims.empty() && dims.size() == second.size(), "the second operand is padded");
  const bool is_one = second.back() == 1;
  size_t outer = dims.size();
  int64_t length = 1;
  while (outer > 0 && second[outer - 1] == (is_one ? 1 : dims[outer - 1])) length *= dims[--outer];
  auto first_dims = [&](const Dims& all) {
    return Dims(all.begin(), all.begin() + static_cast<ptrdiff_t>(outer));
  };
  Broadcast rows(first_dims(dims), {first_dims(second)});
  const int64_t own = is_one ? 1 : length;
  ExtremaCells cells = extrema_cells(is_max, is_one);
  return [=](const void* const* in, void* to) {
    rows.walk([&](int64_t k, const int64_t* at) {
      cells(static_cast<const float*>(in[0]) + k * length,
            static_cast<const float*>(in[1]) + at[0] * own, static_cast<float*>(to) + k * length,
            length);
    });
  };
}

namespace {

// Returns the greatest element of a row, NaN if there is one.
float top_of(const float* in, int64_t length, int64_t step) {
  float top = in[0];
  for (int64_t k = 1; k < length; ++k) top = extreme(true, in[k * step], top);
  return top;
}

// Computes e^(x - m) / sum e^(x - m), m being the maximum, of a row with NaN or infinities.
void softmax_row(const float* in, float* out, int64_t length, int64_t step) {
  const float top = top_of(in, length, step);
  float sum = 0;
  for (int64_t k = 0; k < length; ++k) sum += out[k * step] = std::exp(in[k * step] - top);
  for (int64_t k = 0; k < length; ++k) out[k * step] /= sum;
}

void log_softmax_row(const float* in, float* out, int64_t length, int64_t step) {
  const float top = top_of(in, length, step);
  double sum = 0;  // f64, as a row may have a vocabulary's length
  for (int64_t k = 0; k < length; ++k) sum += static_cast<double>(std::exp(in[k * step] - top));
  const auto log_of_sum = static_cast<float>(std::log(sum));
  for (int64_t k = 0; k < length; ++k) out[k * step] = in[k * step] - top - log_of_sum;
}

// The rows of a tensor along an axis.
struct Rows {
  int64_t count, length, inner;
  int64_t place(int64_t row) const { return row / inner * length * inner + row % inner; }
};
Rows rows_of(const Dims& dims, size_t axis) {
  BYOC_ONEDNN_CHECK(axis < dims.size(), "softmax has an axis of its operand");
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d < axis) outer *= dims[d];
    if (d > axis) inner *= dims[d];
  }
  return {outer * inner, dims[axis], inner};
}

}  // namespace

// Computes rows with NaN again: oneDNN 2.6 takes NaN for a very small number.
Loop softmax_again(const Dims& dims, size_t axis) {
  const Rows rows = rows_of(dims, axis);
  return [=](const void* const* in, void* to) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (int64_t row = 0; row < rows.count; ++row) {
      const int64_t place = rows.place(row);
      auto* x = static_cast<const float*>(in[0]) + place;
      int is_odd = 0, is_some = 0;
      for (int64_t k = 0; k < rows.length; ++k) {
        is_odd |= !(x[k * rows.inner] < kInfinity);
        is_some |= x[k * rows.inner] > -kInfinity;
      }
      if (is_odd || !is_some)
        softmax_row(x, static_cast<float*>(to) + place, rows.length, rows.inner);
    }
  };
}

namespace {

// Computes the logarithms. The largest share is 1 / sum e^(x - top), so the logarithm of the sum is
// minus that of the share. Rows with NaN or infinities are computed by the definition.
inline __attribute__((always_inline)) void log_of_shares(const float* x, float* y, int64_t length,
                                                         int64_t step) {
  float top = x[0], share = y[0], sum = 0;
#pragma omp simd reduction(max : top, share) reduction(+ : sum)
  for (int64_t k = 0; k < length; ++k) {
    top = x[k * step] > top ? x[k * step] : top;
    share = y[k * step] > share ? y[k * step] : share;
    sum += x[k * step] - x[k * step];  // NaN where one is NaN or infinite
  }
  if (sum != 0) return log_softmax_row(x, y, length, step);
  const float log_of_share = std::log(share);
#pragma omp simd
  for (int64_t k = 0; k < length; ++k) y[k * step] = x[k * step] - top + log_of_share;
}

}  // namespace

Loop log_after_softmax(const Dims& dims, size_t axis) {
  const Rows rows = rows_of(dims, axis);
  return [=](const void* const* in, void* to) {
    const int threads = rows.count > 1 && rows.count * rows.length > 4096 ? loop_threads() : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < rows.count; ++row) {
      const int64_t place = rows.place(row);
      auto* x = static_cast<const float*>(in[0]) + place;
      auto* y = static_cast<float*>(to) + place;
      if (rows.inner == 1) log_of_shares(x, y, rows.length, 1);
      else log_of_shares(x, y, rows.length, rows.inner);
    }
  };
}

// Computes cells again where oneDNN gives NaN: for denormals and infinities, and where an unused
// slope is NaN or infinite.
Loop prelu_again(const Dims& dims, const Dims& slopes) {
  Broadcast cells(dims, {slopes});
  return [cells](const void* const* in, void* to) {
    auto *x = static_cast<const float*>(in[0]), *slope = static_cast<const float*>(in[1]);
    auto* y = static_cast<float*>(to);
    cells.walk([&](int64_t k, const int64_t* at) {
      bool is_usual = std::abs(x[k]) >= std::numeric_limits<float>::min() &&
                      std::abs(x[k]) <= std::numeric_limits<float>::max() &&
                      std::abs(slope[at[0]]) <= std::numeric_limits<float>::max();
      if (!is_usual) y[k] = x[k] < 0 ? x[k] * slope[at[0]] : x[k];
    });
  };
}

namespace {

Built loop_of(const Builder& b, Loop loop) {
  no_posts(b);
  Built built;
  for (size_t k = 0; k < b.unit.args.size(); ++k)
    built.inputs.push_back(b.vector(static_cast<int>(k), k, b.type(k).dims));
  built.out = plain_desc(b.out_type());
  built.loop = std::move(loop);
  built.implementation = kOwnLoop;
  return built;
}

}  // namespace

// Selects elements. They are moved and never computed with, so only their size matters.
Built build_where(const Builder& b) {
  sdk::DType dtype = b.out_type().dtype;
  if (sdk::dtype_size(dtype) != sizeof(uint32_t))
    throw Refusal{"where of " + std::string(sdk::dtype_name(dtype)) + " is not wired up"};
  Broadcast cells(b.out_type().dims, {b.type(0).dims, b.type(1).dims, b.type(2).dims});
  return loop_of(b, [cells](const void* const* in, void* to) {
    auto* condition = static_cast<const uint8_t*>(in[0]);
    auto *x = static_cast<const uint32_t*>(in[1]), *y = static_cast<const uint32_t*>(in[2]);
    auto* out = static_cast<uint32_t*>(to);
    cells.walk(
        [&](int64_t k, const int64_t* at) { out[k] = condition[at[0]] ? x[at[1]] : y[at[2]]; });
  });
}

namespace {

// A tensor in another, which is filled first.
struct Padding {
  Dims from, to, begin;
};

// Returns the padding with a block of channels as a dim of its own after the others, which keep
// their places.
Padding in_blocks(const Padding& plain, int64_t block) {
  auto split = [&](Dims dims) {
    dims[1] /= block;
    dims.push_back(block);
    return dims;
  };
  Dims begin = plain.begin;
  begin.push_back(0);
  return {split(plain.from), split(plain.to), begin};
}

Loop pad_loop(const Padding& p, float value) {
  Dims strides = plain_strides(p.to), rows(p.from.begin(), p.from.end() - 1);
  int64_t first = 0, cells = 1, count = 1, row = p.from.back();
  for (size_t d = 0; d < p.to.size(); ++d) {
    first += p.begin[d] * strides[d];
    cells *= p.to[d];
  }
  for (int64_t extent : rows) count *= extent;
  strides.pop_back();
  return [=](const void* const* in, void* to) {
    auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(to);
    std::fill_n(y, cells, value);
    for (int64_t k = 0; k < count; ++k) {
      int64_t place = first, rest = k;
      for (size_t d = rows.size(); d-- > 0; rest /= rows[d]) place += rest % rows[d] * strides[d];
      std::copy_n(x + k * row, row, y + place);
    }
  };
}

}  // namespace

// Fills the result, then copies the operand's rows to their places: in blocks of channels where the
// operand has them and no channels are added.
Built build_pad(const Builder& b) {
  const Dims &dims = b.type(0).dims, &out = b.out_type().dims;
  Dims pads = b.attrs().ints("pads");
  BYOC_ONEDNN_CHECK(!dims.empty() && pads.size() == 2 * dims.size(), "pad has two numbers per dim");
  if (b.out_type().dtype != sdk::DType::kF32) throw Refusal{"only f32 is wired up"};
  if (b.attrs().s("mode", "constant") != "constant")
    throw Refusal{"mode is " + b.attrs().s("mode") + "; only constant is wired up"};
  if (*std::min_element(pads.begin(), pads.end()) < 0)
    throw Refusal{"it adds cells at one side and takes them away at another"};
  float value = static_cast<float>(b.attrs().f("value", 0));
  Padding plain{dims, out, halves(pads, false)};
  std::optional<Blocks> blocks = find_blocks(b, 0);
  if (!blocks || dims[1] != out[1]) return loop_of(b, pad_loop(plain, value));
  no_posts(b);
  Built built;
  built.inputs = {b.as_it_is(0, 0, blocks->desc)};
  built.out = blocks->with_dims(out);
  built.loop = pad_loop(in_blocks(plain, blocks->size), value);
  built.implementation = kOwnLoop;
  return built;
}

}  // namespace byoc::onednn
