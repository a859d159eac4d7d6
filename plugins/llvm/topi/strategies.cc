// SPDX-License-Identifier: Apache-2.0
// Ways to compute an op other than the direct one.
#include "plugins/llvm/topi/strategies.h"

#include <algorithm>
#include <limits>

#include "plugins/llvm/attention/compute.h"
#include "plugins/llvm/chain/site.h"
#include "plugins/llvm/integers/compute.h"
#include "plugins/llvm/strassen/plan.h"
#include "plugins/llvm/strassen/recurrent.h"
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/winograd/plan.h"

namespace byoc::llvm_plugin::topi {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int kPreferred = 20;  // above OpDef::compute
constexpr int kPossible = 5;    // below OpDef::compute
constexpr double kCyclesPerNs = 4;
// The largest part of the direct time for which a recurrent net has Strassen's products: the
// estimates are not exact, and 80 terms gain nothing at 0.99 (Zen 3).
constexpr double kLeastGain = 0.95;

int64_t extent(const Tensor& tensor, size_t dim) { return *te::as_int(tensor.shape()[dim]); }

// Returns true for weight [o / b, c / i, 1, 1, i, b] and x [n, c / i, h, w, i] without padding.
bool is_pointwise(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return false;
  const Shape &x = site.inputs[0]->shape, &weight = site.inputs[1]->shape;
  if (x.size() != 5 || !is_static(x) || !is_static(weight)) return false;
  const Ints from = static_extents(x), taps = static_extents(weight);
  const Ints pads = site.attrs->ints("pads");
  return taps[2] == 1 && taps[3] == 1 && taps[4] == from[4] && site.attrs->i("group", 1) == 1 &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

// Returns the weight of [o / b, .., b] as [o / (b * count), .., b * count]: blocks of o joined to
// whole vectors, the last one filled up with zeros.
Tensor joined_blocks(te::Builder& builder, const Tensor& weight, int64_t count) {
  const int64_t blocks = extent(weight, 0), block = extent(weight, 5);
  Exprs shape = weight.shape();
  shape.front() = (blocks + count - 1) / count, shape.back() = block * count;
  return builder.compute("conv2d_nchwc.panels", shape, [&](const Exprs& i) {
    Exprs at = i;
    at.front() = i.front() * count + floor_div(i.back(), block);
    at.back() = floor_mod(i.back(), block);
    Expr value = weight(at);
    return blocks % count == 0
               ? value
               : te::select(at.front() < blocks, value, te::constant(DType::kF32, 0));
  });
}

// Computes sums[n, o, p, b] over pixels p = h * width + w, so that tiles need not
// end where rows do:
//   y[n, o, h, w, b] = sums[n, o, h * width + w, b]
// With strides, the pixels that are read are a stage of their own, which schedules
// store contiguously. Sums may have the lanes of several blocks of y, `count` of them:
//   y[n, o, h, w, b] = sums[n, o / count, h * width + w, o % count * lanes + b]
Result<std::vector<Tensor>> compute_pointwise(te::Builder& builder, std::span<const Tensor> in,
                                              Types out, const Attrs& attrs, int64_t count) {
  const Tensor x = in[0], weight = in[1];
  const Ints y = static_extents(out[0]->shape);
  Ints strides = attrs.ints("strides");
  if (strides.empty()) strides = {1, 1};
  const int64_t width = y[3], pixels = y[2] * y[3];
  auto pixel = [&](const Expr& n, const Expr& c, const Expr& p, const Expr& lane) {
    return x(n, c, floor_div(p, width) * strides[0], floor_mod(p, width) * strides[1], lane);
  };
  Tensor cells, panels;
  if (count > 1) panels = joined_blocks(builder, weight, count);
  if (strides != Ints{1, 1}) {
    const Exprs shape = {y[0], extent(x, 1), pixels, extent(x, 4)};
    cells = builder.compute("conv2d_nchwc.cells", shape,
                            [&](const Exprs& i) { return pixel(i[0], i[1], i[2], i[3]); });
  }
  Tensor sums = builder.reduce(
      "conv2d_nchwc.sums", {y[0], (y[1] + count - 1) / count, pixels, y[4] * count},
      {extent(x, 1), extent(x, 4)}, te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
        Expr value =
            cells.is_empty() ? pixel(i[0], r[0], i[2], r[1]) : cells(i[0], r[0], i[2], r[1]);
        return value * (panels.is_empty() ? weight(i[1], r[0], 0, 0, r[1], i[3])
                                          : panels(i[1], r[0], 0, 0, r[1], i[3]));
      });
  return std::vector<Tensor>{
      builder.compute("conv2d_nchwc", {y[0], y[1], y[2], y[3], y[4]}, [&](const Exprs& i) {
        const Expr p = i[2] * width + i[3];
        if (count == 1) return sums(i[0], i[1], p, i[4]);
        return sums(i[0], floor_div(i[1], count), p, floor_mod(i[1], count) * y[4] + i[4]);
      })};
}

bool has_one_tap(const te::Site& site) {
  if (site.op->name != "conv2d" || site.inputs[0]->dtype != DType::kF32) return false;
  if (!is_static(site.inputs[0]->shape) || !is_static(site.inputs[1]->shape)) return false;
  const Ints taps = static_extents(site.inputs[1]->shape);
  auto all = [&](const char* name, int64_t value) {
    return std::ranges::all_of(site.attrs->ints(name), [&](int64_t x) { return x == value; });
  };
  return taps[2] == 1 && taps[3] == 1 && site.attrs->i("group", 1) == 1 && all("pads", 0) &&
         all("strides", 1);
}

// Computes the same of a plain image, a product of matrices with the pixels as columns:
//   y[n, o, h, w] = sums[n, o, h * width + w], sums[n, o, p] over c
Result<std::vector<Tensor>> compute_plain_pointwise(te::Builder& builder,
                                                    std::span<const Tensor> in, Types out,
                                                    const Attrs&) {
  const Tensor x = in[0], weight = in[1];
  const Ints y = static_extents(out[0]->shape);
  const int64_t width = y[3];
  Tensor sums =
      builder.reduce("conv2d.sums", {y[0], y[1], y[2] * width}, {extent(x, 1)},
                     te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
                       return x(i[0], r[0], floor_div(i[2], width), floor_mod(i[2], width)) *
                              weight(i[1], r[0], 0, 0);
                     });
  return std::vector<Tensor>{
      builder.compute("conv2d", {y[0], y[1], y[2], y[3]},
                      [&](const Exprs& i) { return sums(i[0], i[1], i[2] * width + i[3]); })};
}

// Returns true for weights that are constants, or parameters after the inputs of a graph that came
// with constants (read_function).
bool has_constant_weight(const te::Site& site, size_t operand = 1) {
  if (site.is_constant[operand]) return true;
  const Function& function = *site.function;
  const uint32_t weight = function.args(function.nodes[site.node])[operand].node;
  if (!std::holds_alternative<Param>(function.nodes[weight].kind)) return false;
  int64_t inputs = function.attrs.i(kInputsAttr, std::numeric_limits<int64_t>::max());
  for (uint32_t node = 0; node < weight; ++node)
    inputs -= std::holds_alternative<Param>(function.nodes[node].kind) ? 1 : 0;
  return inputs <= 0;
}

// Returns the number of columns in a panel that fits the vectors, as the layouts of the plugin.
int64_t panel_columns(const te::Target& target) {
  return std::max<int64_t>(2 * target.lanes(sizeof(float)), 8);
}

// Returns true for products with a constant matrix that is not in panels yet: block sizes that do
// not divide its columns, or more bytes than constants that are folded.
bool has_plain_matrix(const te::Site& site) {
  if (site.op->name != "matmul" && site.op->name != "gemm") return false;
  const Shape &a = site.inputs[0]->shape, &b = site.inputs[1]->shape;
  if (site.inputs[0]->dtype != DType::kF32 || b.size() != 2 || a.size() < 2) return false;
  if (!is_static(a) || !is_static(b) || site.attrs->b("trans_a", false)) return false;
  const Ints extents = static_extents(b);
  const int64_t columns = extents[site.attrs->b("trans_b", false) ? 0 : 1];
  return site.attrs->f("alpha", 1) == 1 && columns >= panel_columns(*site.target) &&
         extents[0] * extents[1] > 0 && has_constant_weight(site);
}

// Computes y[.., m, n] over k of panels[n / block, k, n % block], a stage of the constant matrix
// alone. The last panel is filled up with zeros.
te::Strategy packed_product(int64_t block) {
  te::Strategy out{.name = kPackedCompute, .level = kPreferred};
  out.compute = [block](te::Builder& builder, std::span<const Tensor> in, Types types,
                        const Attrs& attrs) -> Result<std::vector<Tensor>> {
    const Tensor a = in[0], b = in[1];
    const bool is_transposed = attrs.b("trans_b", false);
    const int64_t n = types[0]->shape.back().extent(), k = extent(b, is_transposed ? 1 : 0);
    Tensor panels =
        builder.compute("panels", {(n + block - 1) / block, k, block}, [&](const Exprs& i) {
          const Expr column = i[0] * block + i[2];
          Expr value = is_transposed ? b(column, i[1]) : b(i[1], column);
          return n % block == 0 ? value
                                : te::select(column < n, value, te::constant(DType::kF32, 0));
        });
    return std::vector<Tensor>{builder.reduce(
        "product", te::extents_of(*types[0]), {k}, te::sum_of(DType::kF32),
        [&](const Exprs& i, const Exprs& r) {
          Exprs at = i;
          at.back() = r[0];
          return a(at) * panels(floor_div(i.back(), block), r[0], floor_mod(i.back(), block));
        })};
  };
  return out;
}

bool has_recurrent_matrices(const te::Site& site) {
  const std::string& op = site.op->name;
  if (op != "lstm" && op != "gru" && op != "rnn") return false;
  if (site.inputs[0]->dtype != DType::kF32 || !is_static(site.inputs[2]->shape)) return false;
  return static_extents(site.inputs[2]->shape)[2] >= site.target->lanes(sizeof(float)) &&
         has_constant_weight(site, 1) && has_constant_weight(site, 2);
}

// Computes recurrent nets with their matrices in panels, which are made at compile.
te::Strategy recurrent_panels(const te::Site& site) {
  te::Strategy out{.name = "panels", .level = kPreferred};
  out.compute = [direct = site.op->compute, lanes = site.target->lanes(sizeof(float))](
                    te::Builder& builder, std::span<const Tensor> in, Types types,
                    const Attrs& attrs) -> Result<std::vector<Tensor>> {
    Attrs more = attrs;
    more.set("panel_lanes", lanes);
    return direct(builder, in, types, more);
  };
  return out;
}

// Returns true for convolutions of f32 whose constant weights have blocks of half a vector.
bool has_half_blocks(const te::Site& site) {
  if (site.op->name != "conv2d_nchwc" || site.inputs[0]->dtype != DType::kF32) return false;
  const Shape& weight = site.inputs[1]->shape;
  if (!is_static(weight) || !is_static(site.inputs[0]->shape)) return false;
  const Ints extents = static_extents(weight);
  return extents[0] > 1 && 2 * extents[5] == site.target->lanes(sizeof(float)) &&
         has_constant_weight(site);
}

// Appends "pointwise", and where blocks of constant weights are half vectors, a compute that joins
// two of them.
void add_pointwise(const te::Site& site, std::vector<te::Strategy>& out) {
  auto joining = [](int64_t count) -> ComputeFn {
    return
        [count](te::Builder& builder, std::span<const Tensor> in, Types types, const Attrs& attrs) {
          return compute_pointwise(builder, in, types, attrs, count);
        };
  };
  const bool may_join = has_half_blocks(site);
  out.push_back(
      {.name = "pointwise", .level = may_join ? kPossible : kPreferred, .compute = joining(1)});
  if (may_join) out.push_back({.name = kJoinedCompute, .level = kPreferred, .compute = joining(2)});
}

// Appends a compute whose sums have the lanes of two blocks, half vectors of constant weights:
//   y[n, o, h, w, b] = sums[n, o / 2, h, w, o % 2 * lanes + b]
void add_joined(const te::Site& site, std::vector<te::Strategy>& out) {
  te::Strategy joined{.name = kJoinedWindows, .level = kPreferred};
  joined.compute = [direct = site.op->compute](te::Builder& builder, std::span<const Tensor> in,
                                               Types types,
                                               const Attrs& attrs) -> Result<std::vector<Tensor>> {
    const int64_t count = 2;
    const Ints y = static_extents(types[0]->shape);
    const TensorType wide{DType::kF32,
                          {y[0], (y[1] + count - 1) / count, y[2], y[3], y[4] * count}};
    const Tensor from[] = {in[0], joined_blocks(builder, in[1], count)};
    const TypeId result[] = {wide};
    BYOC_TRY(std::vector<Tensor> sums, direct(builder, from, result, attrs));
    return std::vector<Tensor>{
        builder.compute("conv2d_nchwc", te::extents_of(*types[0]), [&](const Exprs& i) {
          return sums[0](i[0], floor_div(i[1], count), i[2], i[3],
                         floor_mod(i[1], count) * y[4] + i[4]);
        })};
  };
  out.push_back(std::move(joined));
}

// Appends Winograd's computes, each with a level above the direct one's where it costs less. Of
// several the cheapest has the highest level.
void add_winograd(const te::Site& site, std::vector<te::Strategy>& out) {
  const std::optional<winograd::Conv> conv = winograd::conv_of(site);
  if (!conv) return;
  const bool is_constant = has_constant_weight(site);
  double least = winograd::direct_cycles_of(*conv, *site.target);
  out.front().cost_ns = [ns = least / kCyclesPerNs](const te::Site&) { return ns; };
  if (has_half_blocks(site))  // the compute that joins two of them
    least *= static_cast<double>((conv->o_blocks + 1) / 2) / static_cast<double>(conv->o_blocks);
  for (const winograd::Tile& tile : winograd::tiles_of(*conv)) {
    const double cycles = winograd::cycles_of(winograd::shape_of(*conv, tile), *site.target);
    te::Strategy strategy{.name = winograd::name_of(tile), .level = kPossible};
    strategy.compute = winograd::compute_of(*conv, tile);
    strategy.cost_ns = [ns = cycles / kCyclesPerNs](const te::Site&) { return ns; };
    strategy.has_generic_schedule = false;
    if (is_constant && cycles < least) {
      for (te::Strategy& other : out) other.level = std::min(other.level, kPreferred - 1);
      strategy.level = kPreferred;
      least = cycles;
    }
    out.push_back(std::move(strategy));
  }
}

// Appends Strassen's products where they cost less than direct sums. Of constant matrices they are
// the usual choice; of others the sums would be made in every run.
void add_strassen(const te::Site& site, std::vector<te::Strategy>& out) {
  std::optional<strassen::Product> product = strassen::product_of(site);
  if (!product || !strassen::fits_caches(*product, *site.target)) return;
  product->panel = strassen::panel_of(*product, *site.target);
  const double cycles = strassen::cycles_of(*product, *site.target);
  const double direct = strassen::direct_cycles_of(*product, *site.target);
  if (cycles >= direct) return;
  te::Strategy strategy{.name = strassen::kCompute, .level = kPossible};
  if (has_constant_weight(site)) strategy.level = kPreferred;
  strategy.compute = strassen::compute_of(*product);
  strategy.cost_ns = [ns = cycles / kCyclesPerNs](const te::Site&) { return ns; };
  strategy.has_generic_schedule = false;
  out.front().cost_ns = [ns = direct / kCyclesPerNs](const te::Site&) { return ns; };
  out.push_back(std::move(strategy));
}

// Appends Strassen's products for a convolution of one pixel with constant weights, the usual
// choice where they cost less than direct sums.
void add_strassen_of_image(const te::Site& site, std::vector<te::Strategy>& out) {
  const std::optional<strassen::Pointwise> conv = strassen::pointwise_of(site);
  if (!conv || !has_constant_weight(site)) return;
  const std::optional<strassen::Product> plan = strassen::plan_of(*conv, *site.target);
  if (!plan) return;
  const double cycles = strassen::image_cycles_of(*plan, *site.target);
  const double direct = strassen::direct_cycles_of(*conv, *site.target);
  const bool is_usual = cycles < direct;
  for (te::Strategy& other : out) {
    if (is_usual) other.level = std::min(other.level, kPreferred - 1);
    if (other.name == "pointwise" || other.name == kJoinedCompute)
      other.cost_ns = [ns = direct / kCyclesPerNs](const te::Site&) { return ns; };
  }
  te::Strategy strategy{.name = strassen::kCompute, .level = is_usual ? kPreferred : kPossible};
  strategy.compute = strassen::compute_of(*conv, *plan);
  strategy.cost_ns = [ns = cycles / kCyclesPerNs](const te::Site&) { return ns; };
  strategy.has_generic_schedule = false;
  out.push_back(std::move(strategy));
}

// Appends panels for recurrent nets, and Strassen's products of their input where they cost less.
void add_recurrent(const te::Site& site, bool has_exact_sums, std::vector<te::Strategy>& out) {
  out.push_back(recurrent_panels(site));
  auto product = strassen::input_product_of(site, panel_columns(*site.target));
  if (has_exact_sums || !product || !strassen::fits_caches(*product, *site.target)) return;
  product->panel = strassen::panel_of(*product, *site.target);
  const double direct = strassen::direct_cycles_of(*product, *site.target);
  if (strassen::cycles_of(*product, *site.target) >= kLeastGain * direct) return;
  te::Strategy strategy{.name = strassen::kCompute, .level = kPreferred + 1};
  strategy.compute = strassen::recurrent_compute_of(site, *product);
  strategy.has_generic_schedule = false;
  out.push_back(std::move(strategy));
}

// Appends the compute of attention for its products, whose schedule has both of them.
void add_attention(const te::Site& site, std::vector<te::Strategy>& out) {
  const attention::Role role = attention::role_of(site);
  if (role == attention::Role::kNone) return;
  te::Strategy strategy{.name = attention::kCompute, .level = kPreferred + 1};
  strategy.compute = attention::compute_of(role, site.target->lanes(sizeof(float)));
  strategy.has_generic_schedule = false;
  out.push_back(std::move(strategy));
}

}  // namespace

te::StrategyTable strategies() {
  return [direct = te::direct_strategies()](const te::Site& site) {
    std::vector<te::Strategy> out = direct(site);
    if (chain::is_in_chain(site)) {
      if (has_half_blocks(site) && site.attrs->i("group", 1) == 1) add_joined(site, out);
      return out;
    }
    if (is_pointwise(site)) add_pointwise(site, out);
    else if (has_half_blocks(site) && site.attrs->i("group", 1) == 1) add_joined(site, out);
    if (has_one_tap(site))
      out.push_back({.name = "pointwise", .level = kPreferred, .compute = compute_plain_pointwise});
    if (site.inputs.size() > 1) integers::add_strategies(site, has_constant_weight(site), out);
    if (has_plain_matrix(site)) out.push_back(packed_product(panel_columns(*site.target)));
    add_attention(site, out);
    const bool has_exact_sums = site.function->attrs.b(kExactSumsAttr, false);
    if (has_recurrent_matrices(site)) add_recurrent(site, has_exact_sums, out);
    if (!has_exact_sums) add_winograd(site, out);
    if (!has_exact_sums) add_strassen(site, out);
    if (!has_exact_sums) add_strassen_of_image(site, out);
    return out;
  };
}

}  // namespace byoc::llvm_plugin::topi
