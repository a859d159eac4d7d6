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
// A convolution that reads a filled image gets terms of zero, which change no sum:
//   before: %0 = conv2d(%x, %w)               58 channels
//           %1 = conv2d(%0, %v)               58 channels
//   after:  %0 = conv2d(pad(%x), %more_w)     64 channels
//           %1 = conv2d(%0, %more_v)          64 channels
//           %2 = slice(%1) {axes=[1], ends=[58], starts=[0]}
#include "core/codegen/fill/fill_channels.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/op/evaluate.h"

namespace byoc {
namespace {

class Filler {
 public:
  Filler(IRModule& module, const Function& from, const FillPlan& plan, const OpRegistry& ops)
      : module_(module),
        plan_(plan),
        ops_(ops),
        rewriter_(from),
        filled_(from.nodes.size(), kNowhere) {}
  Result<Function> run() &&;

 private:
  static constexpr ValueId kNowhere{UINT32_MAX, 0};

  Status convert(uint32_t node);
  Status convert_convolution(uint32_t node, const Call& call);
  Status convert_other(uint32_t node, const Call& call);
  Result<ValueId> add(std::string_view op, const Attrs& attrs, std::vector<ValueId> args,
                      Symbol loc);
  Result<ValueId> fill_constant(ValueId value, Ints more);
  Result<ValueId> filled_image(ValueId image, int64_t channels);
  Status cut(ValueId value);
  void set(uint32_t node, ValueId now);

  const Function& from() const { return rewriter_.from(); }
  int64_t channels_of(ValueId image) const { return from().type(image)->shape[1].extent(); }
  bool is_filled(ValueId value) const {
    return value.output == 0 && plan_.values[value.node].channels != 0;
  }

  IRModule& module_;
  const FillPlan& plan_;
  const OpRegistry& ops_;
  Rewriter rewriter_;  // has values that are not filled, and filled ones once they are cut
  std::vector<ValueId> filled_;  // per old node: its first result with added channels
};

Result<ValueId> Filler::add(std::string_view op, const Attrs& attrs, std::vector<ValueId> args,
                            Symbol loc) {
  BYOC_TRY(const OpDef* def, ops_.get(op));
  std::vector<TypeId> in;
  for (ValueId arg : args) in.push_back(rewriter_.to().type(arg));
  BYOC_TRY(Attrs complete, complete_attrs(*def, attrs));
  BYOC_TRY(std::vector<TypeId> types, infer_types(*def, in, complete));
  return ValueId{rewriter_.to().add_call(def, intern(std::move(complete)), args, types, loc), 0};
}

/// Returns a constant of the new function, with `more` zeros at the end of each dim.
Result<ValueId> Filler::fill_constant(ValueId value, Ints more) {
  const TypeId type = from().type(value);
  Ints pads(type->shape.size());
  pads.insert(pads.end(), more.begin(), more.end());
  BYOC_TRY(const OpDef* pad, ops_.get("pad"));
  BYOC_TRY(Attrs attrs, complete_attrs(*pad, {{"pads", pads}}));
  BYOC_TRY(std::vector<TypeId> types, infer_types(*pad, {&type, 1}, attrs));
  const Node& node = from().nodes[value.node];
  const Buffer* data = std::get<Constant>(node.kind).data;
  BYOC_TRY(auto values, evaluate(*pad, attrs, {&type, 1}, types, {&data, 1}));
  return ValueId{rewriter_.to().add_constant(module_.add_constant(values[0]), types[0], node.loc),
                 0};
}

/// Returns the image with zeros up to `channels`, once for all its readers.
Result<ValueId> Filler::filled_image(ValueId image, int64_t channels) {
  ValueId& now = filled_[image.node];
  if (image.output == 0 && now != kNowhere) {
    BYOC_CHECK(rewriter_.to().type(now)->shape[1].extent() == channels, "two numbers of channels");
    return now;
  }
  const int64_t more = channels - channels_of(image);
  BYOC_TRY(ValueId out, add("pad", {{"pads", Ints{0, 0, 0, 0, 0, more, 0, 0}}},
                            {rewriter_.map(image)}, from().nodes[image.node].loc));
  if (image.output == 0) now = out;
  return out;
}

/// Adds the value without its added channels, once for all its readers.
Status Filler::cut(ValueId value) {
  if (!is_filled(value) || rewriter_.map(value) != kNowhere) return {};
  BYOC_TRY(
      ValueId now,
      add("slice", {{"starts", Ints{0}}, {"ends", Ints{channels_of(value)}}, {"axes", Ints{1}}},
          {filled_[value.node]}, from().nodes[value.node].loc));
  rewriter_.set(value, now);
  return {};
}

void Filler::set(uint32_t node, ValueId now) {
  if (plan_.values[node].channels == 0) {
    rewriter_.set({node, 0}, now);
  } else {
    filled_[node] = now;
    rewriter_.set({node, 0}, kNowhere);
  }
}

Status Filler::convert_convolution(uint32_t node, const Call& call) {
  const std::span<const ValueId> args = from().args(from().nodes[node]);
  const ValueId image = args[0];
  const Shape& filters = from().type(args[1])->shape;
  const bool is_depthwise = call.attrs->i("group", 1) != 1;
  int64_t in = is_filled(image) && plan_.takes[node] ? plan_.values[image.node].channels
                                                     : plan_.filled_inputs[node];
  std::vector<ValueId> now = {rewriter_.map(image)};
  if (in != 0) {
    BYOC_TRY(now[0], filled_image(image, in));
  }
  Ints more(filters.size());
  if (plan_.values[node].channels != 0) more[0] = plan_.values[node].channels - filters[0].extent();
  if (in != 0 && !is_depthwise) more[1] = in - filters[1].extent();
  now.emplace_back();
  BYOC_TRY(now[1], fill_constant(args[1], more));
  Attrs attrs = *call.attrs;
  if (is_depthwise) attrs.set("group", plan_.values[node].channels);
  BYOC_TRY(ValueId out, add(call.op->name, attrs, now, from().nodes[node].loc));
  set(node, out);
  return {};
}

/// Adds an op on each channel alone, or the mean of each plane, which is cut.
Status Filler::convert_other(uint32_t node, const Call& call) {
  const std::span<const ValueId> args = from().args(from().nodes[node]);
  int64_t channels = 0, more = 0;
  for (ValueId arg : args) {
    if (is_filled(arg)) channels = channels_of(arg), more = plan_.values[arg.node].channels;
  }
  std::vector<ValueId> now;
  for (ValueId arg : args) {
    const TypeId type = from().type(arg);
    const bool is_constant = std::holds_alternative<Constant>(from().nodes[arg.node].kind);
    now.push_back(rewriter_.map(arg));
    if (!has_each_channel(type, channels)) continue;
    if (is_constant) {
      Ints zeros(type->shape.size());
      zeros[zeros.size() - 3] = more - channels;
      BYOC_TRY(now.back(), fill_constant(arg, zeros));
    } else {
      BYOC_TRY(now.back(), filled_image(arg, more));
    }
  }
  BYOC_TRY(ValueId out, add(call.op->name, *call.attrs, now, from().nodes[node].loc));
  if (plan_.values[node].channels == 0) {
    BYOC_TRY(out, add("slice", {{"starts", Ints{0}}, {"ends", Ints{channels}}, {"axes", Ints{1}}},
                      {out}, from().nodes[node].loc));
  }
  set(node, out);
  return {};
}

Status Filler::convert(uint32_t node) {
  const bool is_changed =
      plan_.takes[node] || plan_.values[node].channels != 0 || plan_.filled_inputs[node] != 0;
  if (!is_changed) {
    for (ValueId arg : from().args(from().nodes[node])) BYOC_TRY_STATUS(cut(arg));
    rewriter_.copy(node);
    return {};
  }
  const Call& call = std::get<Call>(from().nodes[node].kind);
  if (!plan_.takes[node])  // a convolution that reads the image as it is, or filled for it
    BYOC_TRY_STATUS(cut(from().args(from().nodes[node])[0]));
  return call.op->facts.family == OpFamily::kConvolution ? convert_convolution(node, call)
                                                         : convert_other(node, call);
}

Result<Function> Filler::run() && {
  for (uint32_t k = 0; k < from().nodes.size(); ++k) BYOC_TRY_STATUS(convert(k));
  for (ValueId result : from().results) BYOC_TRY_STATUS(cut(result));
  return std::move(rewriter_).finish();
}

}  // namespace

Result<Function> fill_channels(IRModule& module, const Function& function,
                               const FillOptions& options, const OpRegistry& ops) {
  const FillPlan plan = plan_filled(function, options);
  if (!plan.any) return function;
  return Filler(module, function, plan, ops).run();
}

}  // namespace byoc
