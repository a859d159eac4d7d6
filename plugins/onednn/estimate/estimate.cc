// SPDX-License-Identifier: Apache-2.0
#include "estimate/estimate.h"

#include <algorithm>

#include "library/implementations.h"
#include "region/chain.h"

namespace byoc::onednn {
namespace {

// Shares of the peak and costs per element, medians over layers of networks (ResNet-50, VGG-16,
// MobileNetV2, EfficientNet, BERT and others), one thread of a Sapphire Rapids with 2 MiB of second
// cache and oneDNN 2.6, measured by `byoc place` for each op alone.
constexpr double kConvolution = 0.82, kWinograd = 1.25, kDepthwise = 0.4, kSmallGroup = 0.53;
// Depthwise convolutions have no adjacent bytes to multiply: 58 us for 96 channels of 56 x 56 on a
// Zen 5.
constexpr double kDepthwiseBytes = 0.09;
// Transposed convolutions in blocks of channels that are all used; by products of matrices; of
// every channel with itself.
constexpr double kTransposed = 0.35, kTransposedByProducts = 0.31, kTransposedDepthwise = 0.01;
constexpr double kProduct = 0.8, kProductOfInputs = 0.85;
constexpr double kStream = 0.8, kTurned = 0.42, kVector = 0.25, kOnePixel = 0.017, kCopied = 0.25;

// Operations at the peak that one element takes where a loop is not bound by memory.
constexpr double kPerTap = 23, kPerMeanTap = 55, kPerElement = 23, kPerExact = 440, kPerNorm = 31,
                 kPerSoftmax = 300, kPerReduced = 50, kPerResized = 100;
// The same of a reorder that turns the last axis, beyond what the host counts for a reorder: 0.18
// ns per element on a Zen 5, oneDNN 2.6, 12 matrices of 128 x 64 and an image of 224 x 224 x 3.
constexpr double kPerTurned = 48;
// The same of reference kernels, which compute each index from its coordinates and call libm:
// 16 ns per element of a sum along an outer axis and 84 ns per element of a softmax.
// What follows a transposed convolution in its primitive is computed as slowly.
constexpr double kPerReference = 3800, kPerReferenceSoftmax = 20'000, kReferenceFlop = 230,
                 kPerTransposedPost = 9000;

// Transposed convolutions by products add each element of the products to the result: 0.8 ns by
// oneDNN 2.6.3 with AVX2 on an EPYC of 118 GFLOP/s.
constexpr double kPerColumn = 94;

constexpr double kCallNs = 400;       // of a primitive, with its table of arguments
constexpr double kFewFlops = 8;       // per element of a matrix, where few rows meet it
constexpr int64_t kFewChannels = 16;  // of a group
constexpr int64_t kBlock = 16;        // channels that a kernel computes together

// Rows so many bytes apart, or a multiple, have their lines in the same sets of the first cache.
constexpr int64_t kSetBytes = 4096, kLineBytes = 64;
constexpr int64_t kTile = 16;  // rows that a reorder turns as one

double count(const Dims& dims) {
  double out = 1;
  for (int64_t dim : dims) out *= static_cast<double>(dim);
  return out;
}

struct Facts {
  const Region& region;
  const Unit& unit;
  const Built& built;

  const Type& type(size_t arg) const { return region.type(unit.args[arg]); }
  const Type& out() const { return region.type(unit.out); }
  bool is_constant(size_t arg) const {
    return region.at(unit.args[arg]).origin == Value::kConstant;
  }
  double outputs() const { return count(out().dims); }
  double inputs() const { return count(type(0).dims); }
  double bytes() const {
    auto of = [](const Type& type) {
      return type.is_static() ? static_cast<double>(type.bytes()) : 0;
    };
    double sum = of(out());
    for (int arg : unit.args) sum += of(region.type(arg));
    for (const Post& post : unit.posts) sum += post.other >= 0 ? of(region.type(post.other)) : 0;
    return sum;
  }
};

const byoc_rate& peak_of(const Facts& facts, const sdk::Machine& machine) {
  const bool is_i8 = facts.unit.integers.has_value() && machine.raw().i8.one > 0;
  return is_i8 ? machine.raw().i8 : machine.raw().f32;
}

// Weights are [o, c / groups, window...], those of transposed convolutions [c, o / groups, ...].
// The channels that fill up blocks are computed as the others.
sdk::Work window_work(const Facts& facts, bool is_transposed) {
  const Dims& weight = facts.type(1).dims;
  BYOC_ONEDNN_CHECK(weight.size() >= 2, "weights of a convolution have channels");
  const double per_element = 2 * count(weight) / static_cast<double>(weight[0]);
  double more = 1;
  for (const Argument& argument : facts.built.inputs)
    if (argument.index == DNNL_ARG_WEIGHTS) more = filled_blocks(argument.want);
  const auto result = static_cast<double>(facts.out().is_static() ? facts.out().bytes() : 0);
  return {(is_transposed ? facts.inputs() : facts.outputs()) * per_element * more,
          facts.bytes() + (filled_blocks(facts.built.out) - 1) * result};
}

sdk::Share share_of_convolution(const Facts& facts) {
  const Dims& weight = facts.type(1).dims;
  const bool has_groups = facts.unit.node->attrs.i("group", 1) > 1;
  if (has_groups && weight[1] == 1)
    return {facts.unit.integers ? kDepthwiseBytes : kDepthwise, kStream};
  if (has_groups && weight[1] < kFewChannels) return {kSmallGroup, kStream};
  if (is_winograd(facts.built.implementation)) return {kWinograd, kStream};
  const bool is_one_pixel = count(facts.out().dims) == static_cast<double>(weight[0]);
  return {kConvolution, is_one_pixel ? kOnePixel : kStream};
}

// Returns the part of whole blocks that channels fill.
double filled(int64_t channels) {
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  return static_cast<double>(channels) / static_cast<double>(std::max<int64_t>(blocks, 1) * kBlock);
}

double transposed_ns(const Facts& facts, const byoc_rate& peak, const sdk::Machine& machine) {
  const Dims& weight = facts.type(1).dims;
  const int64_t groups = std::max<int64_t>(facts.unit.node->attrs.i("group", 1), 1);
  double share = kTransposed * filled(weight[0] / groups) * filled(weight[1]);
  if (is_by_products(facts.built.implementation)) share = kTransposedByProducts;
  else if (groups > 1 && groups == weight[0]) share = kTransposedDepthwise;
  double more = kPerTransposedPost * facts.outputs() * static_cast<double>(facts.unit.posts.size());
  if (is_by_products(facts.built.implementation)) {
    const double pixels = facts.inputs() / static_cast<double>(weight[0]);
    const double columns = count(weight) / static_cast<double>(weight[0] / groups);
    more += kPerColumn * pixels * columns;
  }
  return machine.run_ns(window_work(facts, true), {share, kStream}, peak) +
         machine.run_ns({more, 0});
}

sdk::Work product_work(const Facts& facts) {
  const Dims& a = facts.type(0).dims;
  const bool is_turned = facts.unit.node->attrs.b("trans_a", false);
  const double depth =
      a.empty() ? 1 : static_cast<double>(is_turned && a.size() > 1 ? a[a.size() - 2] : a.back());
  return {2 * facts.outputs() * depth, facts.bytes()};
}

// Returns true for loops that call a function of libm. The loops that keep NaN in relu and the like
// are as fast as oneDNN's.
bool is_exact_function(const Facts& facts) {
  const ChainOp* row = find_chain_op(facts.unit.node->op);
  return static_cast<bool>(facts.built.loop) && (row == nullptr || !row->loses_nan);
}

// Returns the part of the lanes that columns of a product fill. Small products, "brg", have a
// vector of columns per register.
double filled_lanes(const Facts& facts) {
  const Dims& out = facts.out().dims;
  const int64_t lanes = lanes_of_products(facts.built.implementation);
  if (out.empty() || lanes < 2) return 1;
  const bool is_column = facts.type(1).dims.size() == 1;
  const int64_t columns = is_column ? 1 : std::max<int64_t>(out.back(), 1);
  return static_cast<double>(columns) / static_cast<double>((columns + lanes - 1) / lanes * lanes);
}

double product_ns(const Facts& facts, const byoc_rate& peak, const sdk::Machine& machine) {
  sdk::Work work = product_work(facts);
  const double weights = count(facts.type(1).dims);
  const double share = facts.is_constant(1) ? kProduct : kProductOfInputs;
  // A product with a vector reads each weight once.
  const double bandwidth = work.flops < kFewFlops * weights ? kVector : kStream;
  work.flops /= filled_lanes(facts);
  return machine.run_ns(work, {share, bandwidth}, peak);
}

double elements_ns(const Facts& facts, double elements, double each, double bandwidth,
                   const sdk::Machine& machine) {
  return machine.run_ns({elements * each, facts.bytes()}, {1, bandwidth});
}

// Returns the time that a transpose takes beyond a usual reorder. Columns of more rows than caches
// keep, all of them in the same sets, bring a line for each element. Whole tiles use all of theirs.
double turned_ns(const Facts& facts, const sdk::Machine& machine) {
  if (!facts.type(0).is_static()) return 0;
  const Dims& dims = facts.type(0).dims;
  Dims perm = facts.unit.node->op == "transpose" ? facts.unit.node->attrs.ints("perm") : Dims();
  if (perm.size() != dims.size() || perm.empty()) return 0;
  const auto column = static_cast<size_t>(perm.back());
  if (column + 1 >= dims.size()) return 0;
  const double usual = machine.run_ns({facts.inputs() * kPerTurned, 0});
  if (dims[column] % kTile == 0) return usual;
  int64_t row = facts.type(0).bytes() / std::max<int64_t>(static_cast<int64_t>(facts.inputs()), 1);
  for (size_t d = column + 1; d < dims.size(); ++d) row *= dims[d];
  if (row == 0 || row % kSetBytes != 0) return usual;
  const byoc_machine& raw = machine.raw();
  for (uint32_t k = 0; k < raw.n_levels; ++k) {
    const bool is_kept =
        raw.levels[k].bytes / static_cast<uint64_t>(row) >= static_cast<uint64_t>(dims[column]);
    if (!is_kept && k + 1 < raw.n_levels) continue;
    if (k == 0) return usual;
    return usual + facts.inputs() * kLineBytes / raw.levels[k].fill.one;
  }
  return usual;
}

// Reference kernels run each element or multiplication by itself.
double reference_ns(const Facts& facts, const sdk::Machine& machine) {
  const double elements = std::max(facts.inputs(), facts.outputs());
  switch (kind_of(facts.unit)) {
    case Kind::kConvolution:
      return machine.run_ns({kReferenceFlop * window_work(facts, false).flops, 0});
    case Kind::kTransposedConvolution:
      return machine.run_ns({kReferenceFlop * window_work(facts, true).flops, 0});
    case Kind::kProduct:
      return machine.run_ns({kReferenceFlop * product_work(facts).flops, 0});
    case Kind::kSoftmax:
      return machine.run_ns({kPerReferenceSoftmax * elements, 0});
    case Kind::kConcat:  // by reference is one reorder per operand
      return elements_ns(facts, 0, 0, kCopied, machine);
    default:
      return machine.run_ns({kPerReference * elements, 0});
  }
}

double primitive_ns(const Facts& facts, const sdk::Machine& machine) {
  const byoc_rate& peak = peak_of(facts, machine);
  switch (kind_of(facts.unit)) {
    case Kind::kConvolution:
      return machine.run_ns(window_work(facts, false), share_of_convolution(facts), peak);
    case Kind::kTransposedConvolution:
      return transposed_ns(facts, peak, machine);
    case Kind::kProduct:
      return product_ns(facts, peak, machine);
    case Kind::kPool:
    case Kind::kMeanPool: {
      const double taps = count(facts.unit.node->attrs.ints("kernel_shape"));
      return elements_ns(facts, facts.outputs() * taps,
                         kind_of(facts.unit) == Kind::kPool ? kPerTap : kPerMeanTap, kStream,
                         machine);
    }
    case Kind::kElementwise:
      return elements_ns(facts, facts.outputs(), is_exact_function(facts) ? kPerExact : kPerElement,
                         kStream, machine);
    case Kind::kNorm:
      return elements_ns(facts, facts.outputs(), kPerNorm, kStream, machine);
    case Kind::kSoftmax:
      return elements_ns(facts, facts.outputs(), kPerSoftmax, kStream, machine);
    case Kind::kReduction:
      return elements_ns(facts, facts.inputs(), kPerReduced, kStream, machine);
    case Kind::kConcat:
      return elements_ns(facts, 0, 0, kCopied, machine);
    case Kind::kMove:
      return elements_ns(facts, 0, 0, kTurned, machine);
    case Kind::kView:
      return 0;
    case Kind::kResize:
      return elements_ns(facts, facts.outputs(), kPerResized, kStream, machine);
  }
  return 0;
}

// Weights that are not constant are brought into the layout of the primitive in each run.
double reorders_ns(const Facts& facts, const sdk::Machine& machine) {
  double bytes = 0;
  for (const Argument& argument : facts.built.inputs) {
    const Value& value = facts.region.at(argument.value);
    const bool is_weight = argument.index == DNNL_ARG_WEIGHTS && value.origin != Value::kConstant;
    if (is_weight && argument.have != argument.want)
      bytes += 2 * static_cast<double>(value.type.bytes());
  }
  return bytes > 0 ? machine.run_ns({0, bytes}, {1, kCopied}) : 0;
}

}  // namespace

double estimate_ns(const Region& region, const Unit& unit, const Built& built,
                   const sdk::Machine& machine) {
  const Facts facts{region, unit, built};
  if (built.is_nothing || unit.args.empty()) return 0;
  // The host has the costs of views and of usual reorders that make them plain.
  if (built.is_view) return turned_ns(facts, machine);
  const bool is_slow = is_reference(built.implementation);
  return kCallNs + reorders_ns(facts, machine) +
         (is_slow ? reference_ns(facts, machine) : primitive_ns(facts, machine));
}

}  // namespace byoc::onednn
