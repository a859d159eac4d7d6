// What the default codegen will compile exchanges tensors with their channels in blocks, as far as
// convolutions make and read them; a layout_transform stands where the two meet.
//   before: %0 = conv2d(%x, %w)  %1 = relu(%0)  %2 = conv2d(%1, %v)
//   after:  %0 = conv2d_nchwc(%x, %w)  %1 = relu(%0)  %2 = conv2d_nchwc(%1, %v)
//           %3 = layout_transform(%2) {src_layout="NCHW8c", dst_layout="NCHW"}
// Weights are brought into the blocks that kernels read; those that are constants are folded then.
// Types are plain: a tensor [n, c, h, w] in blocks is [n, c / 8, h, w, 8].
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/pass/passes.h"
#include "byoc/plugin/abi.h"

namespace byoc {
namespace {

constexpr int64_t kBlock = 8;  // lanes of f32 in a vector of 256 bits
constexpr ValueId kNowhere{UINT32_MAX, UINT32_MAX};

struct Extents {
  int64_t n = 0, c = 0, h = 0, w = 0;
};

class Blocker {
 public:
  Blocker(const Function& function, const OpRegistry& ops)
      : from_(function), ops_(ops), first_(1, 0) {
    for (const Node& node : function.nodes)
      first_.push_back(first_.back() + static_cast<uint32_t>(node.types.size()));
    plain_.assign(first_.back(), kNowhere);
    packed_.assign(first_.back(), kNowhere);
    to_.attrs = function.attrs;
  }
  Function run();

 private:
  size_t slot(ValueId v) const { return first_[v.node] + v.output; }
  bool is_packed(ValueId v) const { return packed_[slot(v)] != kNowhere; }
  static bool is_image(TypeId type, bool divides = true);
  static Extents extents(TypeId type);
  ValueId add(std::string_view op, Attrs attrs, std::vector<ValueId> args, Symbol loc);
  ValueId plain(ValueId old);
  ValueId packed(ValueId old);
  bool block(uint32_t node);
  bool block_conv(uint32_t node, const Call& call);
  ValueId packed_weight(ValueId weight, int64_t block);
  bool block_matmul(uint32_t node, const Call& call);
  bool block_elementwise(uint32_t node, const Call& call);
  bool block_pool(uint32_t node, const Call& call);
  bool block_mean(uint32_t node, const Call& call);
  bool block_concat(uint32_t node, const Call& call);
  bool block_view(uint32_t node, const Call& call);
  bool can_block_operand(ValueId arg, TypeId out) const;
  ValueId blocked_operand(ValueId arg);
  std::span<const ValueId> args(uint32_t node) const { return from_.args(from_.nodes[node]); }
  void set_packed(uint32_t node, ValueId now) { packed_[slot({node, 0})] = now; }

  const Function& from_;
  const OpRegistry& ops_;
  std::vector<uint32_t> first_;
  std::vector<ValueId> plain_, packed_;  // per old value: where it stands in either layout
  Function to_;
};

// f32 [n, c, h, w] of known extents, whose channels divide into blocks.
bool Blocker::is_image(TypeId type, bool divides) {
  return type->dtype == DType::kF32 && type->shape.size() == 4 && is_static(type->shape) &&
         (!divides || (type->shape[1].extent() % kBlock == 0 && type->shape[1].extent() > 0));
}

Extents Blocker::extents(TypeId type) {
  return {type->shape[0].extent(), type->shape[1].extent(), type->shape[2].extent(),
          type->shape[3].extent()};
}

ValueId Blocker::add(std::string_view op, Attrs attrs, std::vector<ValueId> args, Symbol loc) {
  const OpDef* def = ops_.find(op);
  std::vector<TypeId> in;
  for (ValueId arg : args) in.push_back(to_.type(arg));
  Result<Attrs> complete = complete_attrs(*def, std::move(attrs));
  BYOC_CHECK(complete.ok(), complete.status().to_string());
  Result<std::vector<TypeId>> types = infer_types(*def, in, *complete);
  BYOC_CHECK(types.ok(), types.status().to_string());
  return {to_.add_call(def, intern(*std::move(complete)), args, *types, loc), 0};
}

ValueId Blocker::plain(ValueId old) {
  ValueId& now = plain_[slot(old)];
  if (now == kNowhere)
    now = add("layout_transform", {{"src_layout", "NCHW8c"}, {"dst_layout", "NCHW"}},
              {packed_[slot(old)]}, from_.nodes[old.node].loc);
  return now;
}

ValueId Blocker::packed(ValueId old) {
  ValueId& now = packed_[slot(old)];
  if (now == kNowhere)
    now = add("layout_transform", {{"src_layout", "NCHW"}, {"dst_layout", "NCHW8c"}}, {plain(old)},
              from_.nodes[old.node].loc);
  return now;
}

// Groups must not cut blocks: one group, or whole blocks in each, or a channel each.
bool Blocker::block_conv(uint32_t node, const Call& call) {
  TypeId x = from_.type(args(node)[0]), weight = from_.type(args(node)[1]);
  TypeId y = from_.nodes[node].types[0];
  if (!is_image(y) || !is_image(x, false) || !is_static(weight->shape)) return false;
  const int64_t group = call.attrs->i("group", 1), c = x->shape[1].extent();
  const int64_t per_group = weight->shape[1].extent(), o = y->shape[1].extent();
  const bool is_depthwise = group == c && group == o;
  if (group > 1 && !is_depthwise && (per_group % kBlock != 0 || o / group % kBlock != 0))
    return false;
  const bool packs_input = c % kBlock == 0;
  ValueId in = packs_input ? packed(args(node)[0]) : plain(args(node)[0]);
  ValueId blocks = packed_weight(args(node)[1], packs_input && !is_depthwise ? kBlock : 1);
  set_packed(node, add("conv2d_nchwc", *call.attrs, {in, blocks}, from_.nodes[node].loc));
  return true;
}

// [o, i, h, w] -> [o / 8, i / block, h, w, block, 8]: what one tap adds up stands together.
ValueId Blocker::packed_weight(ValueId weight, int64_t block) {
  Symbol loc = from_.nodes[weight.node].loc;
  ValueId inner =
      add("layout_transform",
          {{"src_layout", std::string("OIHW")}, {"dst_layout", cat("OIHW", block, "i")}},
          {plain(weight)}, loc);
  return add("layout_transform",
             {{"src_layout", std::string("OIHWJ")}, {"dst_layout", cat("OIHWJ", kBlock, "o")}},
             {inner}, loc);
}

// A constant matrix with its columns in blocks; gemm's transposed b is read as what it is.
bool Blocker::block_matmul(uint32_t node, const Call& call) {
  const bool is_gemm = call.op->name == "gemm";
  if (!is_gemm && call.op->name != "matmul") return false;
  ValueId a = args(node)[0], b = args(node)[1];
  TypeId type = from_.type(b);
  if (!std::holds_alternative<Constant>(from_.nodes[b.node].kind) || type->shape.size() != 2 ||
      type->dtype != DType::kF32 || from_.type(a)->shape.size() < 2 ||
      !is_static(from_.type(a)->shape))
    return false;
  if (is_gemm && (call.attrs->b("trans_a", false) || call.attrs->f("alpha", 1) != 1)) return false;
  const bool is_transposed = is_gemm && call.attrs->b("trans_b", false);
  const int64_t n = type->shape[is_transposed ? 0 : 1].extent();
  const int64_t block = n % (2 * kBlock) == 0 ? 2 * kBlock : kBlock;
  if (n == 0 || n % block != 0) return false;
  ValueId blocks = add("layout_transform",
                       {{"src_layout", std::string(is_transposed ? "NK" : "KN")},
                        {"dst_layout", cat("NK", block, "n")}},
                       {plain(b)}, from_.nodes[b.node].loc);
  plain_[slot({node, 0})] = add("matmul_packed", {}, {plain(a), blocks}, from_.nodes[node].loc);
  return true;
}

// Of the result's shape and packed or worth it, a value per channel, or one for all.
bool Blocker::can_block_operand(ValueId arg, TypeId out) const {
  TypeId type = from_.type(arg);
  if (type == out) return true;
  if (!is_static(type->shape) || type->shape.size() > 4) return false;
  Result<int64_t> n = num_elements(type->shape);
  if (n.ok() && *n == 1) return true;
  const size_t rank = type->shape.size();
  return rank >= 3 && type->shape[rank - 3].extent() == out->shape[1].extent();
}

ValueId Blocker::blocked_operand(ValueId arg) {
  if (is_packed(arg)) return packed(arg);
  TypeId type = from_.type(arg);
  if (is_image(type)) return packed(arg);
  Result<int64_t> n = num_elements(type->shape);
  if (n.ok() && *n == 1 && type->shape.size() <= 1) return plain(arg);
  if (n.ok() && *n == 1) return add("reshape", {{"shape", Ints{1}}}, {plain(arg)}, {});
  Ints shape{1};  // [c, h, w] as [1, c, h, w]
  for (Dim dim : type->shape) shape.push_back(dim.extent());
  ValueId image = add("reshape", {{"shape", shape}, {"allow_zero", true}}, {plain(arg)}, {});
  return add("layout_transform", {{"src_layout", "NCHW"}, {"dst_layout", "NCHW8c"}}, {image}, {});
}

bool Blocker::block_elementwise(uint32_t node, const Call& call) {
  if (call.op->kind != FusionKind::kElementwise && call.op->kind != FusionKind::kBroadcast)
    return false;
  const Node& old = from_.nodes[node];
  if (old.types.size() != 1 || !is_image(old.types[0])) return false;
  std::vector<ValueId> in;
  bool some_packed = false;
  for (ValueId arg : args(node)) {
    if (from_.type(arg)->dtype != DType::kF32 || !can_block_operand(arg, old.types[0]))
      return false;
    some_packed |= is_packed(arg) && from_.type(arg) == old.types[0];
  }
  if (!some_packed) return false;
  for (ValueId arg : args(node)) in.push_back(blocked_operand(arg));
  set_packed(node, add(call.op->name, *call.attrs, std::move(in), old.loc));
  return true;
}

// The blocks are one more spatial dim, with windows of one cell.
bool Blocker::block_pool(uint32_t node, const Call& call) {
  const Node& old = from_.nodes[node];
  bool is_pool = call.op->name == "max_pool" || call.op->name == "average_pool";
  if (!is_pool || old.types.size() != 1 || !is_packed(args(node)[0])) return false;
  Attrs attrs = *call.attrs;
  for (Symbol name : {"kernel_shape", "strides", "dilations"}) {
    Ints values = attrs.ints(name);
    if (values.empty()) continue;
    values.push_back(1);
    attrs.set(name, values);
  }
  Ints pads = attrs.ints("pads");
  if (!pads.empty()) attrs.set("pads", Ints{pads[0], pads[1], 0, pads[2], pads[3], 0});
  set_packed(node, add(call.op->name, std::move(attrs), {packed(args(node)[0])}, old.loc));
  return true;
}

bool Blocker::block_mean(uint32_t node, const Call& call) {
  const bool is_mean = call.op->name == "mean";
  if ((!is_mean && call.op->name != "global_average_pool") || !is_packed(args(node)[0]))
    return false;
  if (is_mean) {
    Ints axes = call.attrs->ints("axes");
    for (int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::sort(axes.begin(), axes.end());
    if (axes != Ints{2, 3} || !call.attrs->b("keepdims", true)) return false;
  }
  set_packed(node, add("mean", {{"axes", Ints{2, 3}}, {"keepdims", true}}, {packed(args(node)[0])},
                       from_.nodes[node].loc));
  return true;
}

bool Blocker::block_concat(uint32_t node, const Call& call) {
  const int64_t axis = call.op->name == "concat" ? call.attrs->i("axis") : 0;
  if (axis != 1 && axis != -3) return false;
  bool some_packed = false;
  for (ValueId arg : args(node)) {
    if (!is_image(from_.type(arg))) return false;
    some_packed |= is_packed(arg);
  }
  if (!some_packed) return false;
  std::vector<ValueId> in;
  for (ValueId arg : args(node)) in.push_back(packed(arg));
  set_packed(node, add("concat", {{"axis", int64_t{1}}}, std::move(in), from_.nodes[node].loc));
  return true;
}

// Planes of one cell lie in memory as plain ones do: [n, c / 8, 1, 1, 8] is [n, c].
bool Blocker::block_view(uint32_t node, const Call& call) {
  constexpr std::string_view kViews[] = {"reshape", "flatten", "squeeze"};
  if (std::ranges::find(kViews, call.op->name) == std::end(kViews)) return false;
  ValueId arg = args(node)[0];
  TypeId y = from_.nodes[node].types[0];
  if (!is_packed(arg) || plain_[slot(arg)] != kNowhere || !is_static(y->shape)) return false;
  Extents x = extents(from_.type(arg));
  if (x.h != 1 || x.w != 1) return false;
  plain_[slot({node, 0})] =
      add("reshape", {{"shape", static_extents(y->shape)}, {"allow_zero", true}}, {packed(arg)},
          from_.nodes[node].loc);
  return true;
}

bool Blocker::block(uint32_t node) {
  auto* call = std::get_if<Call>(&from_.nodes[node].kind);
  if (call == nullptr) return false;
  if (call->op->name == "conv2d") return block_conv(node, *call);
  return block_matmul(node, *call) || block_elementwise(node, *call) || block_pool(node, *call) ||
         block_mean(node, *call) || block_concat(node, *call) || block_view(node, *call);
}

Function Blocker::run() {
  std::vector<ValueId> in;
  for (uint32_t node = 0; node < from_.nodes.size(); ++node) {
    if (block(node)) continue;
    in.clear();
    for (ValueId arg : args(node)) in.push_back(plain(arg));
    uint32_t now = to_.add_copy(from_.nodes[node], in);
    for (uint32_t k = 0; k < from_.nodes[node].types.size(); ++k)
      plain_[slot({node, k})] = {now, k};
  }
  for (ValueId result : from_.results) to_.results.push_back(plain(result));
  return std::move(to_);
}

}  // namespace

Result<IRModule> assign_layouts(IRModule module, const PassContext& context) {
  const Plugin* plugin = context.defaults.empty() || !context.plugins
                             ? nullptr
                             : context.plugins->find(context.defaults[0]);
  if (plugin == nullptr || !(plugin->flags() & BYOC_PLUGIN_ONE_ANCHOR)) return module;
  for (auto& [name, function] : module.functions) {
    bool is_plain = !function.attrs.has("composite") && !function.attrs.has("primitive") &&
                    !function.attrs.has("compiler");
    if (is_plain) function = Blocker(function, *context.ops).run();
  }
  return module;
}

}  // namespace byoc
