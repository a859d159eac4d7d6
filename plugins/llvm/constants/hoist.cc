// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/constants/hoist.h"

#include <algorithm>
#include <unordered_set>

#include "byoc/base/check.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/tiling/tile.h"

namespace byoc::llvm_plugin {
namespace {

using Tensors = std::unordered_set<const void*>;  // by Tensor::id()

Tensors tensors_read(const te::Stage& stage) {
  Tensors out;
  if (auto* procedure = std::get_if<te::Procedure>(&stage.kind)) {
    for (const te::Tensor& tensor : procedure->inputs) out.insert(tensor.id());
  }
  if (auto* compute = std::get_if<te::Compute>(&stage.kind)) {
    Seen seen;
    for (const te::Expr& value : compute->values) {
      walk_expr(value, seen, [&](const te::Expr& x) {
        if (auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind))
          out.insert((*load)->tensor.id());
      });
    }
  }
  return out;
}

// Returns true for stages that are worth storing: a narrow matrix stays narrow.
bool is_of_strategy(const te::Stage& stage) {
  return std::holds_alternative<te::Compute>(stage.kind) && stage.compute != "direct" &&
         stage.role != topi::kUnpackedRole;
}

class Hoister {
 public:
  Hoister(const te::Dag& dag, size_t inputs) : dag_(dag), inputs_(inputs) {}
  std::optional<Hoisted> run();

 private:
  void find_stages();
  void fill_rest();
  void fill_constants();

  const te::Dag& dag_;
  const size_t inputs_;
  Tensors constant_;              // constants, and what is computed of them alone
  std::vector<bool> is_hoisted_;  // per stage
  Hoisted out_;
};

void Hoister::find_stages() {
  for (size_t k = inputs_; k < dag_.inputs.size(); ++k) constant_.insert(dag_.inputs[k].id());
  for (const te::Stage& stage : dag_.stages) {
    const Tensors read = tensors_read(stage);
    const bool is_constant =
        is_of_strategy(stage) &&
        std::ranges::all_of(read, [&](const void* id) { return constant_.contains(id); });
    is_hoisted_.push_back(is_constant);
    if (!is_constant) continue;
    for (const te::Tensor& output : stage.outputs) constant_.insert(output.id());
  }
}

// Keeps the stages that are not hoisted. Hoisted ones that they read become inputs.
void Hoister::fill_rest() {
  Tensors read;
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    if (!is_hoisted_[s]) read.merge(tensors_read(dag_.stages[s]));
  }
  BYOC_CHECK(is_hoisted_.size() == dag_.stages.size(), "a decision per stage, got ",
             is_hoisted_.size());
  for (const te::Tensor& output : dag_.outputs) read.insert(output.id());
  Tensors dropped;
  for (size_t k = 0; k < dag_.inputs.size(); ++k) {
    const bool is_kept = k < inputs_ || read.contains(dag_.inputs[k].id());
    if (k >= inputs_) out_.is_kept.push_back(is_kept);
    if (is_kept) out_.rest.inputs.push_back(dag_.inputs[k]);
    else dropped.insert(dag_.inputs[k].id());
  }
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    const te::Stage& stage = dag_.stages[s];
    if (!is_hoisted_[s]) {
      if (!dropped.contains(stage.outputs[0].id())) out_.rest.stages.push_back(stage);
      continue;
    }
    for (const te::Tensor& output : stage.outputs) {
      if (!read.contains(output.id())) continue;
      out_.rest.stages.push_back({output.name(), {output}, te::Placeholder(), "", "", 0});
      out_.rest.inputs.push_back(output);
      out_.constants.outputs.push_back(output);
    }
  }
  BYOC_CHECK(out_.is_kept.size() == dag_.inputs.size() - inputs_, "a fact per constant, got ",
             out_.is_kept.size());
  out_.rest.name = dag_.name;
  out_.rest.outputs = dag_.outputs;
  out_.rest.sizes = dag_.sizes;
}

void Hoister::fill_constants() {
  te::Dag& to = out_.constants;
  Tensors read;
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    if (is_hoisted_[s]) read.merge(tensors_read(dag_.stages[s]));
  }
  for (size_t k = inputs_; k < dag_.inputs.size(); ++k) {
    if (!read.contains(dag_.inputs[k].id())) continue;
    to.inputs.push_back(dag_.inputs[k]);
    out_.reads.push_back(k - inputs_);
  }
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    const te::Stage& stage = dag_.stages[s];
    const bool is_input = std::holds_alternative<te::Placeholder>(stage.kind) &&
                          std::ranges::find(to.inputs, stage.outputs[0]) != to.inputs.end();
    if (is_hoisted_[s] || is_input) to.stages.push_back(stage);
  }
  to.name = dag_.name + ".constants";
}

std::optional<Hoisted> Hoister::run() {
  BYOC_CHECK(inputs_ <= dag_.inputs.size(), inputs_, " inputs of ", dag_.inputs.size());
  find_stages();
  if (std::ranges::find(is_hoisted_, true) == is_hoisted_.end()) return std::nullopt;
  fill_rest();
  fill_constants();
  return std::move(out_);
}

}  // namespace

std::optional<Hoisted> hoist_constants(const te::Dag& dag, size_t inputs) {
  return Hoister(dag, inputs).run();
}

}  // namespace byoc::llvm_plugin
