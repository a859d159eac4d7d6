// SPDX-License-Identifier: Apache-2.0
// Makes ops of libraries loops, which plugins compile that do not have the op. Calls inside of
// regions stay: their plugin takes the op.
//   before: %0 = example_swish(%x)
//   after:  loops example_swish(x: f32[8]) -> (y: f32[8]) { ... }
//           %0 = @example_swish(%x)
// Equal calls share one function.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "byoc/extend/loops.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/visit.h"
#include "byoc/op/added.h"
#include "byoc/te/module.h"
#include "byoc/te/rewrite.h"
#include "byoc/te/simplify.h"
#include "byoc/te/target.h"
#include "byoc/translate/translate.h"
#include "core/codegen/choose/loops_in_place.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

const std::string kOpAttrPrefix = cat(kLibraryOpAttr, "_");

void set_library_op(Function& loops, const Call& call) {
  loops.attrs.set(kLibraryOpAttr, call.op->name);
  for (const auto& [name, value] : *call.attrs) loops.attrs.set(cat(kOpAttrPrefix, name), value);
}

// Notes the variables of a sum of variables with constant factors. Returns false for other
// expressions, and for those that have a variable twice: their bounds would not be exact.
bool add_variables(const te::Expr& x, std::set<const void*>& variables) {
  if (const auto* var = std::get_if<te::VarRef>(&x->kind))
    return variables.insert(var->var.id()).second;
  const auto* two = std::get_if<te::Binary>(&x->kind);
  if (two == nullptr) return te::as_int(x).has_value();
  const bool is_sum = two->op == te::BinaryOp::kAdd || two->op == te::BinaryOp::kSubtract;
  const bool is_factor =
      two->op == te::BinaryOp::kMultiply && (te::as_int(two->a) || te::as_int(two->b));
  return (is_sum || is_factor) && add_variables(two->a, variables) &&
         add_variables(two->b, variables);
}

Status check_load(const te::Load& load, const te::Ranges& ranges) {
  for (size_t k = 0; k < load.indices.size(); ++k) {
    std::set<const void*> variables;
    const auto extent = te::as_int(load.tensor.shape()[k]);
    if (!extent || !add_variables(load.indices[k], variables)) continue;
    if (!std::ranges::all_of(variables, [&](const void* one) { return ranges.contains(one); }))
      continue;
    const te::Interval range = te::bounds_of(load.indices[k], ranges);
    if (range.lo >= 0 && range.hi < *extent) continue;
    return failed(cat("reads ", load.tensor.name(), " at ", range.lo, " to ", range.hi,
                      " of dimension ", k, ", which has ", *extent, " elements"));
  }
  return {};
}

// Checks the reads that no condition guards: loops of them would leave their tensors.
Status check_reads(const te::Compute& compute) {
  te::Ranges ranges;
  for (const auto* axes : {&compute.axes, &compute.reduce}) {
    for (const te::Axis& axis : *axes) {
      const auto extent = te::as_int(axis.extent);
      if (!extent || *extent == 0) return {};
      ranges[axis.var.id()] = {0, *extent - 1};
    }
  }
  Status status;
  std::unordered_set<const void*> seen;
  std::vector<te::Expr> open = compute.values;
  while (!open.empty() && status.ok()) {
    const te::Expr x = open.back();
    open.pop_back();
    if (!seen.insert(&*x).second || std::holds_alternative<te::Select>(x->kind)) continue;
    if (const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind))
      status = check_load(**load, ranges);
    te::map_operands(x, [&](const te::Expr& operand) {
      open.push_back(operand);
      return operand;
    });
  }
  return status;
}

Status check_reads(const te::Dag& dag, const std::string& op) {
  for (const te::Stage& stage : dag.stages) {
    const auto* compute = std::get_if<te::Compute>(&stage.kind);
    Status status = compute == nullptr ? Status() : check_reads(*compute);
    if (!status.ok())
      return failed(cat("the compute of the op ", op, " ", status.message(), ", in its stage ",
                        stage.name))
          .with_slug("library-fault")
          .with_help("correct the library");
  }
  return {};
}

bool has_open_type(const Function& function) {
  return std::ranges::any_of(function.nodes, [](const Node& node) {
    for (size_t k = 0; k < node.types.size(); ++k)
      if (!is_static(node.types[k]->shape)) return true;
    return false;
  });
}

// Puts the least, or the largest, numbers in the place of open sizes.
Result<Function> with_numbers(const Function& function, bool is_least) {
  Function out = function;
  for (Node& node : out.nodes) {
    std::vector<TypeId> types;
    for (size_t k = 0; k < node.types.size(); ++k) {
      TensorType type = *node.types[k];
      for (Dim& dim : type.shape) {
        if (!is_open(dim)) continue;
        BYOC_TRY(dim, with_sizes(dim, [&](Dim size) -> std::optional<Dim> {
                   return Dim(is_least ? size.min() : size.max());
                 }));
      }
      types.push_back(type);
    }
    node.types = types;
  }
  return out;
}

class AddedLoops {
 public:
  AddedLoops(IRModule module, te::Target target)
      : module_(std::move(module)), target_(std::move(target)) {}

  Result<IRModule> run() {
    std::vector<Symbol> names;
    for (const auto& [name, function] : module_.functions) {
      const Attrs& attrs = function.attrs;
      if (!attrs.has("composite") && !attrs.has("primitive") && !attrs.has("compiler"))
        names.push_back(name);
    }
    for (Symbol name : names) BYOC_TRY_STATUS(replace_calls(name));
    return std::move(module_);
  }

 private:
  static const Call* added_call(const Node& node) {
    const auto* call = std::get_if<Call>(&node.kind);
    return call != nullptr && is_added(*call->op) && call->op->compute ? call : nullptr;
  }

  Status replace_calls(Symbol name) {
    const Function function = module_.function(name);
    if (std::ranges::none_of(function.nodes, added_call)) return {};
    BYOC_TRY(const Annotations annotations, read_annotations(function, name));
    Rewriter rewriter(function);
    for (uint32_t k = 0; k < function.nodes.size(); ++k) {
      const Node& node = function.nodes[k];
      if (added_call(node) == nullptr || annotations.region_of[k] != kOutside) {
        rewriter.copy(k);
        continue;
      }
      Result<Symbol> loops = loops_of(function, k);
      if (!loops.ok())
        return std::move(loops.status()).at(cat("@", name, " ", node_name(function, k)));
      rewriter.replace(
          k, rewriter.to().add_invoke(*loops, rewriter.mapped_args(k), node.types, node.loc));
    }
    module_.function(name) = std::move(rewriter).finish();
    return {};
  }

  // Returns the function of loops for a call, whose operands are its parameters.
  Result<Symbol> loops_of(const Function& function, uint32_t index) {
    const Node& node = function.nodes[index];
    const Call& call = std::get<Call>(node.kind);
    std::string key = cat(call.op->name, " ", *call.attrs);
    for (ValueId arg : function.args(node)) key += cat(" ", function.type(arg));
    auto [at, is_new] = known_.try_emplace(std::move(key));
    if (!is_new) return at->second;
    Function alone;
    std::vector<ValueId> params;
    for (ValueId arg : function.args(node))
      params.push_back({alone.add_param(cat("x", params.size()), function.type(arg)), 0});
    const uint32_t now = alone.add_copy(node, params);
    for (uint32_t k = 0; k < node.types.size(); ++k) alone.results.push_back({now, k});
    if (!call.op->compute.takes_open && has_open_type(alone))
      return unimplemented(cat("the op ", call.op->name, " of a library has open sizes here, ",
                               key.substr(key.rfind(' ') + 1), ", and its `compute` takes numbers"))
          .with_slug("loops-type")
          .with_help(
              "wrap the compute in with_open_sizes(), which gives it extents as expressions; or "
              "give each size as a number, --shape N=1,4,16, or use a plugin that takes the op");
    const Symbol name = module_.unique_name(call.op->name);
    module_.functions.emplace(name, std::move(alone));
    BYOC_TRY(te::Dag dag,
             te::translate_to_te(module_, module_.function(name), target_, te::by_level()));
    BYOC_TRY_STATUS(check_all_reads(dag, module_.function(name), call.op->name));
    BYOC_TRY(te::LoopFunction loops, te::lower(te::Schedule(dag)));
    BYOC_TRY(Function made, loops_in_place_of(module_, name, loops));
    set_library_op(made, call);
    module_.function(name) = std::move(made);
    return at->second = name;
  }

  // Checks that reads are inside of their tensors: open sizes are at their least and at their most.
  Status check_all_reads(const te::Dag& dag, const Function& call, const std::string& op) {
    if (dag.sizes.empty()) return check_reads(dag, op);
    for (bool is_least : {true, false}) {
      BYOC_TRY(const Function exact, with_numbers(call, is_least));
      BYOC_TRY(te::Dag of_numbers, te::translate_to_te(module_, exact, target_, te::by_level()));
      BYOC_TRY_STATUS(check_reads(of_numbers, op));
    }
    return {};
  }

  IRModule module_;
  te::Target target_;
  std::map<std::string, Symbol> known_;
};

}  // namespace

Function with_library_op(const Function& function) {
  const std::string name = function.attrs.s(kLibraryOpAttr);
  const OpDef* op = name.empty() ? nullptr : all_ops().find(name);
  if (op == nullptr) return function;
  Function out;
  Attrs of_op;
  for (const auto& [key, value] : function.attrs) {
    const std::string& text = key.str();
    if (text.starts_with(kOpAttrPrefix)) of_op.set(text.substr(kOpAttrPrefix.size()), value);
    else if (text != "loops" && text != kLibraryOpAttr) out.attrs.set(key, value);
  }
  std::vector<ValueId> args;
  for (uint32_t k = 0; k < function.num_params(); ++k)
    args.push_back(
        {out.add_param(std::get<Param>(function.nodes[k].kind).name, function.nodes[k].types[0]),
         0});
  out.add_call(op, intern(std::move(of_op)), args, function.nodes.back().types);
  out.results = function.results;  // both have the parameters and one node
  return out;
}

Result<IRModule> make_added_loops(IRModule module, const PassContext& context) {
  const bool has_added = std::ranges::any_of(module.functions, [](const auto& item) {
    return std::ranges::any_of(item.second.nodes, [](const Node& node) {
      const auto* call = std::get_if<Call>(&node.kind);
      return call != nullptr && is_added(*call->op);
    });
  });
  if (!has_added || context.option("added_ops") == "reference") return module;
  BYOC_TRY(te::Target target,
           te::parse_target(context.target_json == "{}" ? "native" : context.target_json));
  target.threads = std::max(context.threads, 1U);
  return AddedLoops(std::move(module), std::move(target)).run();
}

}  // namespace byoc
