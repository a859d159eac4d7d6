// SPDX-License-Identifier: Apache-2.0
// Lowers scheduled stages to loops.
#include <algorithm>
#include <map>

#include "byoc/te/rewrite.h"
#include "core/te/lower/inline.h"
#include "core/te/lower/nest.h"
#include "core/te/lower/tensorize.h"

namespace byoc::te {
namespace {

// A part of a tensor in memory of its own: index - begin, in `memory`. Along the dimension of a
// rolling buffer it is index % extent.
struct Window {
  Tensor memory;
  std::vector<Range> box;
  std::optional<Rolling> rolling;
};
using Windows = std::unordered_map<const void*, Window>;  // by tensor

// Rewrites reads and writes of tensors to their windows.
class Rebase {
 public:
  Rebase(const Windows& windows, Simplifier& simplify) : windows_(windows), simplify_(simplify) {}

  Stmt stmt(const Stmt& s) {
    if (const Store* store = s.is_empty() ? nullptr : std::get_if<Store>(&s->kind)) {
      Expr value = simplify_(expr(store->value));
      Exprs indices;
      for (const Expr& index : store->indices) indices.push_back(simplify_(expr(index)));
      auto window = windows_.find(store->tensor.id());
      if (window == windows_.end()) return make_store(store->tensor, indices, value);
      return make_store(window->second.memory, moved(window->second, indices), value);
    }
    return map_parts(
        s, [&](const Expr& x) { return simplify_(expr(x)); },
        [&](const Stmt& inner) { return stmt(inner); });
  }

 private:
  Expr expr(const Expr& x) {
    auto known = done_.find(&*x);
    if (known != done_.end()) return known->second.second;
    Expr result = map_operands(x, [&](const Expr& operand) { return expr(operand); });
    if (const auto* load = std::get_if<std::shared_ptr<const Load>>(&result->kind)) {
      auto window = windows_.find((*load)->tensor.id());
      if (window != windows_.end())
        result = window->second.memory(moved(window->second, (*load)->indices));
    }
    done_.emplace(&*x, std::pair(x, result));
    return result;
  }
  Exprs moved(const Window& window, const Exprs& indices) {
    Exprs out;
    for (size_t k = 0; k < indices.size(); ++k)
      out.push_back(simplify_(window.rolling && k == window.rolling->dim
                                  ? floor_mod(indices[k], window.box[k].extent)
                                  : indices[k] - window.box[k].begin));
    return out;
  }

  const Windows& windows_;
  Simplifier& simplify_;
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;
};

class Lowering {
 public:
  explicit Lowering(const ScheduleState& state) : state_(state), inline_(state, simplify_) {
    for (size_t s = 0; s < state.stages.size(); ++s) {
      const StageState& stage = state.stages[s];
      if (stage.place == StageState::kAt)
        hosted_[{state.numbers.at(stage.at_stage), stage.at_iter}].push_back(s);
    }
  }
  LoopFunction run();
  /// The results for the loops that tensorize names, by stage.
  const std::unordered_map<size_t, Tensorized>& tensorized() const { return tensorized_; }

 private:
  Hosted nest(size_t stage, std::vector<Range> box, const std::vector<OuterLoop>& loops);
  Stmt with_inlined(const Stmt& s);
  Stmt whole(size_t stage);
  Hosted host(size_t stage, uint32_t iter, const std::vector<OuterLoop>& loops, Stmt body);
  std::optional<Rolling> rolling(size_t stage, const std::vector<Range>& box,
                                 const std::vector<OuterLoop>& loops);
  Hosted allocate(const Windows& windows, const std::vector<size_t>& stages, Stmt body);
  std::vector<bool> needed() const;
  Stmt put_kernels(const Stmt& s);
  Stmt put_kernel(const Stmt& loop, size_t stage,
                  const std::shared_ptr<const TensorIntrin>& intrin);
  void name_outputs(LoopFunction& function, std::vector<Stmt>& copies) const;

  const ScheduleState& state_;
  Simplifier simplify_;
  Inliner inline_;
  std::unordered_map<size_t, Exprs> values_;  // of stages, with inlined ones put in
  std::map<std::pair<size_t, uint32_t>, std::vector<size_t>> hosted_;  // by stage and loop
  struct Marked {
    Var var;
    size_t stage;
    std::shared_ptr<const TensorIntrin> intrin;
  };
  std::unordered_map<const void*, Marked> marked_;  // by the variable of the outermost loop
  std::unordered_map<size_t, Tensorized> tensorized_;
};

Hosted Lowering::nest(size_t stage, std::vector<Range> box, const std::vector<OuterLoop>& loops) {
  const Stage& source = state_.dag.stages[stage];
  auto [values, is_new] = values_.try_emplace(stage);
  if (is_new) {
    for (const Expr& value : std::get<Compute>(source.kind).values)
      values->second.push_back(inline_(value));
  }
  Host host = [&](uint32_t iter, const std::vector<OuterLoop>& around, Stmt body) {
    return this->host(stage, iter, around, std::move(body));
  };
  HostsAt hosts_at = [&](uint32_t iter) { return hosted_.contains({stage, iter}); };
  Mark mark = [&](uint32_t iter, const Var& var) {
    marked_.emplace(var.id(), Marked{var, stage, state_.stages[stage].iters[iter].intrin});
  };
  const StageState& state = state_.stages[stage];
  return Nest(source, stage, state, values->second, std::move(box), simplify_, host, hosts_at, mark)
      .emit(loops);
}

// Puts in the values of inlined stages.
Stmt Lowering::with_inlined(const Stmt& s) {
  return map_parts(
      s, [&](const Expr& x) { return inline_(x); },
      [&](const Stmt& inner) { return with_inlined(inner); });
}

Stmt Lowering::whole(size_t stage) {
  const Stage& source = state_.dag.stages[stage];
  if (const Procedure* procedure = std::get_if<Procedure>(&source.kind)) {
    const bool reads_inlined = std::ranges::any_of(
        state_.stages[stage].reads,
        [&](const std::string& read) { return state_.of(read).place == StageState::kInline; });
    return reads_inlined ? with_inlined(procedure->body) : procedure->body;
  }
  std::vector<Range> box;
  for (const Expr& extent : source.outputs[0].shape()) box.push_back({0, extent});
  return nest(stage, std::move(box), {}).body;
}

// Adds the stages computed here, the last of them first, as it may read the others. The reads of
// the body determine how much of each is computed; of a rolling one, what is new.
Hosted Lowering::host(size_t stage, uint32_t iter, const std::vector<OuterLoop>& loops, Stmt body) {
  auto hosted = hosted_.find({stage, iter});
  if (hosted == hosted_.end() || body.is_empty()) return {std::move(body), {}};
  const std::vector<size_t>& stages = hosted->second;
  RegionFinder finder(simplify_);
  for (size_t s : stages) {
    for (const Tensor& output : state_.dag.stages[s].outputs) finder.watch(output, s);
  }
  finder.scan(body);
  Windows windows;
  std::vector<Stmt> parts = {std::move(body)};
  std::vector<SharedMemory> shared;
  for (size_t k = stages.size(); k-- > 0;) {
    const std::vector<Tensor>& outputs = state_.dag.stages[stages[k]].outputs;
    std::optional<std::vector<Range>> box = finder.region(stages[k], outputs[0].shape());
    if (!box) continue;
    const std::optional<Rolling> rolling = this->rolling(stages[k], *box, loops);
    const std::vector<Range>& memory = rolling ? rolling->memory : *box;
    Exprs shape;
    for (const Range& range : memory) shape.push_back(range.extent);
    for (const Tensor& output : outputs)
      windows.insert_or_assign(
          output.id(), Window{Tensor(output.name(), output.dtype(), shape), memory, rolling});
    Hosted producer = nest(stages[k], rolling ? rolling->part : *box, loops);
    finder.scan(producer.body);
    parts.push_back(std::move(producer.body));
    shared.insert(shared.end(), producer.shared.begin(), producer.shared.end());
  }
  std::reverse(parts.begin(), parts.end());
  body = make_block(std::move(parts));
  if (windows.empty()) return {std::move(body), std::move(shared)};
  Hosted out = allocate(windows, stages, Rebase(windows, simplify_).stmt(body));
  out.shared.insert(out.shared.end(), shared.begin(), shared.end());
  return out;
}

std::optional<Rolling> Lowering::rolling(size_t stage, const std::vector<Range>& box,
                                         const std::vector<OuterLoop>& loops) {
  const StageState& state = state_.stages[stage];
  if (state.rolls_along.empty()) return std::nullopt;
  const size_t host = state_.numbers.at(state.rolls_along);
  for (size_t at = 0; at < loops.size(); ++at) {
    const LoopKind kind = state_.stages[host].iters[state.rolling_iter].kind;
    if (kind != LoopKind::kParallel && loops[at].stage == host &&
        loops[at].iter == state.rolling_iter)
      return rolling_of(box, state_.dag.stages[stage].outputs[0].shape(), loops, at, simplify_);
  }
  return std::nullopt;
}

Hosted Lowering::allocate(const Windows& windows, const std::vector<size_t>& stages, Stmt body) {
  Hosted out{std::move(body), {}};
  for (size_t k = stages.size(); k-- > 0;) {
    for (const Tensor& output : state_.dag.stages[stages[k]].outputs) {
      auto found = windows.find(output.id());
      if (found == windows.end()) continue;
      const auto& [memory, box, rolling] = found->second;
      if (rolling) out.shared.push_back({rolling->loop.stage, rolling->loop.iter, memory});
      else out.body = make_alloc(memory, scope_of(memory), std::move(out.body));
    }
  }
  return out;
}

std::vector<bool> Lowering::needed() const {
  std::vector<bool> out(state_.stages.size());
  for (size_t s = out.size(); s-- > 0;) {
    out[s] = state_.stages[s].is_result;
    for (const std::string& reader : state_.stages[s].readers)
      out[s] = out[s] || out[state_.numbers.at(reader)];
  }
  return out;
}

// Makes a copy in a tensor of its own for an output that is an input, or another output once more.
void Lowering::name_outputs(LoopFunction& function, std::vector<Stmt>& copies) const {
  std::unordered_set<const void*> taken;
  for (const Tensor& input : function.inputs) taken.insert(input.id());
  for (const Tensor& from : state_.dag.outputs) {
    if (taken.insert(from.id()).second) {
      function.outputs.push_back(from);
      continue;
    }
    Tensor to(from.name() + ".copy", from.dtype(), from.shape());
    std::vector<Var> vars;
    Exprs indices;
    for (size_t k = 0; k < from.rank(); ++k) {
      vars.emplace_back(cat("i", k));
      indices.push_back(vars.back());
    }
    Stmt body = make_store(to, indices, from(indices));
    for (size_t k = from.rank(); k-- > 0;)
      body = make_for(vars[k], 0, from.shape()[k], LoopKind::kSerial, std::move(body));
    copies.push_back(std::move(body));
    function.outputs.push_back(std::move(to));
  }
}

LoopFunction Lowering::run() {
  const Dag& dag = state_.dag;
  LoopFunction out{dag.name, dag.inputs, {}, {}};
  std::vector<Stmt> copies;
  name_outputs(out, copies);
  std::unordered_set<const void*> results;
  for (const Tensor& output : out.outputs) results.insert(output.id());
  const std::vector<bool> is_needed = needed();
  Stmt body = make_block(std::move(copies));
  for (size_t s = dag.stages.size(); s-- > 0;) {
    const bool has_loops = !std::holds_alternative<Placeholder>(dag.stages[s].kind) &&
                           state_.stages[s].place == StageState::kRoot;
    if (!has_loops || !is_needed[s]) continue;
    body = make_block({whole(s), std::move(body)});
    for (const Tensor& tensor : dag.stages[s].outputs) {
      if (!results.contains(tensor.id()))
        body = make_alloc(tensor, Scope::kWorkspace, std::move(body));
    }
  }
  out.sizes = dag.sizes;
  out.body = marked_.empty() ? std::move(body) : put_kernels(body);
  return out;
}

// Puts in the calls of micro-kernels. Runs last, when every tensor has its final memory.
Stmt Lowering::put_kernels(const Stmt& s) {
  const For* loop = s.is_empty() ? nullptr : std::get_if<For>(&s->kind);
  auto marked = loop ? marked_.find(loop->var.id()) : marked_.end();
  if (marked != marked_.end()) return put_kernel(s, marked->second.stage, marked->second.intrin);
  return map_parts(
      s, [](const Expr& x) { return x; }, [&](const Stmt& inner) { return put_kernels(inner); });
}

Stmt Lowering::put_kernel(const Stmt& loop, size_t stage,
                          const std::shared_ptr<const TensorIntrin>& intrin) {
  Tensorized& outcome = tensorized_[stage];
  Result<Stmt> call = call_of(std::get<For>(loop->kind), intrin, simplify_);
  if (call.ok()) {
    ++outcome.calls;
    return *std::move(call);
  }
  if (outcome.why_not.empty()) outcome.why_not = call.status().message();
  return loop;
}

}  // namespace

Result<LoopFunction> lower(const Schedule& schedule) { return Lowering(*schedule.state_).run(); }

Tensorized try_tensorize(const ScheduleState& state, size_t stage) {
  Lowering lowering(state);
  lowering.run();
  auto outcome = lowering.tensorized().find(stage);
  if (outcome == lowering.tensorized().end()) return {0, "its loop runs once at most"};
  return outcome->second;
}

}  // namespace byoc::te
