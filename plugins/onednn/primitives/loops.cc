#include "primitives/loops.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "library/implementations.h"

namespace byoc::onednn {

int loop_threads() {
#if defined(__SANITIZE_THREAD__)
  return 1;
#else
  return omp_get_max_threads();
#endif
}

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

Loop where_odd(int64_t cells, bool (*is_odd)(float), float (*f)(float)) {
  return [=](const void* const* in, void* to) {
    auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(to);
    for (int64_t k = 0; k < cells; ++k) {
      if (is_odd(x[k])) y[k] = f(x[k]);
    }
  };
}

// The series of e^x - 1. At the border, -1/16, what it leaves out is 1e-9 of the result; what the
// subtraction loses in oneDNN is 2e-6 there, and all of it near 0.
Loop elu_again(int64_t cells, float alpha) {
  return [=](const void* const* in, void* to) {
    auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(to);
#pragma omp simd
    for (int64_t k = 0; k < cells; ++k) {
      float z = x[k];
      float sum = z * (1 + z * (1.0f / 2 + z * (1.0f / 6 + z * (1.0f / 24 + z * (1.0f / 120)))));
      y[k] = z < 0 && z > -1.0f / 16 ? alpha * sum : y[k];
    }
  };
}

namespace {

// e^(x - m) / sum e^(x - m) of a row with NaN or infinities: what m, the maximum, makes of them.
void softmax_row(const float* in, float* out, int64_t length, int64_t step) {
  float most = -std::numeric_limits<float>::infinity(), sum = 0;
  for (int64_t k = 0; k < length; ++k) {
    float x = in[k * step];
    most = x > most || std::isnan(x) ? x : most;
  }
  for (int64_t k = 0; k < length; ++k) sum += out[k * step] = std::exp(in[k * step] - most);
  for (int64_t k = 0; k < length; ++k) out[k * step] /= sum;
}

}  // namespace

// oneDNN 2.6 takes NaN for a very small number.
Loop softmax_again(const Dims& dims, size_t axis) {
  BYOC_ONEDNN_CHECK(axis < dims.size(), "softmax has an axis of its operand");
  int64_t outer = 1, length = dims[axis], inner = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d < axis) outer *= dims[d];
    if (d > axis) inner *= dims[d];
  }
  return [=](const void* const* in, void* to) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (int64_t row = 0; row < outer * inner; ++row) {
      int64_t place = row / inner * length * inner + row % inner;
      auto* x = static_cast<const float*>(in[0]) + place;
      int is_odd = 0, is_some = 0;
      for (int64_t k = 0; k < length; ++k) {
        is_odd |= !(x[k * inner] < kInfinity);
        is_some |= x[k * inner] > -kInfinity;
      }
      if (is_odd || !is_some) softmax_row(x, static_cast<float*>(to) + place, length, inner);
    }
  };
}

// oneDNN gives NaN for denormals and infinities, and where a slope that is not read is no number.
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

// Elements are moved and never computed with: their size is all that counts.
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

// A block of channels is a dim of its own after the others, which keep their places.
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

// Filled, then the operand's rows at their places: in blocks of channels where it stands so and no
// channels are added.
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
