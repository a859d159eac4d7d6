// SPDX-License-Identifier: Apache-2.0
#include "core/conform/samples/pattern_instances.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "byoc/base/literal.h"
#include "byoc/ir/visit.h"
#include "byoc/text/text.h"
#include "core/conform/samples/attr_tests.h"
#include "core/conform/samples/exporter_values.h"
#include "core/conform/samples/operand_types.h"
#include "core/region/pattern_tree.h"

namespace byoc::conform {
namespace {

struct Value {
  ValueId id;
  TypeId type;
};

/// Makes one instance of a pattern, from the leaves to the root, or to a call of operands that have
/// to fit each other. The depth of the recursion is that
/// of the pattern.
class Maker {
 public:
  Maker(uint64_t seed, InstanceStyle style) : random_(seed), style_(style) {}

  std::optional<Instance> make(const PatternNode& root) {
    find_shared(root);
    auto value = node(root, nullptr, nullptr);
    if (!value || failed_ || calls_.empty()) return std::nullopt;
    return written();
  }

 private:
  /// A parameter or a constant. These come first in a function, so that ops are stored in calls_
  /// until all leaves are complete.
  struct Leaf {
    TypeId type;
    bool is_constant;
    Domain domain;
    std::optional<double> value = {};  // of all elements
  };
  struct OpCall {
    const OpDef* op;
    const Attrs* attrs;
    std::vector<Value> args;
    std::vector<TypeId> types;
  };
  static constexpr uint32_t kLeafBase = 1u << 20;  // added to the numbers of leaves until written()

  uint64_t pick(uint64_t n) { return random_() % n; }

  Value leaf(TypeId type, bool is_constant, Domain domain) {
    for (size_t k = 0; style_.repeats_operands && !is_constant && k < leaves_.size(); ++k) {
      if (leaves_[k].type == type && !leaves_[k].is_constant) return value_of_leaf(k);
    }
    leaves_.push_back({type, is_constant, domain});
    return value_of_leaf(leaves_.size() - 1);
  }
  Value value_of_leaf(size_t k) const {
    return {{kLeafBase + static_cast<uint32_t>(k), 0}, leaves_[k].type};
  }

  /// Makes the leaf of operand `k` of an op.
  Value operand(const OpDef& op, const PatternNode::Op& spec, size_t k, TypeId type,
                Domain domain) {
    auto* constant = spec.has_args ? std::get_if<PatternNode::Const>(&spec.args[k].kind) : nullptr;
    if (constant == nullptr) return leaf(type, false, domain);
    const bool is_number =
        style_.has_exporter_values && is_float(type->dtype) && *num_elements(type->shape) == 1;
    const std::span<const double> values = exporter_values(op.name);
    Value out = leaf(type, true, domain);
    leaves_.back().value = constant->value;
    if (!constant->value && is_number && !values.empty())
      leaves_.back().value = values[std::min(pick(values.size()), pick(values.size()))];
    return out;
  }

  /// Collects the names that "same" refers to: their values must exist before an op reads them.
  void find_shared(const PatternNode& p) {
    std::visit(overloaded{[](const PatternNode::Any&) {}, [](const PatternNode::Const&) {},
                          [](const PatternNode::Dollar&) {},
                          [&](const PatternNode::Op& op) {
                            for (const PatternNode& arg : op.args) find_shared(arg);
                          },
                          [&](const PatternNode::OneOf& one) {
                            for (const PatternNode& choice : one.choices) find_shared(choice);
                          },
                          [&](const PatternNode::Optional& chain) {
                            for (const PatternNode& part : chain.parts) find_shared(part);
                          },
                          [&](const PatternNode::Repeat& chain) {
                            for (const PatternNode& part : chain.parts) find_shared(part);
                          },
                          [&](const PatternNode::Same& same) { shared_.insert(same.as); }},
               p.kind);
  }
  Value shared_leaf() {
    static const Shape kShapes[] = {{Dim(7)}, {Dim(5), Dim(7)}, {Dim(2), Dim(3), Dim(5)}};
    Shape shape = kShapes[pick(std::size(kShapes))];
    if (style_.is_empty) shape[pick(shape.size())] = 0;
    return leaf(TensorType{DType::kF32, shape}, false, {});
  }

  /// Makes a value for `p`, with `dollar` for "$", and of the type `wanted` unless that is null.
  /// Returns nothing for a leaf whose type is decided by the op that reads it.
  std::optional<Value> node(const PatternNode& p, const Value* dollar, const TypeId* wanted) {
    auto value = std::visit(
        overloaded{[&](const PatternNode::Any&) -> std::optional<Value> {
                     return shared_.contains(p.as) ? std::optional(shared_leaf()) : std::nullopt;
                   },
                   [&](const PatternNode::Const&) -> std::optional<Value> { return std::nullopt; },
                   [&](const PatternNode::Op& op) { return call(op, dollar, wanted); },
                   [&](const PatternNode::Dollar&) -> std::optional<Value> {
                     return dollar ? std::optional(*dollar) : std::nullopt;
                   },
                   [&](const PatternNode::OneOf& one) {
                     return node(one.choices[pick(one.choices.size())], dollar, wanted);
                   },
                   [&](const PatternNode::Optional& chain) {
                     return chained(chain.parts, pick(2), wanted);
                   },
                   [&](const PatternNode::Repeat& chain) {
                     auto most = static_cast<uint64_t>(std::min<int64_t>(chain.max, chain.min + 3));
                     auto least = static_cast<uint64_t>(chain.min);
                     return chained(chain.parts, least + pick(most - least + 1), wanted);
                   },
                   [&](const PatternNode::Same& same) -> std::optional<Value> {
                     auto found = captured_.find(same.as);
                     failed_ |= found == captured_.end();
                     return found == captured_.end() ? std::nullopt : std::optional(found->second);
                   }},
        p.kind);
    if (value && !p.as.empty()) captured_[p.as] = *value;
    return value;
  }

  /// Applies the pattern parts[0] `times` times to the value of parts[1].
  std::optional<Value> chained(const std::vector<PatternNode>& parts, uint64_t times,
                               const TypeId* wanted) {
    std::optional<Value> value = node(parts[1], nullptr, wanted);
    for (uint64_t k = 0; k < times && value && !failed_; ++k) {
      Value so_far = *value;
      value = node(parts[0], &so_far, nullptr);
    }
    return value;
  }

  static bool is_constant(const PatternNode& p) {
    return std::holds_alternative<PatternNode::Const>(p.kind);
  }

  /// Returns true for a part that computes its value from leaves of its own.
  static bool is_computed(const PatternNode& p) {
    if (auto* one = std::get_if<PatternNode::OneOf>(&p.kind))
      return std::ranges::all_of(one->choices, is_computed);
    return std::holds_alternative<PatternNode::Op>(p.kind);
  }

  std::optional<Value> call(const PatternNode::Op& spec, const Value* dollar,
                            const TypeId* wanted) {
    const OpDef* op = all_ops().find(spec.op);
    if (op == nullptr) return fail();
    if (wanted != nullptr && !std::ranges::any_of(spec.args, is_computed))
      return with_result(*op, spec, *wanted);
    // Operands that are computed each by itself fit each other when a sample has their types.
    if (std::ranges::count_if(spec.args, is_computed) > 1 && pick(2) == 0)
      return from_sample(*op, spec);
    std::vector<std::optional<Value>> args;
    bool any_known = false;
    for (const PatternNode& arg : spec.args) {
      args.push_back(node(arg, dollar, nullptr));
      any_known |= args.back().has_value();
      if (failed_) return std::nullopt;
    }
    return any_known ? complete(*op, spec, args) : from_sample(*op, spec);
  }

  std::optional<Value> fail() {
    failed_ = true;
    return std::nullopt;
  }

  /// Makes a call with the types of one of the op's samples.
  std::optional<Value> from_sample(const OpDef& op, const PatternNode::Op& spec) {
    std::vector<const Program*> programs;
    for (const Program& program : kept_programs_of(op, Level::kFull)) programs.push_back(&program);
    std::erase_if(programs, [&](const Program* candidate) {
      const Program& program = *candidate;
      const Function& main = program.module.function("main");
      const TensorType& result = *main.nodes.back().types[0];
      bool dtype = spec.dtypes.empty()
                       ? program.dtype == DType::kF32
                       : std::count(spec.dtypes.begin(), spec.dtypes.end(), result.dtype) > 0;
      bool rank = spec.ranks.empty() || std::count(spec.ranks.begin(), spec.ranks.end(),
                                                   static_cast<int64_t>(result.shape.size()));
      bool arity = !spec.has_args || main.num_params() == spec.args.size();
      const bool is_empty = *num_elements(result.shape) == 0;
      return !dtype || !rank || !arity || is_empty != style_.is_empty;
    });
    if (programs.empty()) return fail();
    const Program& program = *programs[pick(programs.size())];
    const Function& main = program.module.function("main");
    std::vector<Value> args;
    for (size_t k = 0; k < main.num_params(); ++k) {
      TypeId type = main.nodes[k].types[0];
      if (style_.has_exporter_values && spec.has_args && is_constant(spec.args[k]))
        type = TensorType{type->dtype, {}};
      auto computed = spec.has_args && is_computed(spec.args[k])
                          ? node(spec.args[k], nullptr, &type)
                          : std::nullopt;
      if (failed_) return std::nullopt;
      args.push_back(computed ? *computed : operand(op, spec, k, type, program.domains[k]));
      remember(spec, k, args.back());
    }
    return finish(op, spec, *std::get<Call>(main.nodes.back().kind).attrs, args);
  }

  void remember(const PatternNode::Op& spec, size_t k, const Value& value) {
    if (spec.has_args && !spec.args[k].as.empty()) captured_[spec.args[k].as] = value;
  }

  /// Makes a call of leaves with a result of that type: the first operand has its shape, the others
  /// are single numbers.
  std::optional<Value> with_result(const OpDef& op, const PatternNode::Op& spec, TypeId wanted) {
    const TypeId one = TensorType{wanted->dtype, {}};
    auto attrs = complete_attrs(op, {});
    if (!attrs.ok() || spec.args.empty()) return fail();
    std::vector<std::vector<TypeId>> choices = {of_all_dtypes(wanted)};
    choices.resize(spec.args.size(), of_all_dtypes(one));
    auto types = first_allowed(choices, [&](const std::vector<TypeId>& in) {
      auto results = infer_types(op, in, constrained(spec, *attrs));
      return results.ok() && (*results)[0] == wanted;
    });
    return types ? of_leaves(op, spec, *attrs, std::vector<std::optional<Value>>(types->size()),
                             *types)
                 : fail();
  }

  /// Returns the first choice of a type per operand that is allowed, from a random start.
  template <class IsAllowed>
  std::optional<std::vector<TypeId>> first_allowed(const std::vector<std::vector<TypeId>>& choices,
                                                   const IsAllowed& is_allowed) {
    size_t all = 1;
    for (const auto& types : choices) all *= types.size();
    const size_t begin = pick(all);
    for (size_t n = 0; n < all; ++n) {
      std::vector<TypeId> in;
      size_t rest = (begin + n) % all;
      for (const auto& types : choices) {
        in.push_back(types[rest % types.size()]);
        rest /= types.size();
      }
      if (is_allowed(in)) return in;
    }
    return std::nullopt;
  }

  /// Finishes a call whose operands that do not exist become leaves of these types.
  std::optional<Value> of_leaves(const OpDef& op, const PatternNode::Op& spec, const Attrs& attrs,
                                 const std::vector<std::optional<Value>>& args,
                                 const std::vector<TypeId>& types) {
    std::vector<Value> all;
    for (size_t k = 0; k < args.size(); ++k) {
      all.push_back(args[k] ? *args[k] : operand(op, spec, k, types[k], {}));
      remember(spec, k, all.back());
    }
    return finish(op, spec, attrs, all);
  }

  /// Makes a call of which some operands exist. The others become leaves of the first type that the
  /// op allows, in the list of partners from a random start.
  std::optional<Value> complete(const OpDef& op, const PatternNode::Op& spec,
                                const std::vector<std::optional<Value>>& args) {
    auto known = std::find_if(args.begin(), args.end(), [](auto& arg) { return arg.has_value(); });
    std::vector<TypeId> choices = partners((*known)->type);
    auto attrs = complete_attrs(op, {});
    if (!attrs.ok()) return fail();
    size_t first = pick(choices.size());
    constexpr size_t kNumber = 1, kLastDim = 3;  // places in the list of partners
    if (style_.has_exporter_values) first = pick(4) != 0 ? kNumber : kLastDim % choices.size();
    for (size_t n = 0; n < choices.size(); ++n) {
      TypeId choice = choices[(first + n) % choices.size()];
      std::vector<TypeId> types;
      for (const auto& arg : args) types.push_back(arg ? arg->type : choice);
      auto results = infer_types(op, types, constrained(spec, *attrs));
      if (!results.ok() || (!spec.args.empty() && (*results)[0] != (*known)->type &&
                            op.kind == FusionKind::kBroadcast))
        continue;
      return of_leaves(op, spec, *attrs, args, types);
    }
    // Single numbers of other types, such as a scale and a zero point.
    std::vector<std::vector<TypeId>> numbers;
    const std::vector<TypeId> number = of_all_dtypes(TensorType{DType::kF32, {}});
    for (const auto& arg : args) numbers.push_back(arg ? std::vector{arg->type} : number);
    auto types = first_allowed(numbers, [&](const std::vector<TypeId>& in) {
      return infer_types(op, in, constrained(spec, *attrs)).ok();
    });
    return types ? of_leaves(op, spec, *attrs, args, *types) : fail();
  }

  Attrs constrained(const PatternNode::Op& spec, Attrs attrs) {
    return with_tests(spec, std::move(attrs), [this](uint64_t n) { return pick(n); });
  }

  std::optional<Value> finish(const OpDef& op, const PatternNode::Op& spec, const Attrs& attrs,
                              const std::vector<Value>& args) {
    auto complete = complete_attrs(op, constrained(spec, attrs));
    std::vector<TypeId> in;
    for (const Value& arg : args) in.push_back(arg.type);
    if (!complete.ok()) return fail();
    auto results = infer_types(op, in, *complete);
    if (!results.ok() || !op.reference || !op.reference(in, *results, *complete).ok())
      return fail();
    calls_.push_back({&op, intern(*complete), args, *results});
    return Value{{static_cast<uint32_t>(calls_.size() - 1), 0}, (*results)[0]};
  }

  Instance written() const {
    Instance out;
    Function& main = out.module.functions["main"];
    std::vector<ValueId> leaves(leaves_.size()), calls(calls_.size());
    for (bool constants : {false, true}) {
      for (size_t k = 0; k < leaves_.size(); ++k) {
        if (leaves_[k].is_constant != constants) continue;
        leaves[k] = {constants ? add_constant(out.module, main, k)
                               : main.add_param(cat("x", k), leaves_[k].type),
                     0};
        if (!constants) out.domains.push_back(leaves_[k].domain);
      }
    }
    for (size_t k = 0; k < calls_.size(); ++k) {
      std::vector<ValueId> args;
      for (const Value& arg : calls_[k].args) {
        args.push_back(arg.id.node >= kLeafBase ? leaves[arg.id.node - kLeafBase]
                                                : calls[arg.id.node]);
      }
      calls[k] = {main.add_call(calls_[k].op, calls_[k].attrs, args, calls_[k].types), 0};
      out.label += cat(k ? " " : "", calls_[k].op->name);
    }
    for (const Leaf& leaf : leaves_)
      out.label += cat(" ", leaf.is_constant ? "const " : "", leaf.type);
    main.results = {calls.back()};
    return out;
  }

  uint32_t add_constant(IRModule& module, Function& main, size_t k) const {
    const Leaf& leaf = leaves_[k];
    auto buffer = Buffer::make(static_cast<size_t>(*size_bytes(*leaf.type)), [&](std::byte* to) {
      if (!leaf.value) return fill(to, *leaf.type, leaf.domain, 100 + k);
      const size_t size = dtype_size(leaf.type->dtype);
      for (int64_t n = 0; n < *num_elements(leaf.type->shape); ++n)
        (void)parse_element(cat(*leaf.value), leaf.type->dtype, to + static_cast<size_t>(n) * size);
    });
    return main.add_constant(module.add_constant(std::move(buffer)), leaf.type);
  }

  std::mt19937_64 random_;
  InstanceStyle style_;
  bool failed_ = false;
  std::vector<Leaf> leaves_;
  std::vector<OpCall> calls_;
  std::map<std::string, Value> captured_;
  std::set<std::string> shared_;
};

}  // namespace

void for_instances_of(const Pattern& pattern, uint64_t seed, size_t tries, InstanceStyle style,
                      const std::function<bool(const Instance&)>& use) {
  std::set<std::string> seen;
  for (size_t k = 0; k < tries; ++k) {
    auto instance = Maker(seed * 1000 + k, style).make(pattern.tree().root);
    if (!instance) continue;
    const Function& main = instance->module.function("main");
    UseCounts uses(main);
    auto matches = matches_at(pattern, main, uses, static_cast<uint32_t>(main.nodes.size() - 1));
    if (matches.empty() || !seen.insert(print(main, "main")).second) continue;
    instance->ops = matches[0].nodes.size();
    if (!use(*instance)) return;
  }
}

std::vector<Instance> instances_of(const Pattern& pattern, uint64_t seed, size_t tries,
                                   size_t count, InstanceStyle style) {
  std::vector<Instance> out;
  for_instances_of(pattern, seed, tries, style, [&](const Instance& instance) {
    if (out.size() < count) out.push_back(instance);
    return out.size() < count;
  });
  return out;
}

}  // namespace byoc::conform
