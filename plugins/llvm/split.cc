// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/split.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "byoc/base/arena.h"
#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "byoc/text/graph_json.h"
#include "byoc/translate/translate.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/open/translate_open.h"
#include "plugins/llvm/topi/code_size.h"

namespace byoc::llvm_plugin {
namespace {

constexpr size_t kFewOps = 8;                 // functions of so few ops are never too large
constexpr int64_t kMostInstructions = 2048;   // of one kernel: about half a second of LLVM's time
constexpr int64_t kPieceInstructions = 1024;  // of a piece of several ops
constexpr int64_t kSmallElements = 4096;  // tensors that stay in the first cache: one op a piece
constexpr size_t kMostOperands = 64;      // of one concat
constexpr int32_t kNowhere = INT32_MIN;   // the place of a value that stays inside of a piece

// A key of plain numbers, for maps.
class Key {
 public:
  template <class T>
  void add(const T& x) {
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Copies a function without constructs that pieces cannot have: concats of very many operands
// become trees of concats, and each result becomes the value of an op and no other result's.
class Normalizer {
 public:
  explicit Normalizer(const Function& from) : from_(from) {}
  Result<Function> run();

 private:
  ValueId mapped(ValueId old) const {
    BYOC_CHECK(first_[old.node] < to_.nodes.size(), "value ", old.node,
               " is read before it is copied");
    return {first_[old.node], old.output};
  }
  Status copy(uint32_t node);
  Result<uint32_t> concat(const Call& call, std::vector<ValueId> args, Symbol loc);

  const Function& from_;
  Function to_;
  std::vector<uint32_t> first_;  // per old node: the new one
};

Result<uint32_t> Normalizer::concat(const Call& call, std::vector<ValueId> args, Symbol loc) {
  BYOC_CHECK(!args.empty(), "a concat of nothing has no end");
  for (;;) {
    std::vector<ValueId> joined;
    for (size_t k = 0; k < args.size(); k += kMostOperands) {
      std::span<const ValueId> part(args.data() + k, std::min(kMostOperands, args.size() - k));
      std::vector<TypeId> types;
      for (ValueId arg : part) types.push_back(to_.type(arg));
      BYOC_TRY(std::vector<TypeId> out, infer_types(*call.op, types, *call.attrs));
      joined.push_back({to_.add_call(call.op, call.attrs, part, TypeIds(out), loc), 0});
    }
    if (joined.size() == 1) return joined[0].node;
    args = std::move(joined);
  }
}

Status Normalizer::copy(uint32_t index) {
  const Node& node = from_.nodes[index];
  std::vector<ValueId> args;
  for (ValueId arg : from_.args(node)) args.push_back(mapped(arg));
  auto* call = std::get_if<Call>(&node.kind);
  if (call != nullptr && call->op->name == "concat" && args.size() > kMostOperands) {
    BYOC_TRY(first_[index], concat(*call, std::move(args), node.loc));
  } else {
    first_[index] = to_.add_copy(node, args);
  }
  return {};
}

Result<Function> Normalizer::run() {
  const OpDef* identity = all_ops().find("identity");
  BYOC_CHECK(identity != nullptr, "there is an op that copies");
  first_.assign(from_.nodes.size(), UINT32_MAX);
  for (uint32_t node = 0; node < from_.nodes.size(); ++node) BYOC_TRY_STATUS(copy(node));
  std::map<ValueId, bool> taken;
  for (ValueId result : from_.results) {
    ValueId value = mapped(result);
    bool is_param = std::holds_alternative<Param>(to_.nodes[value.node].kind);
    if (is_param || !taken.emplace(value, true).second) {
      TypeId type = to_.type(value);
      value = {to_.add_call(identity, intern(Attrs()), std::span(&value, 1), type), 0};
    }
    to_.results.push_back(value);
  }
  return std::move(to_);
}

int64_t elements_of(TypeId type) {
  Result<int64_t> n = num_elements(type->shape);
  return n.ok() ? *n : 0;
}

bool is_center(const Call& call) {
  return call.op->kind == FusionKind::kAnchor || call.op->kind == FusionKind::kReduction;
}

class Splitter {
 public:
  Splitter(const Function& function, const te::Target& target)
      : function_(function), target_(target) {}
  /// Returns false when one kernel holds it.
  Result<bool> is_too_large();
  Result<Split> run();

 private:
  const Call& call(uint32_t node) const { return std::get<Call>(function_.nodes[node].kind); }
  Result<int64_t> size_of(uint32_t node);
  Result<std::vector<uint32_t>> cut();  // per node: its chunk
  void find_lives();
  void place_values();
  void add_piece(uint32_t begin, uint32_t end);
  Function make_piece(uint32_t begin, uint32_t end, const std::vector<ValueId>& params,
                      const std::vector<ValueId>& results) const;
  uint32_t piece_of(uint32_t begin, uint32_t end, const std::vector<ValueId>& params,
                    const std::vector<ValueId>& results);
  uint32_t value(ValueId v) const {
    BYOC_CHECK(first_value_[v.node] + v.output < first_value_[v.node + 1], "node ", v.node,
               " has no value ", v.output);
    return first_value_[v.node] + v.output;
  }
  int32_t place(ValueId v) const {
    BYOC_CHECK(place_[value(v)] != kNowhere, "value ", v.node, "#", v.output, " has no memory");
    return place_[value(v)];
  }

  const Function& function_;
  const te::Target& target_;
  std::unordered_map<std::string, int64_t> sizes_;    // by the key of a node
  std::unordered_map<std::string, uint32_t> pieces_;  // by the key of a piece
  std::vector<uint32_t> chunk_of_, first_value_;      // per node
  std::vector<uint32_t> made_, last_read_;            // per value: chunks
  std::vector<uint8_t> escapes_;                      // per value: another chunk reads it
  std::vector<int32_t> place_;                        // per value: as in Sequence::Call::args
  Split out_;
};

void add_call_key(Key& key, const Function& function, uint32_t node) {
  const Call& call = std::get<Call>(function.nodes[node].kind);
  key.add(call.op);
  key.add(call.attrs);
  key.add(call.args.count);
  key.add(function.nodes[node].types);
}

// Estimates the code of an op alone; equal ops are translated once.
Result<int64_t> Splitter::size_of(uint32_t node) {
  Key key;
  add_call_key(key, function_, node);
  for (ValueId arg : function_.args(function_.nodes[node])) key.add(function_.type(arg));
  auto known = sizes_.find(key.bytes());
  if (known != sizes_.end()) return known->second;
  std::vector<ValueId> params, results;
  for (ValueId arg : function_.args(function_.nodes[node])) {
    if (std::find(params.begin(), params.end(), arg) == params.end()) params.push_back(arg);
  }
  for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) results.push_back({node, k});
  IRModule module;
  module.functions[module.entry] = make_piece(node, node + 1, params, results);
  BYOC_TRY(te::Dag dag, te::translate_to_te(module, module.function(module.entry), target_,
                                            te::by_level(), strategies()));
  return sizes_[key.bytes()] = topi::code_size_of(dag, target_);
}

Result<bool> Splitter::is_too_large() {
  size_t ops = 0;
  for (const Node& node : function_.nodes) ops += std::holds_alternative<Call>(node.kind);
  if (ops <= kFewOps) return false;
  int64_t size = 0;
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (!std::holds_alternative<Call>(function_.nodes[node].kind)) continue;
    BYOC_TRY(int64_t own, size_of(node));
    size += own;
  }
  return size > kMostInstructions;
}

// Cuts the nodes into chunks, runs of nodes in their order, so they depend on earlier chunks
// alone. Ops on small tensors are chunks of their own, so that equal ones share code. Larger
// tensors benefit from fewer trips to memory: ops of equal size share a chunk, up to an anchor
// or reduction each.
Result<std::vector<uint32_t>> Splitter::cut() {
  std::vector<uint32_t> out(function_.nodes.size(), UINT32_MAX);
  uint32_t chunks = 0;
  int64_t left = 0, elements = -1;
  bool has_center = false;
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (!std::holds_alternative<Call>(function_.nodes[node].kind)) continue;
    BYOC_TRY(int64_t size, size_of(node));
    int64_t own = elements_of(function_.nodes[node].types[0]);
    bool joins = own > kSmallElements && own == elements && size <= left &&
                 !(has_center && is_center(call(node)));
    if (!joins) ++chunks, left = kPieceInstructions, elements = own, has_center = false;
    left -= size;
    has_center |= is_center(call(node));
    out[node] = chunks - 1;
  }
  return out;
}

void Splitter::find_lives() {
  first_value_.assign(function_.nodes.size() + 1, 0);
  for (size_t k = 0; k < function_.nodes.size(); ++k) {
    first_value_[k + 1] = first_value_[k] + static_cast<uint32_t>(function_.nodes[k].types.size());
  }
  made_.assign(first_value_.back(), 0);
  last_read_ = made_;
  escapes_.assign(first_value_.back(), 0);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (chunk_of_[node] == UINT32_MAX) continue;
    for (uint32_t v = first_value_[node]; v < first_value_[node + 1]; ++v)
      made_[v] = last_read_[v] = chunk_of_[node];
    for (ValueId arg : function_.args(function_.nodes[node])) {
      last_read_[value(arg)] = chunk_of_[node];
      escapes_[value(arg)] |= chunk_of_[arg.node] != chunk_of_[node];
    }
  }
  for (ValueId result : function_.results) escapes_[value(result)] = 1;
}

// Places values. Parameters and results are the caller's; other values that cross chunks
// are in the arena.
void Splitter::place_values() {
  place_.assign(first_value_.back(), kNowhere);
  int32_t operand = 0;
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (chunk_of_[node] == UINT32_MAX) place_[first_value_[node]] = operand++;
  }
  for (ValueId result : function_.results) place_[value(result)] = operand++;
  std::vector<Lifetime> lives;
  std::vector<uint32_t> of;
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) {
      uint32_t v = first_value_[node] + k;
      if (place_[v] != kNowhere || !escapes_[v]) continue;
      TypeId type = function_.nodes[node].types[k];
      uint64_t bytes = static_cast<uint64_t>(elements_of(type)) * dtype_size(type->dtype);
      bytes = std::max<uint64_t>((bytes + Sequence::kUnit - 1) / Sequence::kUnit, 1);
      lives.push_back({bytes * Sequence::kUnit, made_[v], last_read_[v]});
      of.push_back(v);
    }
  }
  ArenaPlan plan = plan_arena(lives);
  BYOC_CHECK(plan.offsets.size() == of.size(), of.size(), " values have ", plan.offsets.size(),
             " places");
  for (size_t k = 0; k < of.size(); ++k) {
    BYOC_CHECK(plan.offsets[k] % Sequence::kUnit == 0, "a value at ", plan.offsets[k], " bytes");
    place_[of[k]] = ~static_cast<int32_t>(plan.offsets[k] / Sequence::kUnit);
  }
  out_.sequence.arena_bytes = plan.bytes;
}

Function Splitter::make_piece(uint32_t begin, uint32_t end, const std::vector<ValueId>& params,
                              const std::vector<ValueId>& results) const {
  Function piece;
  std::map<ValueId, ValueId> known;
  for (ValueId param : params) {
    Symbol name = cat("p", known.size());
    known[param] = {piece.add_param(name, function_.type(param)), 0};
  }
  for (uint32_t node = begin; node < end; ++node) {
    std::vector<ValueId> args;
    for (ValueId arg : function_.args(function_.nodes[node])) args.push_back(known.at(arg));
    const Call& own = call(node);
    uint32_t copy = piece.add_call(own.op, own.attrs, args, function_.nodes[node].types);
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) known[{node, k}] = {copy, k};
  }
  for (ValueId result : results) piece.results.push_back(known.at(result));
  return piece;
}

uint32_t Splitter::piece_of(uint32_t begin, uint32_t end, const std::vector<ValueId>& params,
                            const std::vector<ValueId>& results) {
  Key key;
  std::map<ValueId, uint32_t> number;
  for (ValueId param : params) {
    number.emplace(param, static_cast<uint32_t>(number.size()));
    key.add(function_.type(param));
  }
  for (uint32_t node = begin; node < end; ++node) {
    add_call_key(key, function_, node);
    for (ValueId arg : function_.args(function_.nodes[node])) key.add(number.at(arg));
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k)
      number.emplace(ValueId{node, k}, static_cast<uint32_t>(number.size()));
  }
  for (ValueId result : results) key.add(number.at(result));
  auto [at, is_new] = pieces_.emplace(key.bytes(), static_cast<uint32_t>(out_.pieces.size()));
  if (is_new) out_.pieces.push_back(make_piece(begin, end, params, results));
  return at->second;
}

// Adds a chunk as a piece, unless its values are never read.
void Splitter::add_piece(uint32_t begin, uint32_t end) {
  std::vector<ValueId> params, results;
  std::map<ValueId, bool> known;
  for (uint32_t node = begin; node < end; ++node) {
    for (ValueId arg : function_.args(function_.nodes[node])) {
      bool is_inside = arg.node >= begin;
      if (!is_inside && known.emplace(arg, true).second) params.push_back(arg);
    }
    for (uint32_t k = 0; k < function_.nodes[node].types.size(); ++k) {
      if (escapes_[value({node, k})]) results.push_back({node, k});
    }
  }
  if (results.empty()) return;
  Sequence::Call call{piece_of(begin, end, params, results), {}};
  for (ValueId param : params) call.args.push_back(place(param));
  for (ValueId result : results) call.args.push_back(place(result));
  out_.sequence.calls.push_back(std::move(call));
}

Result<Split> Splitter::run() {
  BYOC_TRY(chunk_of_, cut());
  BYOC_CHECK(chunk_of_.size() == function_.nodes.size(), "a chunk per node, got ",
             chunk_of_.size());
  find_lives();
  place_values();
  for (uint32_t node = 0; node < function_.nodes.size();) {
    uint32_t end = node + 1;
    while (end < function_.nodes.size() && chunk_of_[end] == chunk_of_[node]) ++end;
    if (chunk_of_[node] != UINT32_MAX) add_piece(node, end);
    node = end;
  }
  return std::move(out_);
}

bool has_calls_alone(const Function& function) {
  return std::all_of(function.nodes.begin(), function.nodes.end(), [](const Node& node) {
    return std::holds_alternative<Param>(node.kind) || std::holds_alternative<Call>(node.kind);
  });
}

bool has_wide_concat(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [](const Node& node) {
    auto* call = std::get_if<Call>(&node.kind);
    return call != nullptr && call->op->name == "concat" && call->args.count > kMostOperands;
  });
}

}  // namespace

bool is_small_function(const IRModule& module) {
  const Function& whole = module.function(module.entry);
  size_t ops = 0;
  for (const Node& node : whole.nodes) {
    ops += std::holds_alternative<Call>(node.kind);
    for (size_t k = 0; k < node.types.size(); ++k) {
      if (has_open(node.types[k]->shape)) return false;
      if (elements_of(node.types[k]) > kSmallElements) return false;
    }
  }
  return ops > 1 && has_calls_alone(whole);
}

Result<std::optional<Split>> split_function(const IRModule& module, const te::Target& target,
                                            SplitWhen when) {
  const Function& whole = module.function(module.entry);
  if (has_open_sizes(module) || !has_calls_alone(whole)) return std::optional<Split>();
  if (when == SplitWhen::kTooLarge && !has_wide_concat(whole)) {
    BYOC_TRY(bool is_large, Splitter(whole, target).is_too_large());
    if (!is_large) return std::optional<Split>();
  }
  BYOC_TRY(Function normal, Normalizer(whole).run());
  BYOC_TRY(Split split, Splitter(normal, target).run());
  return std::optional(std::move(split));
}

}  // namespace byoc::llvm_plugin
