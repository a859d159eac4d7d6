// SPDX-License-Identifier: Apache-2.0
// Adds channels of zeros to convolutions, so that vectors of a whole block compute all of them. A
// classifier of 1000 channels has no blocks of 16.
//   before: %0 = conv2d(%x, %w)               1000 channels
//           %1 = relu(%0)
//           %2 = global_average_pool(%1)
//   after:  %0 = conv2d(%x, %filled)          1008 channels
//           %1 = relu(%0)
//           %2 = global_average_pool(%1)
//           %3 = slice(%2) {axes=[1], ends=[1000], starts=[0]}
// The mean is where little is left to cut off. Values of added channels may be NaN; no other
// channel reads them.
#include "core/codegen/fill_channels.h"

#include <algorithm>

#include "byoc/ir/visit.h"
#include "byoc/op/evaluate.h"

namespace byoc {
namespace {

constexpr size_t kRank = 4;  // of an image [n, c, h, w]

bool is_float_image(TypeId type) {
  return type->dtype == DType::kF32 && type->shape.size() == kRank && is_static(type->shape);
}

bool is_constant(const Function& function, ValueId value) {
  return std::holds_alternative<Constant>(function.nodes[value.node].kind);
}

bool is_mean_of_planes(const Call& call) {
  if (call.op->name == "global_average_pool") return true;
  if (call.op->facts.family != OpFamily::kMean || !call.attrs->b("keepdims", true)) return false;
  Ints axes = call.attrs->ints("axes");
  for (int64_t& axis : axes) axis += axis < 0 ? int64_t{kRank} : 0;
  std::ranges::sort(axes);
  return axes == Ints{2, 3};
}

// Returns true for an elementwise op on one image, once or several times, and constants.
bool is_per_channel(const Function& function, const Node& node, const Call& call) {
  if (call.op->kind != FusionKind::kElementwise && call.op->kind != FusionKind::kBroadcast)
    return false;
  const std::span<const ValueId> args = function.args(node);
  auto image = std::ranges::find_if(args, [&](ValueId arg) { return !is_constant(function, arg); });
  return image != args.end() && node.types.size() == 1 && function.type(*image) == node.types[0] &&
         std::ranges::all_of(args, [&](ValueId arg) {
           return arg == *image ||
                  (is_constant(function, arg) && function.type(arg)->shape.size() <= kRank);
         });
}

// Returns true per node when its result is read channel by channel, up to means of planes.
std::vector<bool> ends_in_means(const Function& function) {
  std::vector<bool> is_read(function.nodes.size()), is_whole(function.nodes.size());
  for (ValueId result : function.results) is_whole[result.node] = true;
  for (size_t k = function.nodes.size(); k-- > 0;) {
    const Node& node = function.nodes[k];
    auto* call = std::get_if<Call>(&node.kind);
    const bool is_end = call != nullptr && is_mean_of_planes(*call);
    const bool is_link =
        call != nullptr && is_read[k] && !is_whole[k] && is_per_channel(function, node, *call);
    for (ValueId arg : function.args(node)) {
      is_read[arg.node] = true;
      if (!is_end && !is_link) is_whole[arg.node] = true;
    }
  }
  for (size_t k = 0; k < is_read.size(); ++k) is_read[k] = is_read[k] && !is_whole[k];
  return is_read;
}

// Returns the channels that a convolution gets, or 0 when it stays as it is.
int64_t filled_channels(const Function& function, const Node& node, int64_t block) {
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || call->op->name != "conv2d" || !is_float_image(node.types[0])) return 0;
  const int64_t channels = node.types[0]->shape[1].extent();
  const bool fits = channels % block == 0 || channels < block;
  if (fits || call->attrs->i("group", 1) != 1 || !is_constant(function, function.args(node)[1]))
    return 0;
  return (channels + block - 1) / block * block;
}

class Filler {
 public:
  Filler(IRModule& module, const Function& from, const OpRegistry& ops)
      : module_(module), ops_(ops), rewriter_(from), filled_(from.nodes.size()) {}
  Result<Function> run(int64_t block) &&;

 private:
  Status fill_conv(uint32_t node, int64_t channels);
  Status fill_reader(uint32_t node, ValueId image);
  Result<uint32_t> add(std::string_view op, const Attrs& attrs, std::vector<ValueId> args,
                       Symbol loc);
  Result<ValueId> fill_constant(ValueId value, size_t axis, int64_t extent);

  const Function& from() const { return rewriter_.from(); }

  IRModule& module_;
  const OpRegistry& ops_;
  Rewriter rewriter_;
  std::vector<int64_t> filled_;  // per old node: channels of its result with those added, or 0
};

Result<uint32_t> Filler::add(std::string_view op, const Attrs& attrs, std::vector<ValueId> args,
                             Symbol loc) {
  BYOC_TRY(const OpDef* def, ops_.get(op));
  std::vector<TypeId> in;
  for (ValueId arg : args) in.push_back(rewriter_.to().type(arg));
  BYOC_TRY(Attrs complete, complete_attrs(*def, attrs));
  BYOC_TRY(std::vector<TypeId> types, infer_types(*def, in, complete));
  return rewriter_.to().add_call(def, intern(std::move(complete)), args, types, loc);
}

// Returns a constant of the new function, with zeros up to `extent` along the axis.
Result<ValueId> Filler::fill_constant(ValueId value, size_t axis, int64_t extent) {
  const TypeId type = from().type(value);
  Ints pads(2 * type->shape.size());
  pads[type->shape.size() + axis] = extent - type->shape[axis].extent();
  BYOC_TRY(const OpDef* pad, ops_.get("pad"));
  BYOC_TRY(Attrs attrs, complete_attrs(*pad, {{"pads", pads}}));
  BYOC_TRY(std::vector<TypeId> types, infer_types(*pad, {&type, 1}, attrs));
  const Node& node = from().nodes[value.node];
  const Buffer* data = std::get<Constant>(node.kind).data;
  BYOC_TRY(auto values, evaluate(*pad, attrs, {&type, 1}, types, {&data, 1}));
  return ValueId{rewriter_.to().add_constant(module_.add_constant(values[0]), types[0], node.loc),
                 0};
}

Status Filler::fill_conv(uint32_t k, int64_t channels) {
  const Node& node = from().nodes[k];
  const Call& call = std::get<Call>(node.kind);
  std::vector<ValueId> args = rewriter_.mapped_args(k);
  BYOC_TRY(args[1], fill_constant(from().args(node)[1], 0, channels));
  BYOC_TRY(uint32_t now, add(call.op->name, *call.attrs, args, node.loc));
  rewriter_.replace(k, now);
  filled_[k] = channels;
  return {};
}

// Adds an op that reads the filled image, and cuts the added channels off after a mean.
Status Filler::fill_reader(uint32_t k, ValueId image) {
  const Node& node = from().nodes[k];
  const Call& call = std::get<Call>(node.kind);
  const int64_t channels = from().type(image)->shape[1].extent();
  std::vector<ValueId> args;
  for (ValueId arg : from().args(node)) {
    const Shape& shape = from().type(arg)->shape;
    const size_t axis = shape.size() - (kRank - 1);  // of channels
    const bool has_each =
        arg != image && shape.size() >= kRank - 1 && shape[axis].extent() == channels;
    args.push_back(rewriter_.map(arg));
    if (!has_each) continue;
    BYOC_TRY(args.back(), fill_constant(arg, axis, filled_[image.node]));
  }
  BYOC_TRY(uint32_t now, add(call.op->name, *call.attrs, args, node.loc));
  if (is_mean_of_planes(call)) {
    BYOC_TRY(now, add("slice", {{"starts", Ints{0}}, {"ends", Ints{channels}}, {"axes", Ints{1}}},
                      {{now, 0}}, node.loc));
  } else {
    filled_[k] = filled_[image.node];
  }
  rewriter_.replace(k, now);
  return {};
}

Result<Function> Filler::run(int64_t block) && {
  const std::vector<bool> may_fill = ends_in_means(from());
  for (uint32_t k = 0; k < from().nodes.size(); ++k) {
    const std::span<const ValueId> args = from().args(from().nodes[k]);
    auto image = std::ranges::find_if(args, [&](ValueId arg) { return filled_[arg.node] != 0; });
    const int64_t channels = may_fill[k] ? filled_channels(from(), from().nodes[k], block) : 0;
    if (image != args.end()) BYOC_TRY_STATUS(fill_reader(k, *image));
    else if (channels != 0) BYOC_TRY_STATUS(fill_conv(k, channels));
    else rewriter_.copy(k);
  }
  return std::move(rewriter_).finish();
}

}  // namespace

Result<Function> fill_channels(IRModule& module, const Function& function, int64_t block,
                               const OpRegistry& ops) {
  const bool has_work = std::ranges::any_of(function.nodes, [&](const Node& node) {
    return filled_channels(function, node, block) != 0;
  });
  if (!has_work) return function;
  return Filler(module, function, ops).run(block);
}

}  // namespace byoc
