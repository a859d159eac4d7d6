// SPDX-License-Identifier: Apache-2.0
#include "core/region/pattern_states.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/op.h"

namespace byoc {
namespace {

constexpr uint64_t kManyArgs = UINT32_MAX;  // more than any part of a pattern has

void append(std::string& key, uint64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void set(std::vector<uint64_t>& bits, uint32_t bit) { bits[bit / 64] |= uint64_t{1} << (bit % 64); }
bool has(const std::vector<uint64_t>& bits, uint32_t bit) {
  return bits[bit / 64] >> (bit % 64) & 1;
}

}  // namespace

PatternStates::PatternStates(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {
  for (const Pattern& pattern : patterns_) {
    first_.push_back(num_bits_);
    num_bits_ += pattern.tree().num_nodes;
  }
  anything_.assign(num_bits_ / 64 + 1, 0);
  constants_ = anything_;
  for (size_t k = 0; k < patterns_.size(); ++k) number(patterns_[k].tree().root, first_[k], {});
  for (size_t k = 0; k < constants_.size(); ++k) constants_[k] |= anything_[k];
  close(anything_);
  close(constants_);
}

// Numbers the parts of a pattern. `dollar`: the bits of the parts that "$" may be. The recursion is
// as deep as the pattern's JSON, which is bounded.
void PatternStates::number(const PatternNode& node, uint32_t first,
                           const std::vector<uint32_t>& dollar) {
  uint32_t bit = first + node.id;
  auto bit_of = [&](const PatternNode& part) { return first + part.id; };
  std::visit(overloaded{
                 [&](const PatternNode::Any&) { set(anything_, bit); },
                 [&](const PatternNode::Same&) { set(anything_, bit); },
                 [&](const PatternNode::Const&) { set(constants_, bit); },
                 [&](const PatternNode::Dollar&) {
                   choices_.push_back({bit, dollar});
                 },
                 [&](const PatternNode::Op& op) {
                   OpParts& of_op = by_name_[op.op];
                   of_op.parts.push_back({bit, first, &node, &op});
                   of_op.most_args = std::max(of_op.most_args, op.args.size());
                   of_op.tests_type |= !op.dtypes.empty() || !op.ranks.empty();
                   of_op.tests_attrs |= !op.attrs.empty();
                   for (const PatternNode& arg : op.args) number(arg, first, dollar);
                 },
                 [&](const PatternNode::OneOf& one) {
                   Choice choice{bit, {}};
                   for (const PatternNode& way : one.choices) {
                     number(way, first, dollar);
                     choice.of.push_back(bit_of(way));
                   }
                   choices_.push_back(std::move(choice));
                 },
                 [&](const PatternNode::Optional& optional) {
                   const auto& [next, on] = std::tie(optional.parts[0], optional.parts[1]);
                   number(next, first, {bit_of(on)});
                   number(on, first, {});
                   choices_.push_back({bit, {bit_of(next), bit_of(on)}});
                 },
                 [&](const PatternNode::Repeat& repeat) {
                   const auto& [next, on] = std::tie(repeat.parts[0], repeat.parts[1]);
                   number(next, first, {bit, bit_of(on)});
                   number(on, first, {});
                   choices_.push_back({bit, {bit_of(next)}});
                   if (repeat.min == 0) choices_.back().of.push_back(bit_of(on));
                 },
             },
             node.kind);
}

// Adds each Choice one of whose alternatives can match at the same value.
void PatternStates::close(Bits& bits) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Choice& choice : choices_) {
      if (has(bits, choice.bit)) continue;
      if (std::ranges::none_of(choice.of, [&](uint32_t way) { return has(bits, way); })) continue;
      set(bits, choice.bit);
      changed = true;
    }
  }
}

uint32_t PatternStates::intern_view(const Bits& bits) {
  std::string_view bytes(reinterpret_cast<const char*>(bits.data()),
                         bits.size() * sizeof(uint64_t));
  auto [at, is_new] =
      view_ids_.try_emplace(std::string(bytes), static_cast<uint32_t>(views_.size()));
  if (is_new) views_.push_back(bits);
  return at->second;
}

uint32_t PatternStates::intern_roots(const Bits& bits) {
  std::vector<uint32_t> roots;
  for (uint32_t k = 0; k < patterns_.size(); ++k) {
    if (has(bits, first_[k])) roots.push_back(k);
  }
  auto at = std::ranges::find(root_lists_, roots);
  if (at == root_lists_.end()) at = root_lists_.insert(at, std::move(roots));
  return static_cast<uint32_t>(at - root_lists_.begin());
}

// Returns a number for the set of the op's pattern parts that hold for the node's own dtype, rank
// and attributes.
uint32_t PatternStates::signature(const Function& function, uint32_t node, const OpParts& of_op) {
  const Call& call = std::get<Call>(function.nodes[node].kind);
  bool one_output = function.nodes[node].types.size() == 1;
  key_.clear();
  append(key_, reinterpret_cast<uintptr_t>(&of_op));
  const TensorType* type = one_output && of_op.tests_type ? &*function.type({node, 0}) : nullptr;
  if (type != nullptr)
    append(key_, uint64_t{type->shape.size()} << 32 | static_cast<uint32_t>(type->dtype));
  if (of_op.tests_attrs) append(key_, reinterpret_cast<uintptr_t>(call.attrs));
  auto [at, is_new] = signature_of_.try_emplace(key_, 0);
  if (!is_new) return at->second;
  std::vector<uint8_t> passing;
  for (const OpPart& part : of_op.parts) passing.push_back(passes_tests(*part.op, call, type));
  auto known = std::ranges::find(passing_, passing);
  if (known == passing_.end()) known = passing_.insert(known, std::move(passing));
  return at->second = static_cast<uint32_t>(known - passing_.begin());
}

bool PatternStates::fits(const OpPart& part, std::span<const uint32_t> arg_views,
                         size_t num_args) const {
  if (!part.op->has_args) return true;
  size_t count = part.op->args.size();
  if (count != num_args) return false;
  auto at = [&](size_t pattern, size_t arg) {
    return has(views_[arg_views[arg]], part.first + part.op->args[pattern].id);
  };
  bool in_order = true;
  for (size_t k = 0; k < count; ++k) in_order = in_order && at(k, k);
  return in_order || (count == 2 && is_commutative(part.op->op) && at(0, 1) && at(1, 0));
}

PatternStates::State PatternStates::make_state(const OpParts& of_op, uint32_t signature,
                                               std::span<const uint32_t> arg_views,
                                               size_t num_args) {
  Bits one = anything_, many = anything_;
  for (size_t k = 0; k < of_op.parts.size(); ++k) {
    const OpPart& part = of_op.parts[k];
    if (!passing_[signature][k] || !fits(part, arg_views, num_args)) continue;
    set(one, part.bit);
    if (part.node->is_read_again) set(many, part.bit);
  }
  close(one);
  close(many);
  return {intern_view(one), intern_view(many), intern_roots(one)};
}

const PatternStates::OpParts* PatternStates::parts_of(const OpDef& op) {
  auto [at, is_new] = by_op_.try_emplace(&op, nullptr);
  if (!is_new) return at->second;
  auto named = by_name_.find(op.name);
  if (named != by_name_.end() && !op.is_annotation) at->second = &named->second;
  return at->second;
}

PatternStates::Labels PatternStates::label(const Function& function, const UseCounts& uses) {
  const uint32_t unmatched = intern_view(anything_), constant = intern_view(constants_);
  const uint32_t no_roots = intern_roots(Bits(anything_.size(), 0));
  Labels out;
  out.view.assign(function.nodes.size(), unmatched);
  out.roots.assign(function.nodes.size(), no_roots);
  std::vector<uint32_t> arg_views;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    const Node& n = function.nodes[node];
    if (std::holds_alternative<Constant>(n.kind)) out.view[node] = constant;
    auto* call = std::get_if<Call>(&n.kind);
    const OpParts* of_op = call != nullptr ? parts_of(*call->op) : nullptr;
    if (of_op == nullptr) continue;
    uint32_t tests = signature(function, node, *of_op);
    std::span<const ValueId> args = function.args(n);
    arg_views.clear();
    if (args.size() <= of_op->most_args) {
      for (ValueId arg : args) arg_views.push_back(out.view[arg.node]);
    }
    key_.clear();
    append(key_, reinterpret_cast<uintptr_t>(of_op));
    append(key_,
           uint64_t{tests} << 32 | (args.size() <= of_op->most_args ? args.size() : kManyArgs));
    for (uint32_t view : arg_views) append(key_, view);
    auto at = transitions_.find(key_);
    if (at == transitions_.end()) {
      at = transitions_.emplace(key_, make_state(*of_op, tests, arg_views, args.size())).first;
    }
    out.view[node] = uses.of_node(node) == 1 ? at->second.view_of_one : at->second.view_of_many;
    out.roots[node] = at->second.roots;
  }
  return out;
}

}  // namespace byoc
