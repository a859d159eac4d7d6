// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/blocked_function.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/evaluate.h"

namespace byoc {
namespace {

constexpr int64_t kMaxFoldedBytes = int64_t{64} << 20;  // fold_constants leaves larger results
constexpr int64_t kMaxShownElements = 64;               // the judge sees no larger constants

Attrs transform(std::string from, std::string to) {
  return {{"src_layout", std::move(from)}, {"dst_layout", std::move(to)}};
}

}  // namespace

BlockedFunction::BlockedFunction(const Function& from, std::vector<int64_t> blocks,
                                 const OpRegistry& ops, Judge& judge)
    : from_(from), blocks_(std::move(blocks)), ops_(ops), judge_(judge), first_(1, 0) {
  for (const Node& node : from.nodes)
    first_.push_back(first_.back() + static_cast<uint32_t>(node.types.size()));
  forms_.assign(first_.back() * (blocks_.size() + 1), kNowhere);
  to_.attrs = from.attrs;
}

size_t BlockedFunction::slot(ValueId old, int64_t block) const {
  size_t form = 0;
  if (block != 0) {
    auto at = std::ranges::find(blocks_, block);
    BYOC_CHECK(at != blocks_.end(), "no plugin lists blocks of ", block);
    form = 1 + static_cast<size_t>(at - blocks_.begin());
  }
  return (first_[old.node] + old.output) * (blocks_.size() + 1) + form;
}

void BlockedFunction::begin(const Plugin& plugin) {
  plugin_ = &plugin;
  first_node_ = to_.nodes.size(), first_operand_ = to_.operands.size();
  set_.clear();
}

bool BlockedFunction::commit() {
  const bool is_done = !is_refused_;
  if (is_refused_) {
    to_.nodes.erase(to_.nodes.begin() + static_cast<ptrdiff_t>(first_node_), to_.nodes.end());
    to_.operands.resize(first_operand_);
    known_.resize(first_node_);
    for (size_t at : set_) forms_[at] = kNowhere;
  }
  is_refused_ = false;
  return is_done;
}

void BlockedFunction::set(size_t slot, ValueId now) {
  if (is_refused_) return;
  forms_[slot] = now;
  set_.push_back(slot);
}

Result<BlockedFunction::Op> BlockedFunction::infer(std::string_view op, Attrs attrs,
                                                   std::span<const ValueId> args) const {
  Op out{ops_.find(op), nullptr, {}};
  BYOC_CHECK(out.def != nullptr, "no op ", op);
  std::vector<TypeId> in;
  for (ValueId arg : args) in.push_back(to_.type(arg));
  BYOC_TRY(Attrs complete, complete_attrs(*out.def, std::move(attrs)));
  BYOC_TRY(out.types, infer_types(*out.def, in, complete));
  out.attrs = intern(std::move(complete));
  return out;
}

// Judges the op alone, in the state after constants are folded. The judge sees the types of large
// constants but not their elements, so bytes before a transform serve as well as those after it.
bool BlockedFunction::is_taken(const Op& op, std::span<const ValueId> args) const {
  Function alone;
  std::vector<ValueId> operands(args.size());
  for (bool constants : {false, true}) {  // parameters come first
    for (size_t k = 0; k < args.size(); ++k) {
      const Buffer* known = known_[args[k].node];
      if ((known != nullptr) != constants) continue;
      auto same = static_cast<size_t>(std::ranges::find(args, args[k]) - args.begin());
      if (same < k) operands[k] = operands[same];
      else if (constants) operands[k] = {alone.add_constant(known, to_.type(args[k])), 0};
      else operands[k] = {alone.add_param(cat("x", k), to_.type(args[k])), 0};
    }
  }
  const uint32_t node = alone.add_call(op.def, op.attrs, operands, op.types);
  for (uint32_t k = 0; k < op.types.size(); ++k) alone.results.push_back({node, k});
  return judge_.takes(*plugin_, alone, UseCounts(alone), node).accept != Verdict::kNo;
}

ValueId BlockedFunction::append(const Op& op, std::span<const ValueId> args, Symbol loc,
                                const Buffer* known) {
  known_.push_back(known);
  return {to_.add_call(op.def, op.attrs, args, op.types, loc), 0};
}

ValueId BlockedFunction::add(std::string_view op, Attrs attrs, std::vector<ValueId> args,
                             Symbol loc) {
  if (is_refused_) return kNowhere;
  Result<Op> inferred = infer(op, std::move(attrs), args);
  is_refused_ = !inferred.ok() || !is_taken(*inferred, args);
  return is_refused_ ? kNowhere : append(*inferred, args, loc);
}

bool BlockedFunction::can_fold(TypeId type) {
  Result<int64_t> bytes = size_bytes(*type);
  return bytes.ok() && *bytes <= kMaxFoldedBytes;
}

// Returns the constant that fold_constants makes of a move; null when the move stays an op.
const Buffer* BlockedFunction::fold(const Op& op, ValueId arg) {
  const Buffer* known = known_[arg.node];
  Result<int64_t> elements = num_elements(op.types[0]->shape);
  if (known == nullptr || !can_fold(op.types[0])) return nullptr;
  if (*elements > kMaxShownElements) return known;
  const TypeId type = to_.type(arg);
  auto values = evaluate(*op.def, *op.attrs, {&type, 1}, op.types, {&known, 1});
  if (!values.ok()) return nullptr;
  folded_.push_back((*values)[0]);
  return folded_.back().get();
}

ValueId BlockedFunction::move(std::string_view op, Attrs attrs, ValueId arg, Symbol loc) {
  if (is_refused_) return kNowhere;
  const ValueId args[] = {arg};
  Result<Op> inferred = infer(op, std::move(attrs), args);
  const Buffer* known = inferred.ok() ? fold(*inferred, arg) : nullptr;
  is_refused_ = !inferred.ok() || (known == nullptr && !is_taken(*inferred, args));
  return is_refused_ ? kNowhere : append(*inferred, args, loc, known);
}

// Returns the transform of an image in blocks, a value of the new function, into the plain image.
BlockedFunction::Op BlockedFunction::unpack(ValueId now) const {
  const ValueId args[] = {now};
  const int64_t block = to_.type(now)->shape.back().extent();
  Result<Op> out = infer("layout_transform", transform(cat("NCHW", block, "c"), "NCHW"), args);
  BYOC_CHECK(out.ok(), out.status().to_string());
  return *std::move(out);
}

ValueId BlockedFunction::plain(ValueId old) {
  ValueId now = forms_[slot(old)];
  if (now != kNowhere) return now;
  const int64_t block = block_of(old, blocks_);
  BYOC_CHECK(block != 0, "node ", old.node, " is read before it is added");
  const ValueId args[] = {forms_[slot(old, block)]};
  now = append(unpack(args[0]), args, from_.nodes[old.node].loc);  // set_packed judged it
  set(slot(old), now);
  return now;
}

ValueId BlockedFunction::packed(ValueId old, int64_t block) {
  const size_t at = slot(old, block);
  if (forms_[at] != kNowhere) return forms_[at];
  ValueId now = move("layout_transform", transform("NCHW", cat("NCHW", block, "c")), plain(old),
                     from_.nodes[old.node].loc);
  set(at, now);
  return now;
}

int64_t BlockedFunction::block_of(ValueId old, std::span<const int64_t> blocks) const {
  auto at = std::ranges::find_if(
      blocks, [&](int64_t block) { return forms_[slot(old, block)] != kNowhere; });
  return at == blocks.end() ? 0 : *at;
}

void BlockedFunction::set_plain(uint32_t node, ValueId now) { set(slot({node, 0}), now); }

void BlockedFunction::set_packed(uint32_t node, ValueId now, int64_t block) {
  if (is_refused_) return;
  const ValueId args[] = {now};
  is_refused_ = !is_taken(unpack(now), args);
  set(slot({node, 0}, block), now);
}

void BlockedFunction::copy(uint32_t node) {
  const Node& old = from_.nodes[node];
  std::vector<ValueId> args;
  for (ValueId arg : from_.args(old)) args.push_back(plain(arg));
  const uint32_t now = to_.add_copy(old, args);
  auto* constant = std::get_if<Constant>(&old.kind);
  known_.push_back(constant != nullptr ? constant->data : nullptr);
  for (uint32_t k = 0; k < old.types.size(); ++k) forms_[slot({node, k})] = {now, k};
}

Function BlockedFunction::finish() && {
  for (ValueId result : from_.results) to_.results.push_back(plain(result));
  return std::move(to_);
}

}  // namespace byoc
