// SPDX-License-Identifier: Apache-2.0
// cached_attention: attention of queries to the valid keys of a cache, whose number each run gives.
// Source: ONNX opset 25, Attention with nonpad_kv_seqlen.
#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/attention/attention.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

constexpr const char* kCachedAttention = "cached_attention";
using MaskTypes = decltype(FloatTypes{} + BoolTypes{});
constexpr double kMasked = -std::numeric_limits<double>::infinity();

Status attention_misfit(std::string what, Types in) {
  return invalid(cat(kCachedAttention, ": ", what, " (q ", in[0], ", k ", in[1], ", v ", in[2],
                     ", lengths ", in[3], ")"))
      .with_slug("op-shape");
}

// The dims of an operand as [n, heads, length, size].
Result<Shape> dims_of(Types in, size_t operand, int64_t heads) {
  const Shape& shape = in[operand]->shape;
  if (shape.size() == 4) return shape;
  if (shape.size() != 3) return attention_misfit("q, k and v must have rank 3 or 4", in);
  if (!shape[2].is_static() || shape[2].extent() % heads != 0)
    return attention_misfit(
        cat("the last dim of operand ", operand, " does not divide into ", heads, " heads"), in);
  return Shape{shape[0], Dim(heads), shape[1], Dim(shape[2].extent() / heads)};
}

Status read_window(CachedAttention& plan, const Attrs& attrs) {
  plan.scale = attrs.f("scale", 0), plan.softcap = attrs.f("softcap", 0);
  plan.is_causal = attrs.b("causal", false);
  plan.left = attrs.i("left_window", -1), plan.right = attrs.i("right_window", -1);
  if (plan.left < -1 || plan.right < -1)
    return invalid(cat(kCachedAttention, ": left_window ", plan.left, " and right_window ",
                       plan.right, " must be at least -1"));
  if (plan.softcap < 0)
    return invalid(cat(kCachedAttention, ": softcap is ", plan.softcap, ", expected at least 0"));
  return {};
}

// Returns the result's dims as [n, heads, s, e]. Where they are known, so is the plan.
Result<Shape> read_plan(Types in, const Attrs& attrs, CachedAttention& plan) {
  plan.heads = attrs.i("heads", 1), plan.kv_heads = attrs.i("kv_heads", 1);
  if (plan.heads < 1 || plan.kv_heads < 1 || plan.heads % plan.kv_heads != 0)
    return invalid(cat(kCachedAttention, ": heads ", plan.heads,
                       " is no positive multiple of kv_heads ", plan.kv_heads));
  BYOC_TRY_STATUS(read_window(plan, attrs));
  BYOC_TRY(const Shape q, dims_of(in, 0, plan.heads));
  BYOC_TRY(const Shape k, dims_of(in, 1, plan.kv_heads));
  BYOC_TRY(const Shape v, dims_of(in, 2, plan.kv_heads));
  const bool fits = q[1] == Dim(plan.heads) && k[1] == Dim(plan.kv_heads) && k[1] == v[1] &&
                    q[0] == k[0] && q[0] == v[0] && k[2] == v[2] && q[3] == k[3] &&
                    in[3]->shape == Shape{q[0]};
  if (!fits)
    return attention_misfit(
        cat("the operands do not fit ", plan.heads, " and ", plan.kv_heads, " heads"), in);
  if (!q[3].is_static() || q[3].extent() < 1 || !k[2].is_static() || !v[3].is_static())
    return attention_misfit(
        "the sizes of heads, at least 1, and the length of the cache must be known", in);
  for (size_t d = 0; d < 3; ++d) plan.has_packed[d] = in[d]->shape.size() == 3;
  plan.d = q[3].extent(), plan.t = k[2].extent(), plan.e = v[3].extent();
  if (q[0].is_static()) plan.n = q[0].extent();
  if (q[2].is_static()) plan.s = q[2].extent();
  if (plan.scale == 0) plan.scale = 1 / std::sqrt(static_cast<double>(plan.d));
  return Shape{q[0], q[1], q[2], v[3]};
}

// Checks that a mask broadcasts to [n, heads, s, t].
Status check_mask(Types in, const Shape& y, int64_t t) {
  const Shape& mask = in[4]->shape;
  const Shape all = {y[0], y[1], y[2], Dim(t)};
  bool fits = mask.size() <= all.size() && mask.size() > 0;
  for (size_t d = 0; fits && d < mask.size(); ++d)
    fits = mask[d] == Dim(1) || mask[d] == all[d + all.size() - mask.size()];
  if (fits) return {};
  return attention_misfit(cat("the mask is ", in[4], ", expected one that broadcasts to ", all),
                          in);
}

Result<std::vector<TensorType>> infer_cached_attention(Types in, const Attrs& attrs) {
  for (size_t k = 0; k < 3; ++k)
    BYOC_TRY_STATUS(expect_dtype(kCachedAttention, "q, k or v", in[k], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_dtype(kCachedAttention, "lengths", in[3], {DType::kI32, DType::kI64}));
  CachedAttention plan;
  BYOC_TRY(Shape y, read_plan(in, attrs, plan));
  if (in.size() > 4) {
    BYOC_TRY_STATUS(expect_dtype(kCachedAttention, "mask", in[4], dtypes_of(MaskTypes{})));
    BYOC_TRY_STATUS(check_mask(in, y, plan.t));
  }
  if (attrs.s("of").empty())
    return invalid(cat(kCachedAttention, ": the attribute \"of\" is empty"));
  if (plan.has_packed[0]) y = {y[0], y[2], Dim(plan.heads * plan.e)};
  return one_result({in[0]->dtype, y});
}

Result<ValueCheck> check_cached_attention(Types in, const Attrs& attrs) {
  CachedAttention plan;
  BYOC_TRY_STATUS(read_plan(in, attrs, plan).status());
  return index_check(attrs.s("of"), in[3], 3, {lengths_up_to(plan.t)});
}

// ---- the reference kernel, in f64

// Reads element `at` as a number; a bool as what is added to a score.
using Read = double (*)(const void* data, int64_t at);

Result<Read> reader_of(DType dtype) {
  if (dtype == DType::kBool)
    return Read([](const void* data, int64_t at) {
      return static_cast<const bool*>(data)[at] ? 0 : kMasked;
    });
  return for_dtype<Read>(kCachedAttention, dtype, FloatTypes{}, []<class T>() -> Read {
    return [](const void* data, int64_t at) {
      return static_cast<double>(static_cast<Compute<T>>(static_cast<const T*>(data)[at]));
    };
  });
}

struct Operand {
  Read read = nullptr;
  std::vector<int64_t> extents, strides;
  double at(const void* data, std::initializer_list<int64_t> place) const {
    int64_t offset = 0;
    size_t d = extents.size();
    for (auto i = place.end(); d > 0;) {
      --d, --i;
      if (extents[d] != 1) offset += *i * strides[d];
    }
    return read(data, offset);
  }
};

Result<Operand> operand_of(TypeId type) {
  Operand out;
  BYOC_TRY(out.read, reader_of(type->dtype));
  out.extents = static_extents(type->shape);
  out.strides = row_major_strides(out.extents);
  return out;
}

// Computes the row of one query, whose keys are those of [first, end).
struct QueryRow {
  const CachedAttention& plan;
  std::span<const Operand> operands;
  const void* const* in;
  bool has_bool_mask;
  int64_t image, head, i, first = 0, end = 0;

  void find_keys(int64_t length) {
    const int64_t position = i + length - plan.s, after = plan.is_causal ? 0 : plan.right;
    end = after < 0 ? length : std::min(length, position + after + 1);
    if (plan.left >= 0) first = std::max<int64_t>(0, position - plan.left);
  }
  double number(size_t k, int64_t size, int64_t of_head, int64_t row, int64_t column) const {
    if (plan.has_packed[k]) return operands[k].at(in[k], {image, row, of_head * size + column});
    return operands[k].at(in[k], {image, of_head, row, column});
  }
  double score(int64_t key) const {
    double sum = 0;
    for (int64_t c = 0; c < plan.d; ++c)
      sum += number(0, plan.d, head, i, c) * number(1, plan.d, head / plan.group(), key, c);
    sum *= plan.scale;
    if (plan.softcap > 0) sum = std::tanh(sum / plan.softcap) * plan.softcap;
    if (operands.size() < 5) return sum;
    const double mask = operands[4].at(in[4], {image, head, i, key});
    return has_bool_mask && mask == kMasked ? kMasked : sum + mask;
  }
  // Returns the greatest score; NaN when one is.
  double greatest() const {
    double top = kMasked;
    for (int64_t key = first; key < end && !std::isnan(top); ++key) {
      const double next = score(key);
      if (!(next <= top)) top = next;
    }
    return top;
  }
  // Writes sums over keys of p v for columns [begin, begin + count). Returns the sum of p.
  double add(double top, int64_t begin, int64_t count, double* sums) const {
    double all = 0;
    std::fill_n(sums, count, 0.0);
    for (int64_t key = first; key < end && top != kMasked; ++key) {
      const double p = std::exp(score(key) - top);
      all += p;
      for (int64_t c = 0; c < count; ++c)
        sums[c] += p * number(2, plan.e, head / plan.group(), key, begin + c);
    }
    return all;
  }
};

template <class T>
void write_row(const QueryRow& row, void* const* out) {
  constexpr int64_t kColumns = 64;
  const CachedAttention& plan = row.plan;
  const double top = row.greatest();
  double sums[kColumns];
  for (int64_t begin = 0; begin < plan.e; begin += kColumns) {
    const int64_t count = std::min(kColumns, plan.e - begin);
    const double all = row.add(top, begin, count, sums);
    const int64_t at =
        plan.has_packed[0]
            ? ((row.image * plan.s + row.i) * plan.heads + row.head) * plan.e + begin
            : ((row.image * plan.heads + row.head) * plan.s + row.i) * plan.e + begin;
    for (int64_t c = 0; c < count; ++c)
      out_as<T>(out, 0)[at + c] =
          static_cast<T>(static_cast<Compute<T>>(all == 0 ? 0 : sums[c] / all));
  }
}

template <class T>
RefKernel cached_attention_kernel(const CachedAttention& plan, std::vector<Operand> operands,
                                  Types in_types) {
  const DType lengths = in_types[3]->dtype;
  const bool has_bool_mask = in_types.size() > 4 && in_types[4]->dtype == DType::kBool;
  return [=, operands = std::move(operands)](const void* const* in, void* const* out) {
    const Indices length(lengths, in[3]);
    for (int64_t image = 0; image < plan.n; ++image) {
      for (int64_t head = 0; head < plan.heads; ++head) {
        for (int64_t i = 0; i < plan.s; ++i) {
          QueryRow row{plan, operands, in, has_bool_mask, image, head, i};
          row.find_keys(length[image]);
          write_row<T>(row, out);
        }
      }
    }
  };
}

Result<RefKernel> reference_cached_attention(Types in, Types, const Attrs& attrs) {
  CachedAttention plan;
  BYOC_TRY_STATUS(read_plan(in, attrs, plan).status());
  std::vector<Operand> operands(in.size());
  for (size_t k = 0; k < in.size(); ++k) {
    if (k == 3) continue;
    BYOC_TRY(operands[k], operand_of(in[k]));
  }
  return for_dtype(kCachedAttention, in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return cached_attention_kernel<T>(plan, operands, in);
  });
}

Result<Tensors> compute_cached_attention(te::Builder& builder, Inputs in, Types out,
                                         const Attrs& attrs) {
  std::vector<TypeId> types;
  for (const Tensor& tensor : in) types.push_back(type_of(tensor));
  CachedAttention plan;
  BYOC_TRY_STATUS(read_plan(types, attrs, plan).status());
  return cached_attention_loops(builder, plan, attrs.s("of"), in, out[0]);
}

// Counts all keys of the cache, as the length is not known.
double flops_cached_attention(Types in, Types out, const Attrs& attrs) {
  CachedAttention plan;
  if (!read_plan(in, attrs, plan).ok() || plan.e == 0) return 0;
  return 2 * flop_count(out[0]) / static_cast<double>(plan.e) * static_cast<double>(plan.t) *
         static_cast<double>(plan.d + plan.e);
}

}  // namespace

void add_cached_attention_ops(OpRegistry& ops) {
  ops.add({.name = kCachedAttention,
           .doc = "softmax(scale q k^T) v over the first lengths[n] keys; a query is at one of the "
                  "last s positions of these. A query that sees no key gives 0.",
           .inputs = {{"q", "float [n, heads, s, d] or [n, s, heads * d]"},
                      {"k", "float [n, kv_heads, t, d] or [n, t, kv_heads * d]"},
                      {"v", "float [n, kv_heads, t, e] or [n, t, kv_heads * e]"},
                      {"lengths", "i32 or i64 [n], each in [0, t]"},
                      {"mask",
                       "added to the scores, or bool: false hides a key; broadcast to "
                       "[n, heads, s, t]",
                       true}},
           .outputs = {{"y", "as q: [n, heads, s, e] or [n, s, heads * e]"}},
           .attrs = {{"heads", int64_t{1}, "a multiple of kv_heads"},
                     {"kv_heads", int64_t{1}, "heads of k and v"},
                     {"scale", 0.0, "of the scores; 0: d^(-1/2)"},
                     {"causal", false, "no key after the query is seen"},
                     {"left_window", int64_t{-1}, "keys seen before the query; -1: all"},
                     {"right_window", int64_t{-1}, "keys seen after it; -1: all"},
                     {"softcap", 0.0, "c of c tanh(score / c); 0: none"},
                     {"of", "cached_attention.lengths", "the operand that an error names"}},
           .infer = infer_cached_attention,
           .reference = reference_cached_attention,
           .compute = with_open_sizes(compute_cached_attention),
           .flops = flops_cached_attention,
           .check = check_cached_attention});
}

}  // namespace byoc::op
