// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/block_ops.h"

#include <algorithm>

namespace byoc {
namespace {

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
bool is_blocked_dtype(DType dtype) { return dtype == DType::kF32 || is_half(dtype); }

bool is_integer_dtype(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kI32;
}

// Returns true for floats or integers [n, c, h, w] of known channels, f64 excepted.
bool is_image(TypeId type) {
  return (is_blocked_dtype(type->dtype) || is_integer_dtype(type->dtype)) &&
         type->shape.size() == 4 && type->shape[1].is_static() &&
         std::ranges::none_of(type->shape, &Dim::is_counted);
}

bool divides(int64_t block, int64_t extent) { return extent > 0 && extent % block == 0; }

// Returns the first block size that divides `extent`, or 0.
int64_t first_of(std::span<const int64_t> blocks, int64_t extent) {
  auto at = std::ranges::find_if(blocks, [&](int64_t block) { return divides(block, extent); });
  return at == blocks.end() ? 0 : *at;
}

bool is_one_element(TypeId type) {
  Result<int64_t> n = num_elements(type->shape);
  return n.ok() && *n == 1;
}

class BlockedOp {
 public:
  BlockedOp(BlockedFunction& to, const WantedBlocks& wanted, uint32_t node, const Call& call)
      : to_(to), wanted_(wanted), node_(node), call_(call) {}
  bool add();

 private:
  bool conv();
  bool integer_conv();
  bool matmul();
  bool elementwise();
  bool quantized();
  bool pool();
  bool mean();
  bool concat();
  bool view();
  ValueId packed_weight(int64_t inner, int64_t outer);
  ValueId widened(ValueId now, TypeId type);
  ValueId product(std::string_view op, Attrs attrs, std::vector<ValueId> in);
  bool can_be_operand(TypeId type) const;
  ValueId operand(ValueId arg, int64_t block);

  bool is(std::string_view op) const { return call_.op->name == op; }
  const Node& old() const { return to_.from().nodes[node_]; }
  TypeId result() const { return old().types[0]; }
  std::span<const ValueId> args() const { return to_.from().args(old()); }
  TypeId type(ValueId value) const { return to_.from().type(value); }
  int64_t block_of(ValueId arg) const { return to_.block_of(arg, wanted_.image); }
  bool add_packed(std::string_view op, Attrs attrs, std::vector<ValueId> in, int64_t block) {
    to_.set_packed(node_, to_.add(op, std::move(attrs), std::move(in), old().loc), block);
    return true;
  }

  BlockedFunction& to_;
  const WantedBlocks& wanted_;
  const uint32_t node_;
  const Call& call_;
};

// Groups must not cut blocks: there is one group, or each group has whole blocks, or each group has
// one channel.
bool BlockedOp::conv() {
  TypeId x = type(args()[0]), weight = type(args()[1]);
  if (!is_image(result()) || !is_image(x) || !is_static(weight->shape)) return false;
  if (!is_blocked_dtype(x->dtype)) return false;
  const int64_t group = call_.attrs->i("group", 1), c = x->shape[1].extent();
  const int64_t o = result()->shape[1].extent();
  const bool is_depthwise = group == c && group == o, is_grouped = group > 1 && !is_depthwise;
  const int64_t outer = first_of(wanted_.image, is_grouped ? o / group : o);
  const int64_t inner = first_of(wanted_.image, is_grouped ? weight->shape[1].extent() : c);
  if (outer == 0 || (is_grouped && inner == 0)) return false;
  ValueId in = widened(inner != 0 ? to_.packed(args()[0], inner) : to_.plain(args()[0]), x);
  ValueId blocks = packed_weight(inner != 0 && !is_depthwise ? inner : 1, outer);
  to_.set_packed(node_, product("conv2d_nchwc", *call_.attrs, {in, blocks}), outer);
  return true;
}

// Rewrites a convolution of integers, of all channels or of every channel with itself. An image
// whose channels no block divides gets blocks of four, of which the weights read no more channels
// than there are.
bool BlockedOp::integer_conv() {
  constexpr int64_t kQuad = 4;
  TypeId x = type(args()[0]);
  const int64_t outer = first_of(wanted_.image, result()->shape[1].extent());
  if (outer == 0 || !is_image(x) || !is_static(x->shape)) return false;
  const int64_t c = x->shape[1].extent(), inner = first_of(wanted_.image, c);
  const int64_t group = call_.attrs->i("group", 1);
  if (group != 1 && (group != c || inner != outer)) return false;
  ValueId in;
  if (inner != 0) {
    in = to_.packed(args()[0], inner);
  } else {
    const int64_t more = (kQuad - c % kQuad) % kQuad;
    in = to_.plain(args()[0]);
    if (more != 0) in = to_.move("pad", {{"pads", Ints{0, 0, 0, 0, 0, more, 0, 0}}}, in, old().loc);
    in = to_.move("layout_transform", {{"src_layout", "NCHW"}, {"dst_layout", "NCHW4c"}}, in,
                  old().loc);
  }
  Attrs attrs = *call_.attrs;
  attrs.set("block", outer);
  return add_packed("conv2d_nchwc_integers", std::move(attrs), {in, to_.plain(args()[1])}, outer);
}

// Returns halves as f32, other values as they are. Sums of halves are sums in f32 that are rounded
// once, and an operand is converted faster once than in each term.
ValueId BlockedOp::widened(ValueId now, TypeId type) {
  return is_half(type->dtype) ? to_.move("cast", {{"to", DType::kF32}}, now, old().loc) : now;
}

// Adds a product, which is rounded to the result's type where its operands are widened.
ValueId BlockedOp::product(std::string_view op, Attrs attrs, std::vector<ValueId> in) {
  ValueId out = to_.add(op, std::move(attrs), std::move(in), old().loc);
  const DType dtype = result()->dtype;
  return is_half(dtype) ? to_.add("cast", {{"to", dtype}}, {out}, old().loc) : out;
}

// Reorders weights [o, i, h, w] -> [o / outer, i / inner, h, w, inner, outer], where o and i are
// output and input channels: the weights of one tap are contiguous.
ValueId BlockedOp::packed_weight(int64_t inner, int64_t outer) {
  Symbol loc = to_.from().nodes[args()[1].node].loc;
  ValueId now = to_.move("layout_transform",
                         {{"src_layout", "OIHW"}, {"dst_layout", cat("OIHW", inner, "i")}},
                         widened(to_.plain(args()[1]), type(args()[1])), loc);
  return to_.move("layout_transform",
                  {{"src_layout", "OIHWJ"}, {"dst_layout", cat("OIHWJ", outer, "o")}}, now, loc);
}

// Rewrites a product with a constant matrix so that it reads the matrix in panels of columns. A
// transposed b of gemm is read in the order in which it is stored. A matrix that is too large to be
// folded stays as it is: plugins pack it at compile, if they do, and not in every run.
bool BlockedOp::matmul() {
  const bool is_gemm = is("gemm");
  ValueId a = args()[0], b = args()[1];
  TypeId matrix = type(b);
  if (!std::holds_alternative<Constant>(to_.from().nodes[b.node].kind) ||
      matrix->shape.size() != 2 || !is_blocked_dtype(matrix->dtype) || type(a)->shape.size() < 2 ||
      !is_static(type(a)->shape) ||
      !BlockedFunction::can_fold(TensorType{DType::kF32, matrix->shape}))
    return false;
  if (is_gemm && (call_.attrs->b("trans_a", false) || call_.attrs->f("alpha", 1) != 1))
    return false;
  const bool is_transposed = is_gemm && call_.attrs->b("trans_b", false);
  const int64_t n = matrix->shape[is_transposed ? 0 : 1].extent();
  const int64_t block = first_of(wanted_.matrix, n);
  if (block == 0) return false;
  constexpr int64_t kFewRows = 8;  // the time of fewer is that of reading the matrix
  const Result<int64_t> cells = num_elements(type(a)->shape);
  const bool is_wide = !cells.ok() || *cells >= kFewRows * type(a)->shape.back().extent();
  ValueId from = is_wide ? widened(to_.plain(b), matrix) : to_.plain(b);
  ValueId panels = to_.move("layout_transform",
                            {{"src_layout", std::string(is_transposed ? "NK" : "KN")},
                             {"dst_layout", cat("NK", block, "n")}},
                            from, to_.from().nodes[b.node].loc);
  to_.set_plain(node_, is_wide
                           ? product("matmul_packed", {}, {widened(to_.plain(a), type(a)), panels})
                           : to_.add("matmul_packed", {}, {to_.plain(a), panels}, old().loc));
  return true;
}

// Returns true for operands of the result's shape, with one value per channel, or with one value.
bool BlockedOp::can_be_operand(TypeId operand) const {
  if (is_image(operand) && operand->shape == result()->shape) return true;
  const size_t rank = operand->shape.size();
  if (!(is_image(operand) || is_static(operand->shape)) || rank > 4) return false;
  if (!is_blocked_dtype(operand->dtype) && !is_integer_dtype(operand->dtype)) return false;
  return is_one_element(operand) || (rank >= 3 && operand->shape[rank - 3] == result()->shape[1]);
}

ValueId BlockedOp::operand(ValueId arg, int64_t block) {
  TypeId now = type(arg);
  if (is_image(now) && divides(block, now->shape[1].extent())) return to_.packed(arg, block);
  if (is_one_element(now)) {
    if (now->shape.size() <= 1) return to_.plain(arg);
    return to_.move("reshape", {{"shape", Ints{1}}}, to_.plain(arg), {});
  }
  Ints shape{1};  // [c, h, w] as [1, c, h, w]
  for (Dim dim : now->shape) shape.push_back(dim.extent());
  ValueId image = to_.move("reshape", {{"shape", shape}, {"allow_zero", true}}, to_.plain(arg), {});
  return to_.move("layout_transform",
                  {{"src_layout", "NCHW"}, {"dst_layout", cat("NCHW", block, "c")}}, image, {});
}

bool BlockedOp::elementwise() {
  if (call_.op->kind != FusionKind::kElementwise && call_.op->kind != FusionKind::kBroadcast)
    return false;
  if (old().types.size() != 1 || !is_image(result())) return false;
  int64_t block = 0;
  for (ValueId arg : args()) {
    if (!can_be_operand(type(arg))) return false;
    const bool is_whole = is_image(type(arg)) && type(arg)->shape == result()->shape;
    if (block == 0 && is_whole) block = block_of(arg);
  }
  if (block == 0) return false;
  std::vector<ValueId> in;
  for (ValueId arg : args()) in.push_back(operand(arg, block));
  return add_packed(call_.op->name, *call_.attrs, std::move(in), block);
}

// Rewrites quantize and dequantize with one scale: the image may be one of integers.
bool BlockedOp::quantized() {
  const int64_t block = block_of(args()[0]);
  if (block == 0 || type(args()[1])->shape.size() > 1 || !is_one_element(type(args()[1])))
    return false;
  std::vector<ValueId> in{to_.packed(args()[0], block)};
  for (ValueId parameter : args().subspan(1)) in.push_back(to_.plain(parameter));
  return add_packed(call_.op->name, *call_.attrs, std::move(in), block);
}

// Rewrites pooling: the dim within blocks becomes one more spatial dim, with windows of one cell.
bool BlockedOp::pool() {
  const int64_t block = old().types.size() == 1 ? block_of(args()[0]) : 0;
  if (block == 0) return false;
  Attrs attrs = *call_.attrs;
  for (Symbol name : {"kernel_shape", "strides", "dilations"}) {
    Ints values = attrs.ints(name);
    if (values.empty()) continue;
    values.push_back(1);
    attrs.set(name, values);
  }
  Ints pads = attrs.ints("pads");
  if (!pads.empty()) attrs.set("pads", Ints{pads[0], pads[1], 0, pads[2], pads[3], 0});
  return add_packed(call_.op->name, std::move(attrs), {to_.packed(args()[0], block)}, block);
}

bool BlockedOp::mean() {
  const int64_t block = block_of(args()[0]);
  if (block == 0) return false;
  if (is("mean")) {
    Ints axes = call_.attrs->ints("axes");
    for (int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::sort(axes.begin(), axes.end());
    if (axes != Ints{2, 3} || !call_.attrs->b("keepdims", true)) return false;
  }
  return add_packed("mean", {{"axes", Ints{2, 3}}, {"keepdims", true}},
                    {to_.packed(args()[0], block)}, block);
}

bool BlockedOp::concat() {
  if (call_.attrs->i("axis") != 1 && call_.attrs->i("axis") != -3) return false;
  auto fits = [&](int64_t block) {
    return std::ranges::all_of(args(), [&](ValueId arg) {
      return is_image(type(arg)) && divides(block, type(arg)->shape[1].extent());
    });
  };
  auto is_there = [&](int64_t block) {
    return std::ranges::any_of(args(), [&](ValueId arg) {
      return to_.block_of(arg, {&block, 1}) != 0;
    });
  };
  for (int64_t block : wanted_.image) {
    if (!is_there(block) || !fits(block)) continue;
    std::vector<ValueId> in;
    for (ValueId arg : args()) in.push_back(to_.packed(arg, block));
    return add_packed("concat", {{"axis", int64_t{1}}}, std::move(in), block);
  }
  return false;
}

// Rewrites a view of an image of one cell as a reshape: in memory, [n, c / 8, 1, 1, 8] is [n, c].
bool BlockedOp::view() {
  ValueId arg = args()[0];
  const int64_t block = block_of(arg);
  if (block == 0 || to_.has_plain(arg)) return false;
  const Shape &x = type(arg)->shape, &y = result()->shape;
  if (x[2] != Dim(1) || x[3] != Dim(1)) return false;
  Ints shape;
  for (size_t d = 0; d < y.size(); ++d) {
    if (!y[d].is_static() && (d != 0 || y[0] != x[0])) return false;
    shape.push_back(y[d].is_static() ? y[d].extent() : -1);
  }
  to_.set_plain(node_, to_.move("reshape", {{"shape", shape}, {"allow_zero", true}},
                                to_.packed(arg, block), old().loc));
  return true;
}

bool BlockedOp::add() {
  if (is("conv2d")) return conv();
  if (is("conv2d_integers")) return integer_conv();
  if (is("matmul") || is("gemm")) return matmul();
  if (is("max_pool") || is("average_pool")) return pool();
  if (is("mean") || is("global_average_pool")) return mean();
  if (is("concat")) return concat();
  if (is("quantize") || is("dequantize")) return quantized();
  if (is("reshape") || is("flatten") || is("squeeze")) return view();
  return elementwise();
}

}  // namespace

bool block_op(BlockedFunction& to, const WantedBlocks& wanted, uint32_t node) {
  auto* call = std::get_if<Call>(&to.from().nodes[node].kind);
  return call != nullptr && BlockedOp(to, wanted, node, *call).add();
}

}  // namespace byoc
