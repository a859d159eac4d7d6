// SPDX-License-Identifier: Apache-2.0
// Folds per-channel linear ops after a convolution or matrix product into its weights.
//   before: %0 = conv2d(%x, %w)
//           %1 = batch_norm(%0, %scale, %bias, %mean, %var)
//           return %1
//   after:  %0 = conv2d(%x, %w')
//           %1 = add(%0, %b')        with constants w' and b'
//           return %1
// A chain starts at such an op and continues through batch_norm, multiply and add with constants,
// as long as each value has one reader. It is folded when that removes ops: when it has a
// batch_norm, a product, or two sums. Factors are computed in double; when one is not finite, the
// chain stays as it is.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/channel_affine.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

constexpr uint32_t kNone = UINT32_MAX;

struct Chain {
  LinearOp op;
  uint32_t last = kNone;            // its last node
  uint32_t products = 0, sums = 0;  // a batch_norm counts as a product
  ChannelAffine affine;             // of all its nodes after the first
  bool is_worth_folding() const { return products > 0 || sums > 1; }
};

// The chains of a function, indexed by their first node.
class Chains {
 public:
  explicit Chains(const Function& function) : function_(function), uses_(function) {
    first_of_.assign(function.nodes.size(), kNone);
    for (uint32_t k = 0; k < first_of_.size(); ++k) {
      if (!extend(k)) start(k);
    }
    std::erase_if(chains_, [](const auto& entry) { return !entry.second.is_worth_folding(); });
  }
  bool empty() const { return chains_.empty(); }
  uint32_t first_of(uint32_t node) const { return first_of_[node]; }
  const Chain* find(uint32_t first) const {
    auto at = chains_.find(first);
    return at == chains_.end() ? nullptr : &at->second;
  }
  void give_up(uint32_t first) { chains_.erase(first); }

 private:
  void start(uint32_t node);
  bool extend(uint32_t node);

  const Function& function_;
  UseCounts uses_;
  std::vector<uint32_t> first_of_;  // per node: first node of its chain
  std::map<uint32_t, Chain> chains_;
};

void Chains::start(uint32_t node) {
  std::optional<LinearOp> op = linear_op(function_, node);
  if (!op) return;
  auto channels = static_cast<size_t>(op->channels());
  Chain chain{.op = *op, .last = node};
  chain.affine = {std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  chains_.emplace(node, std::move(chain));
  first_of_[node] = node;
}

bool Chains::extend(uint32_t node) {
  for (ValueId arg : function_.args(function_.nodes[node])) {
    if (first_of_[arg.node] == kNone || uses_(arg) != 1) continue;
    Chain& chain = chains_.at(first_of_[arg.node]);
    if (affine_operand(function_, node, chain.op) != arg) continue;
    chain.affine = then(chain.affine, function_, node);
    bool is_sum = std::get<Call>(function_.nodes[node].kind).op->facts.family == OpFamily::kSum;
    ++(is_sum ? chain.sums : chain.products);
    chain.last = node;
    first_of_[node] = first_of_[arg.node];
    return true;
  }
  return false;
}

class BatchNormFolder {
 public:
  BatchNormFolder(IRModule& module, const Function& function, const OpRegistry& ops)
      : rewriter_(function), constants_(module, rewriter_.to()), ops_(ops), chains_(function) {}
  bool has_work() const { return !chains_.empty(); }
  Result<Function> run() &&;

 private:
  Status rewrite(uint32_t node);
  bool write_first(uint32_t node, const Chain& chain);
  Status write_last(uint32_t node, const Chain& chain);

  Rewriter rewriter_;
  ConstantNodes constants_;
  const OpRegistry& ops_;
  Chains chains_;
};

// Writes the convolution or product with its new weights. Returns false when a new weight or a sum
// is not finite.
bool BatchNormFolder::write_first(uint32_t node, const Chain& chain) {
  const Function& from = rewriter_.from();
  auto args = from.args(from.nodes[node]);
  TypeId type = from.type(args[1]);
  const Node& weights = from.nodes[args[1].node];
  auto scaled = scaled_weights(chain.op, *std::get<Constant>(weights.kind).data, type->dtype,
                               chain.affine.scale);
  if (!all_finite(*scaled, type->dtype)) return false;
  if (!all_finite(*reals(chain.affine.shift, type->dtype), type->dtype)) return false;
  ValueId operands[] = {rewriter_.map(args[0]), constants_.add(scaled, type, weights.loc)};
  rewriter_.replace(node, rewriter_.to().add_copy(from.nodes[node], operands));
  return true;
}

// Writes the sum that remains at the end of the chain, or nothing when it would add zeros.
Status BatchNormFolder::write_last(uint32_t node, const Chain& chain) {
  const Node& last = rewriter_.from().nodes[node];
  ValueId value = rewriter_.map({chains_.first_of(node), 0});
  bool is_zero = std::ranges::all_of(chain.affine.shift, [](double v) { return v == 0; });
  if (is_zero) {
    rewriter_.set({node, 0}, value);
    return {};
  }
  BYOC_CHECK(chain.op.channel_axis < last.types[0]->shape.size(), "no channel axis in ",
             last.types);
  TensorType type{last.types[0]->dtype, {}};
  type.shape.assign(last.types[0]->shape.size() - chain.op.channel_axis, Dim(1));
  type.shape[0] = Dim(chain.op.channels());
  BYOC_TRY(const OpDef* add, ops_.get("add"));
  ValueId operands[] = {value, constants_.add(reals(chain.affine.shift, type.dtype), type)};
  rewriter_.replace(node, rewriter_.to().add_call(add, intern({}), operands, last.types, last.loc));
  return {};
}

Status BatchNormFolder::rewrite(uint32_t node) {
  uint32_t first = chains_.first_of(node);
  const Chain* chain = first == kNone ? nullptr : chains_.find(first);
  if (chain && node == first) {
    if (write_first(node, *chain)) return {};
    chains_.give_up(first);
    chain = nullptr;
  }
  if (chain == nullptr) rewriter_.copy(node);
  else if (node == chain->last) return write_last(node, *chain);
  return {};  // inside the chain, where only the next node reads it
}

Result<Function> BatchNormFolder::run() && {
  for (uint32_t k = 0; k < rewriter_.from().nodes.size(); ++k) BYOC_TRY_STATUS(rewrite(k));
  return std::move(rewriter_).finish();
}

}  // namespace

Result<IRModule> fold_batch_norm(IRModule module, const PassContext& context) {
  for (auto& [name, function] : module.functions) {
    if (is_settled(function)) continue;
    BatchNormFolder folder(module, function, *context.ops);
    if (!folder.has_work()) continue;
    BYOC_TRY(Function folded, std::move(folder).run());
    function = std::move(folded);
  }
  return module;
}

}  // namespace byoc
