// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/fill/filled_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "byoc/base/disjoint_sets.h"
#include "byoc/op/evaluate.h"

namespace byoc {
namespace {

constexpr size_t kRank = 4;  // of an image [n, c, h, w]
// Moving an element takes the time of as many multiply-adds of whole vectors.
constexpr double kMoved = 4;

constexpr int64_t kUsual = 128;  // of an extent that has no bound

bool is_float_image(TypeId type) {
  return type->dtype == DType::kF32 && type->shape.size() == kRank && type->shape[1].is_static() &&
         std::ranges::none_of(type->shape, &Dim::is_counted);
}

int64_t extent_of(Dim dim) { return dim.max() == Dim::kUnbounded ? kUsual : dim.max(); }

/// Returns the elements at the largest sizes.
double elements_of(TypeId type) {
  double out = 1;
  for (Dim dim : type->shape) out *= static_cast<double>(extent_of(dim));
  return out;
}

bool is_constant(const Function& function, ValueId value) {
  return std::holds_alternative<Constant>(function.nodes[value.node].kind);
}

bool is_elementwise(const Call& call) {
  return call.op->kind == FusionKind::kElementwise || call.op->kind == FusionKind::kBroadcast;
}

/// Returns true for an elementwise op on one image, once or several times, and constants.
bool reads_one_image(const Function& function, const Node& node, const Call& call) {
  if (!is_elementwise(call)) return false;
  const std::span<const ValueId> args = function.args(node);
  auto image = std::ranges::find_if(args, [&](ValueId arg) { return !is_constant(function, arg); });
  return image != args.end() && node.types.size() == 1 && function.type(*image) == node.types[0] &&
         std::ranges::all_of(args, [&](ValueId arg) {
           return arg == *image ||
                  (is_constant(function, arg) && function.type(arg)->shape.size() <= kRank);
         });
}

/// Returns true per node when its result is read channel by channel, up to means of planes.
std::vector<bool> ends_in_means(const Function& function) {
  std::vector<bool> is_read(function.nodes.size()), is_whole(function.nodes.size());
  for (ValueId result : function.results) is_whole[result.node] = true;
  for (size_t k = function.nodes.size(); k-- > 0;) {
    const Node& node = function.nodes[k];
    auto* call = std::get_if<Call>(&node.kind);
    const bool is_end = call != nullptr && is_mean_of_planes(*call);
    const bool is_link =
        call != nullptr && is_read[k] && !is_whole[k] && reads_one_image(function, node, *call);
    for (ValueId arg : function.args(node)) {
      is_read[arg.node] = true;
      if (!is_end && !is_link) is_whole[arg.node] = true;
    }
  }
  for (size_t k = 0; k < is_read.size(); ++k) is_read[k] = is_read[k] && !is_whole[k];
  return is_read;
}

class Planner {
 public:
  Planner(const Function& function, const FillOptions& options)
      : function_(function),
        options_(options),
        ends_in_means_(ends_in_means(function)),
        sets_(function.nodes.size()) {
    plan_.values.resize(function.nodes.size());
    plan_.takes.resize(function.nodes.size());
    plan_.filled_inputs.resize(function.nodes.size());
  }
  FillPlan run() &&;

 private:
  void visit(uint32_t node);
  void visit_convolution(uint32_t node, const Call& call);
  void visit_depthwise(uint32_t node);
  void visit_elementwise(uint32_t node, const Call& call);
  float added_by(uint32_t node, const Call& call) const;
  int64_t wanted(uint32_t node) const;
  int64_t filled(int64_t channels) const;
  double filled_for(uint32_t node) const;
  std::vector<double> gains();
  void drop_costly_sets();

  TypeId result(uint32_t node) const { return function_.nodes[node].types[0]; }
  /// Returns true for an image of several pixels: of one, reading the filters takes all the time.
  bool is_plane(uint32_t node) const {
    return extent_of(result(node)->shape[2]) > 1 || extent_of(result(node)->shape[3]) > 1;
  }
  std::span<const ValueId> args(uint32_t node) const {
    return function_.args(function_.nodes[node]);
  }
  bool is_filled(ValueId value) const {
    return value.output == 0 && plan_.values[value.node].channels != 0;
  }
  bool is_changed(uint32_t node) const {
    return plan_.takes[node] || plan_.values[node].channels != 0 || plan_.filled_inputs[node] != 0;
  }
  void fill(uint32_t node, int64_t channels, float added) {
    plan_.values[node] = {channels, added};
    plan_.any = true;
  }
  /// Marks a node that reads the image with its added channels.
  void take(uint32_t node, ValueId image) {
    plan_.takes[node] = true;
    sets_.join(node, image.node);
  }

  const Function& function_;
  const FillOptions options_;
  const std::vector<bool> ends_in_means_;
  FillPlan plan_;
  DisjointSets sets_;  // of filled nodes and those that take their results
};

/// Returns a number of channels that a block divides, when none divides `channels`; else 0. The
/// block is the preferred one when it adds at most a quarter, else the one that adds the fewest.
int64_t Planner::filled(int64_t channels) const {
  if (channels <= std::ranges::min(options_.blocks)) return 0;
  int64_t best = 0;
  for (int64_t block : options_.blocks) {
    const int64_t more = (channels + block - 1) / block * block;
    if (more == channels) return 0;
    if (best == 0 || (4 * (best - channels) > channels && more < best)) best = more;
  }
  return best;
}

/// Returns the channels that a convolution of all channels gets, or 0 when it stays as it is.
int64_t Planner::wanted(uint32_t node) const {
  const int64_t channels = result(node)->shape[1].extent(), first = options_.blocks.front();
  if (ends_in_means_[node])
    return channels % first == 0 || channels < first ? 0 : (channels + first - 1) / first * first;
  return is_plane(node) ? filled(channels) : 0;
}

void Planner::visit_convolution(uint32_t node, const Call& call) {
  const ValueId image = args(node)[0], filters = args(node)[1];
  const TypeId x = function_.type(image);
  if (!is_float_image(x) || !is_constant(function_, filters)) return;
  const int64_t group = call.attrs->i("group", 1), c = x->shape[1].extent();
  if (group != 1) {
    const bool is_depthwise = group == c && result(node)->shape[1].extent() == c;
    if (is_depthwise && is_filled(image)) visit_depthwise(node);
    return;
  }
  const bool takes = is_filled(image) && std::isfinite(plan_.values[image.node].added);
  if (takes) take(node, image);
  if (!takes && !ends_in_means_[node] && is_plane(node)) plan_.filled_inputs[node] = filled(c);
  plan_.any = plan_.any || plan_.filled_inputs[node] != 0;
  const int64_t channels = wanted(node);
  if (channels == 0) return;
  // A convolution of zeros is zero, but for infinities and NaN, which the other channels have too.
  fill(node, channels, options_.is_exact ? NAN : 0);
}

void Planner::visit_depthwise(uint32_t node) {
  const FilledValue& image = plan_.values[args(node)[0].node];
  take(node, args(node)[0]);
  fill(node, image.channels, options_.is_exact || !std::isfinite(image.added) ? NAN : 0);
}

/// Returns the elements of the added channels of an elementwise op whose operands are filled with
/// zeros where they are constants.
float Planner::added_by(uint32_t node, const Call& call) const {
  const int64_t channels = result(node)->shape[1].extent();
  const TypeId one = TensorType{DType::kF32, Shape(kRank, Dim(1))};
  std::vector<std::shared_ptr<const Buffer>> data;
  std::vector<const Buffer*> pointers;
  for (ValueId arg : args(node)) {
    const TypeId type = function_.type(arg);
    float value = is_filled(arg) ? plan_.values[arg.node].added : 0;
    if (is_constant(function_, arg) && elements_of(type) == 1) {
      std::memcpy(&value, std::get<Constant>(function_.nodes[arg.node].kind).data->data(),
                  sizeof value);
    } else if (is_constant(function_, arg) && !has_each_channel(type, channels)) {
      return NAN;
    } else if (!is_constant(function_, arg) && type->shape[1] != Dim(channels)) {
      return NAN;
    }
    data.push_back(Buffer::copy(std::as_bytes(std::span(&value, 1))));
    pointers.push_back(data.back().get());
  }
  const std::vector<TypeId> types(data.size(), one);
  Result<std::vector<TypeId>> out = infer_types(*call.op, types, *call.attrs);
  if (!out.ok() || *(*out)[0] != *one) return NAN;
  auto results = evaluate(*call.op, *call.attrs, types, *out, pointers);
  float value = NAN;
  if (results.ok()) std::memcpy(&value, (*results)[0]->data(), sizeof value);
  return value;
}

/// Fills the result of an op on filled images, other images of its shape, images with one value per
/// channel or per plane, and constants.
void Planner::visit_elementwise(uint32_t node, const Call& call) {
  if (!is_float_image(result(node))) return;
  const int64_t channels = result(node)->shape[1].extent();
  int64_t more = 0;
  for (ValueId arg : args(node)) {
    const TypeId type = function_.type(arg);
    if (type->dtype != DType::kF32 || type->shape.size() > kRank) return;
    if (is_constant(function_, arg)) continue;
    if (!is_float_image(type)) return;
    const int64_t c = type->shape[1].extent();
    if (c != channels && c != 1) return;
    if (!is_filled(arg) || c != channels) continue;
    const int64_t with = plan_.values[arg.node].channels;
    if (more != 0 && with != more) return;
    more = with;
  }
  if (more == 0) return;
  for (ValueId arg : args(node)) {
    if (is_filled(arg)) take(node, arg);
  }
  fill(node, more, added_by(node, call));
}

void Planner::visit(uint32_t node) {
  auto* call = std::get_if<Call>(&function_.nodes[node].kind);
  if (call == nullptr || call->op->is_annotation || function_.nodes[node].types.size() != 1) return;
  const OpFamily family = call->op->facts.family;
  if (family == OpFamily::kConvolution) {
    if (call->op->name == "conv2d" && is_float_image(result(node))) visit_convolution(node, *call);
  } else if (args(node).empty() || !is_float_image(function_.type(args(node)[0]))) {
    return;
  } else if (is_mean_of_planes(*call)) {
    if (is_filled(args(node)[0])) take(node, args(node)[0]);
  } else if (family == OpFamily::kPool || family == OpFamily::kMeanPool) {
    const ValueId image = args(node)[0];
    if (!is_filled(image) || !is_float_image(result(node)) || !call->attrs->has("kernel_shape"))
      return;
    take(node, image);  // windows of zeros give 0, whatever the pads are
    fill(node, plan_.values[image.node].channels, plan_.values[image.node].added == 0 ? 0 : NAN);
  } else if (is_elementwise(*call)) {
    visit_elementwise(node, *call);
  }
}

/// Returns the elements that a node makes others fill: images of its shape, or the image that it
/// reads as a convolution.
double Planner::filled_for(uint32_t node) const {
  double out = 0;
  for (ValueId arg : args(node)) {
    if (is_constant(function_, arg) || is_filled(arg)) continue;
    const TypeId type = function_.type(arg);
    const bool is_operand = plan_.takes[node] && plan_.values[node].channels != 0 &&
                            is_float_image(type) && type->shape == result(node)->shape;
    if (is_operand || plan_.filled_inputs[node] != 0) out += elements_of(type);
  }
  return out;
}

/// Returns per set the multiply-adds of its convolutions, without those that moving its borders
/// takes the time of.
std::vector<double> Planner::gains() {
  const size_t n = function_.nodes.size();
  const double moved = kMoved * static_cast<double>(options_.blocks.front());
  std::vector<double> out(n);
  std::vector<bool> is_border(n);
  for (ValueId value : function_.results) is_border[value.node] = true;
  for (uint32_t k = 0; k < n; ++k) {
    for (ValueId arg : args(k)) is_border[arg.node] = is_border[arg.node] || !plan_.takes[k];
    if (!is_changed(k)) continue;
    double& gain = out[sets_.find(k)];
    gain -= moved * filled_for(k);
    if (std::get<Call>(function_.nodes[k].kind).op->facts.family != OpFamily::kConvolution)
      continue;
    const TypeId filters = function_.type(args(k)[1]);
    gain += elements_of(result(k)) * elements_of(filters) /
            static_cast<double>(filters->shape[0].extent());
  }
  for (uint32_t k = 0; k < n; ++k) {
    if (is_border[k] && plan_.values[k].channels != 0)
      out[sets_.find(k)] -= moved * elements_of(result(k));
  }
  return out;
}

/// Leaves sets as they are whose convolutions compute less than moving their borders costs. A set
/// that ends in means of planes has no borders.
void Planner::drop_costly_sets() {
  const size_t n = function_.nodes.size();
  const std::vector<double> gain = gains();
  std::vector<bool> is_kept(n);
  for (uint32_t k = 0; k < n; ++k) {
    if (ends_in_means_[k] && plan_.values[k].channels != 0) is_kept[sets_.find(k)] = true;
  }
  plan_.any = false;
  for (uint32_t k = 0; k < n; ++k) {
    const uint32_t set = sets_.find(k);
    if (!is_kept[set] && gain[set] <= 0) {
      plan_.values[k] = {};
      plan_.takes[k] = false;
      plan_.filled_inputs[k] = 0;
    }
    plan_.any = plan_.any || is_changed(k);
  }
}

FillPlan Planner::run() && {
  for (uint32_t k = 0; k < function_.nodes.size(); ++k) visit(k);
  if (plan_.any) drop_costly_sets();
  return std::move(plan_);
}

}  // namespace

bool is_mean_of_planes(const Call& call) {
  if (call.op->name == "global_average_pool") return true;
  if (call.op->facts.family != OpFamily::kMean || !call.attrs->b("keepdims", true)) return false;
  Ints axes = call.attrs->ints("axes");
  for (int64_t& axis : axes) axis += axis < 0 ? int64_t{kRank} : 0;
  std::ranges::sort(axes);
  return axes == Ints{2, 3};
}

bool has_each_channel(TypeId type, int64_t channels) {
  const Shape& shape = type->shape;
  return shape.size() >= kRank - 1 && shape[shape.size() - (kRank - 1)] == Dim(channels);
}

FillPlan plan_filled(const Function& function, const FillOptions& options) {
  return Planner(function, options).run();
}

}  // namespace byoc
