// SPDX-License-Identifier: Apache-2.0
// Visits the nodes of a function in order, and the nodes of an invoked function in place of the
// Invoke. Each call becomes the stages of the one strategy that the selector names.
#include "byoc/translate/translate.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/visit.h"

namespace byoc::te {
namespace {

// A function that is being visited. The stages of an invoked function belong to the Invoke node.
struct Frame {
  const Function* function;
  std::vector<Tensor> params;
  uint32_t call;  // of the outermost function; of a frame below it
  uint32_t next = 0;
  std::vector<std::vector<Tensor>> values;  // of each node so far

  std::vector<Tensor> tensors(std::span<const ValueId> ids) const {
    std::vector<Tensor> out;
    for (ValueId id : ids) out.push_back(values[id.node][id.output]);
    return out;
  }
};

std::string place_of(const Function& function, uint32_t node) {
  const Symbol loc = function.nodes[node].loc;
  return loc.empty() ? cat("node ", node) : cat("node ", node, " (", loc, ")");
}

class Translator {
 public:
  Translator(const IRModule& module, const Target& target, const StrategySelector& selector,
             const StrategyTable& strategies)
      : module_(module),
        target_(target),
        selector_(selector),
        strategies_(strategies),
        builder_(target) {}

  Result<Dag> run(const Function& function) {
    for (uint32_t k = 0; k < function.num_params(); ++k) {
      BYOC_TRY_STATUS(check_dims(function, k));
      Symbol name = std::get<Param>(function.nodes[k].kind).name;
      inputs_.push_back(builder_.placeholder(name.str(), *function.nodes[k].types[0]));
    }
    std::vector<Frame> frames = {Frame{&function, inputs_, 0, 0, {}}};
    while (true) {
      Frame& top = frames.back();
      if (top.next == top.function->nodes.size()) {
        std::vector<Tensor> results = top.tensors(top.function->results);
        frames.pop_back();
        if (frames.empty()) return finish(results);
        frames.back().values.push_back(std::move(results));
        continue;
      }
      const uint32_t index = top.next++;
      BYOC_TRY_STATUS(check_dims(*top.function, index));
      BYOC_TRY_STATUS(visit(frames, index));
    }
  }

 private:
  // Collects the open sizes of a node's types, and refuses counted dims.
  Status check_dims(const Function& function, uint32_t index) {
    const Node& node = function.nodes[index];
    for (size_t k = 0; k < node.types.size(); ++k) {
      for (Dim dim : node.types[k]->shape) {
        if (dim.is_static()) continue;
        if (dim.is_counted()) return needs_number(function, index, node.types[k], dim);
        for (const te::Var& size : sizes_of({extent_of(dim)})) sizes_.emplace(size.name(), size);
      }
    }
    return {};
  }

  static Status needs_number(const Function& function, uint32_t index, TypeId type, Dim dim) {
    return unimplemented(cat(place_of(function, index), " has the type ", type, " with the dim ",
                             dim, ": bind it to a number first"))
        .with_slug("symbolic-shape");
  }

  // Removes the strategies that need numbers where a type of the site has an open dim.
  static Status keep_open(const Site& site, std::vector<Strategy>& all) {
    for (const auto* types : {&site.inputs, &site.outputs}) {
      for (TypeId type : *types) {
        const auto open = std::ranges::find_if(type->shape, [](Dim dim) { return is_open(dim); });
        if (open == type->shape.end()) continue;
        std::erase_if(all, [](const Strategy& s) { return !s.compute.takes_open; });
        if (all.empty()) return needs_number(*site.function, site.node, type, *open);
      }
    }
    return {};
  }

  // Adds the stages of one node. May push a frame, so no reference into `frames` outlives it.
  Status visit(std::vector<Frame>& frames, uint32_t index) {
    Frame& top = frames.back();
    const Function& function = *top.function;
    const Node& node = function.nodes[index];
    return std::visit(
        overloaded{
            [&](const Param&) -> Status {
              top.values.push_back({top.params[index]});
              return {};
            },
            [&](const Constant&) -> Status {
              std::string name = cat("const", constants_.size());
              constants_.push_back(builder_.placeholder(std::move(name), *node.types[0]));
              top.values.push_back({constants_.back()});
              return {};
            },
            [&](const Call& call) { return translate(frames, index, call); },
            [&](const Invoke& invoke) { return enter(frames, index, invoke); },
            [&](const Extern& external) -> Status {
              if (function.attrs.has("loops")) {
                return unimplemented(cat(place_of(function, index),
                                         " is written as loops, which byoc print shows"))
                    .with_slug("no-compute");
              }
              return unimplemented(cat(place_of(function, index), " calls the external symbol ",
                                       external.symbol, ", which has no tensor expression"))
                  .with_slug("no-compute");
            },
            [&](const Control& control) -> Status {
              return unimplemented(cat(place_of(function, index), " runs @", control.body,
                                       " under a condition, which has no tensor expression"))
                  .with_slug("no-compute");
            },
        },
        node.kind);
  }

  Status enter(std::vector<Frame>& frames, uint32_t index, const Invoke& invoke) {
    const Function* callee = module_.find(invoke.function);
    if (callee == nullptr) return not_found(cat("no function ", invoke.function, " in the module"));
    for (const Frame& frame : frames) {
      if (frame.function == callee)
        return invalid(cat("function ", invoke.function, " invokes itself"));
    }
    const Frame& top = frames.back();
    uint32_t call = frames.size() == 1 ? index : top.call;
    frames.push_back({callee, top.tensors(top.function->args(invoke.args)), call, 0, {}});
    return {};
  }

  Status translate(std::vector<Frame>& frames, uint32_t index, const Call& call) {
    Frame& top = frames.back();
    const Function& function = *top.function;
    Site site = site_of(function, index, call);
    std::vector<Strategy> all = strategies_(site);
    std::erase_if(all, [&](const Strategy& s) { return s.applies && !s.applies(site); });
    if (all.empty()) {
      return unimplemented(cat("op ", call.op->name, " has no tensor expression"))
          .with_slug("no-compute")
          .at(place_of(function, index));
    }
    BYOC_TRY_STATUS(keep_open(site, all));
    BYOC_TRY(size_t choice, selector_(site, all));
    if (choice >= all.size()) {
      return failed(cat("the selector's choice for ", call.op->name, " is number ", choice, " of ",
                        all.size()))
          .at(place_of(function, index));
    }
    builder_.begin_op(call.op->name, all[choice].name, frames.size() == 1 ? index : top.call);
    std::vector<Tensor> inputs = top.tensors(function.args(call.args));
    Result<std::vector<Tensor>> made =
        all[choice].compute(builder_, inputs, site.outputs, *call.attrs);
    if (!made.ok()) return std::move(made.status()).at(place_of(function, index));
    check_results(site, all[choice].name, *made);
    top.values.push_back(*std::move(made));
    return {};
  }

  Site site_of(const Function& function, uint32_t index, const Call& call) const {
    Site site{&function, index, call.op, call.attrs, {}, {}, {}, &target_};
    for (ValueId arg : function.args(call.args)) {
      site.inputs.push_back(function.type(arg));
      site.is_constant.push_back(std::holds_alternative<Constant>(function.nodes[arg.node].kind));
    }
    const TypeIds& types = function.nodes[index].types;
    for (size_t k = 0; k < types.size(); ++k) site.outputs.push_back(types[k]);
    return site;
  }

  // Checks the contract of a compute: one tensor per result, of the result's type.
  static void check_results(const Site& site, const std::string& name,
                            const std::vector<Tensor>& made) {
    BYOC_CHECK(made.size() == site.outputs.size(), site.op->name, ", ", name, " makes ",
               made.size(), " tensors of ", site.outputs.size());
    for (size_t k = 0; k < made.size(); ++k) {
      const Exprs expected = extents_of(*site.outputs[k]);
      const bool fits =
          made[k].dtype() == site.outputs[k]->dtype &&
          std::ranges::equal(made[k].shape(), expected, [](const Expr& own, const Expr& extent) {
            return as_int(own) == as_int(extent);  // open ones are those of the types
          });
      std::string shape;
      for (const Expr& extent : made[k].shape())
        shape += cat(shape.empty() ? "" : ",", print(extent));
      BYOC_CHECK(fits, site.op->name, ", ", name, " makes ", made[k].dtype(), "[", shape, "] for ",
                 site.outputs[k]);
    }
  }

  // Makes the Dag. Each output is written by one stage of its own, so results that are inputs, or
  // that are listed twice, are copied.
  Result<Dag> finish(const std::vector<Tensor>& results) {
    inputs_.insert(inputs_.end(), constants_.begin(), constants_.end());
    std::vector<Tensor> outputs;
    builder_.begin_op("", "", 0);
    std::unordered_set<const void*> taken;
    for (const Tensor& input : inputs_) taken.insert(input.id());
    for (const Tensor& result : results) {
      bool is_free = taken.insert(result.id()).second;
      outputs.push_back(is_free ? result
                                : builder_.compute("copy", result.shape(),
                                                   [&](const Indices& i) { return result(i); }));
    }
    Dag out = builder_.finish("main", inputs_, outputs);
    for (const auto& [name, size] : sizes_) out.sizes.push_back(size);
    return out;
  }

  const IRModule& module_;
  const Target& target_;
  const StrategySelector& selector_;
  const StrategyTable& strategies_;
  Builder builder_;
  std::vector<Tensor> inputs_, constants_;
  std::map<std::string, Var> sizes_;  // by name
};

}  // namespace

Result<Dag> translate_to_te(const IRModule& module, const Function& function, const Target& target,
                            const StrategySelector& selector, const StrategyTable& strategies) {
  BYOC_TRY(Dag dag, Translator(module, target, selector, strategies).run(function));
  dag.name = find_anchor(function).name;
  return dag;
}

}  // namespace byoc::te
