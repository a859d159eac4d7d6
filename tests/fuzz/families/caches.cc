// SPDX-License-Identifier: Apache-2.0
// Caches of keys and values: new rows in them, and attention to the valid ones.
#include "grow.h"

namespace byoc::fuzz {
namespace {

// Returns numbers of [low, high], one per image, as constants or from an input.
Ref numbers_of_images(Grower& g, int64_t images, int64_t low, int64_t high) {
  const DType dtype = g.one_of<DType>({DType::kI32, DType::kI64});
  if (g.chance(0.5))
    return g.parameter(TensorType{dtype, {Dim(images)}},
                       {static_cast<double>(low), static_cast<double>(high), true});
  std::vector<double> values;
  for (int64_t k = 0; k < images; ++k) values.push_back(static_cast<double>(g.between(low, high)));
  return g.constant_ints(dtype, {images}, values);
}

bool grow_update_rows(Grower& g) {
  auto fits = [](const TensorType& t) { return t.shape.size() >= 2 && t.shape[0] != Dim(0); };
  auto there = g.find(fits);
  Shape shape = g.shape(2 + g.pick(3));
  shape[0] = Dim(g.between(1, 3));
  const Ref cache = there && g.chance(0.6) ? *there : g.parameter(TensorType{g.any_dtype(), shape});
  const size_t rank = g.rank(cache), axis = 1 + g.pick(rank - 1);
  const int64_t extent = g.dim(cache, axis), count = g.between(0, std::min<int64_t>(extent, 3));
  const bool is_circular = g.chance(0.3);
  if (is_circular && extent == 0) return false;
  Shape rows = g.shape_of(cache);
  rows[axis] = Dim(count);
  // Starts of a circular cache are taken modulo its rows.
  const Ref starts = numbers_of_images(g, g.dim(cache, 0), is_circular ? -3 * extent : 0,
                                       is_circular ? 5 * extent : extent - count);
  auto signed_axis = static_cast<int64_t>(axis);
  if (g.chance(0.5)) signed_axis -= static_cast<int64_t>(rank);
  return g
      .call("update_rows", {cache, g.weight(TensorType{g.type(cache)->dtype, rows}), starts},
            {{"axis", signed_axis}, {"mode", is_circular ? "circular" : "linear"}})
      .has_value();
}

// Sizes of heads that fill no vector, one, or several and a rest.
int64_t head_size(Grower& g) { return g.one_of<int64_t>({1, 2, 3, 8, 16, 17, 64, 80, 128}); }

Attrs scoring(Grower& g) {
  Attrs attrs;
  if (g.chance(0.4)) attrs.set("causal", true);
  if (g.chance(0.3)) attrs.set("left_window", g.between(0, 9));
  if (g.chance(0.2)) attrs.set("right_window", g.between(0, 3));
  if (g.chance(0.2)) attrs.set("softcap", g.real(0.5, 3));
  if (g.chance(0.2)) attrs.set("scale", g.real(0.1, 0.6));
  return attrs;
}

bool grow_cached_attention(Grower& g) {
  const int64_t n = g.between(1, 3), kv_heads = g.between(1, 3), heads = kv_heads * g.between(1, 5),
                s = g.one_of<int64_t>({0, 1, 1, 1, 2, 3, 9}),
                t = g.one_of<int64_t>({0, 1, 5, 63, 64, 65, 150}), d = head_size(g),
                e = head_size(g);
  const DType dtype = g.main_dtype();
  auto operand = [&](int64_t count, int64_t length, int64_t size) {
    const Shape apart = {Dim(n), Dim(count), Dim(length), Dim(size)},
                packed = {Dim(n), Dim(length), Dim(count * size)};
    return g.parameter(TensorType{dtype, g.chance(0.3) ? packed : apart}, {-1, 1});
  };
  std::vector<Ref> in = {operand(heads, s, d), operand(kv_heads, t, d), operand(kv_heads, t, e),
                         numbers_of_images(g, n, 0, t)};
  if (g.chance(0.3)) {
    const Shape mask = {Dim(g.chance(0.5) ? n : 1), Dim(g.chance(0.5) ? heads : 1), Dim(s), Dim(t)};
    in.push_back(g.parameter(TensorType{g.chance(0.5) ? DType::kBool : dtype, mask}, {-1, 1}));
  }
  Attrs attrs = scoring(g);
  attrs.set("heads", heads), attrs.set("kv_heads", kv_heads);
  return g.call("cached_attention", in, attrs).has_value();
}

}  // namespace

std::vector<Family> cache_families() {
  return {{"update_rows", 1.6, grow_update_rows, {"update_rows"}},
          {"cached_attention", 1.6, grow_cached_attention, {"cached_attention"}}};
}

}  // namespace byoc::fuzz
