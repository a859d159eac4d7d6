// SPDX-License-Identifier: Apache-2.0
#include "core/te/lower/nest.h"

#include <algorithm>

#include "byoc/te/rewrite.h"

namespace byoc::te {
namespace {

constexpr int64_t kStackBytes = 4096;

// Appends the positions of all loops that `iter` became.
void add_leaves(const StageState& state, uint32_t iter, std::vector<size_t>& positions) {
  if (std::optional<size_t> at = position_of(state, iter)) positions.push_back(*at);
  for (const Relation& r : state.relations) {
    if (r.is_split && r.whole == iter) {
      add_leaves(state, r.outer, positions);
      add_leaves(state, r.inner, positions);
    }
    if (!r.is_split && (r.outer == iter || r.inner == iter)) add_leaves(state, r.whole, positions);
  }
}

// Returns `s` with an expression for a variable.
Stmt with_value(const Stmt& s, const Var& var, const Expr& value) {
  Substitution substitute({{var.id(), value}});
  auto put = [&](auto& self, const Stmt& inner) -> Stmt {
    return map_parts(inner, substitute, [&](const Stmt& part) { return self(self, part); });
  };
  return put(put, s);
}

}  // namespace

bool has_condition(const Stmt& s) {
  if (s.is_empty()) return false;
  bool found = std::holds_alternative<If>(s->kind);
  map_parts(
      s, [](const Expr& x) { return x; },
      [&](const Stmt& inner) {
        found = found || has_condition(inner);
        return inner;
      });
  return found;
}

Scope scope_of(const Tensor& memory) {
  auto bytes = static_cast<int64_t>(dtype_size(memory.dtype()));
  for (const Expr& extent : memory.shape()) {
    const std::optional<int64_t> count = as_int(extent);
    if (!count || *count > kStackBytes) return Scope::kWorkspace;
    bytes *= *count;
    if (bytes > kStackBytes) return Scope::kWorkspace;
  }
  return Scope::kStack;
}

Nest::Nest(const Stage& stage, size_t number, const StageState& state, Exprs values,
           std::vector<Range> box, Simplifier& simplify, Host host, HostsAt hosts_at, Mark mark)
    : stage_(stage),
      number_(number),
      compute_(std::get<Compute>(stage.kind)),
      state_(state),
      values_(std::move(values)),
      box_(std::move(box)),
      simplify_(simplify),
      host_(std::move(host)),
      hosts_at_(std::move(hosts_at)),
      mark_(std::move(mark)) {
  for (const Relation& r : state_.relations) parts_.push_back(r.is_split && stays_outside(r));
}

bool Nest::stays_outside(const Relation& r) const {
  std::vector<size_t> outer, inner;
  add_leaves(state_, r.outer, outer);
  add_leaves(state_, r.inner, inner);
  return *std::max_element(outer.begin(), outer.end()) <
         *std::min_element(inner.begin(), inner.end());
}

Hosted Nest::emit(std::vector<OuterLoop> around) {
  Frame frame;
  frame.loops = std::move(around);
  frame.values.resize(state_.iters.size());
  frame.extents = root_extents(compute_, state_);
  for (size_t k = 0; k < box_.size(); ++k) frame.extents[k] = box_[k].extent;
  frame.is_settled.resize(state_.relations.size());
  frame.bases.resize(state_.relations.size());
  frame.known.resize(state_.iters.size());
  find_extents(frame);
  Stmt body = loops(0, std::move(frame));
  return {std::move(body), std::move(shared_)};
}

// Returns true for a split whose last iteration is shorter and that is not settled yet.
bool Nest::is_open(const Frame& frame, size_t relation) const {
  const Relation& r = state_.relations[relation];
  return r.is_split && !frame.is_settled[relation] && !frame.extents[r.whole].is_empty();
}

// Returns true for an open split whose last iteration gets loops of its own. An extent that is not
// constant has a condition instead.
bool Nest::has_parts(const Frame& frame, size_t relation) const {
  return parts_[relation] && is_open(frame, relation) &&
         as_int(frame.extents[state_.relations[relation].whole]);
}

void Nest::split_extent(Frame& frame, size_t relation) const {
  const Relation& r = state_.relations[relation];
  Exprs& extents = frame.extents;
  const std::optional<int64_t> whole = as_int(extents[r.whole]);
  if (!whole && is_of_sizes(extents[r.whole])) return split_open_extent(frame, relation);
  if (!whole) {
    extents[r.outer] = simplify_(floor_div(extents[r.whole] + (r.factor - 1), r.factor));
    extents[r.inner] = r.factor;
    return;
  }
  extents[r.outer] = std::max<int64_t>((*whole + r.factor - 1) / r.factor, 1);
  const bool has_rest = *whole > r.factor && *whole % r.factor != 0;
  if (!has_rest) settle(frame, relation, std::min(*whole, r.factor));
  else if (!parts_[relation]) extents[r.inner] = r.factor;
}

void Nest::settle(Frame& frame, size_t relation, const Expr& inner) const {
  frame.extents[state_.relations[relation].inner] = inner;
  frame.is_settled[relation] = true;
}

void Nest::find_extents(Frame& frame) const {
  for (size_t k = 0; k < state_.relations.size(); ++k) {
    const Relation& r = state_.relations[k];
    Exprs& extents = frame.extents;
    if (r.is_split) {
      if (!extents[r.whole].is_empty() && extents[r.outer].is_empty()) split_extent(frame, k);
    } else if (!extents[r.outer].is_empty() && !extents[r.inner].is_empty()) {
      extents[r.whole] = simplify_(extents[r.outer] * extents[r.inner]);
    }
  }
}

// Computes the axes from the loops: relations are undone in reverse order.
void Nest::find_values(Frame& frame) const {
  for (size_t k = state_.relations.size(); k-- > 0;) {
    const Relation& r = state_.relations[k];
    Exprs& values = frame.values;
    if (!r.is_split && !values[r.whole].is_empty()) {
      // The quotient by an open extent is not known to be 0 without this.
      const bool is_inner = as_int(frame.extents[r.outer]) == 1;
      const Expr whole = values[r.whole], inner = frame.extents[r.inner];
      values[r.outer] = is_inner ? Expr(0) : simplify_(floor_div(whole, inner));
      values[r.inner] = is_inner ? whole : simplify_(floor_mod(whole, inner));
      for (uint32_t iter : {r.outer, r.inner})
        if (!frame.known[iter].is_empty()) values[iter] = frame.known[iter];
    }
    if (!frame.bases[k].is_empty() && !values[r.inner].is_empty())
      values[r.whole] = simplify_(frame.bases[k] + values[r.inner]);
    else if (r.is_split && !values[r.outer].is_empty() && !values[r.inner].is_empty())
      values[r.whole] = simplify_(values[r.outer] * r.factor + values[r.inner]);
  }
}

// Returns the frames of the iterations before the last one of the outer loop, and of the last one.
std::pair<Nest::Frame, Nest::Frame> Nest::parted(const Frame& frame, size_t relation) const {
  const Relation& r = state_.relations[relation];
  std::pair<Frame, Frame> out(frame, frame);
  settle(out.first, relation, r.factor);
  settle(out.second, relation, *as_int(frame.extents[r.whole]) % r.factor);
  find_extents(out.first);
  find_extents(out.second);
  return out;
}

// Returns true for a loop before which the reduction is initialised: the first reduce loop, or a
// micro-kernel, which has no place for it inside.
bool Nest::begins_reduction(uint32_t iter) const {
  const Iter& loop = state_.iters[iter];
  return loop.is_reduce || (loop.intrin && !compute_.reduce.empty());
}

Stmt Nest::loops(size_t position, Frame frame) {
  if (position == state_.leaves.size()) return leaf(frame);
  const uint32_t iter = state_.leaves[position];
  if (frame.is_init && state_.iters[iter].is_reduce) return loops(position + 1, std::move(frame));
  if (!frame.is_init && begins_reduction(iter) && !std::exchange(frame.is_initialised, true)) {
    Frame init = frame;
    init.is_init = true;
    Stmt first = loops(position, std::move(init));
    return make_block({std::move(first), loops(position, std::move(frame))});
  }
  const bool is_shared = state_.iters[iter].kind == LoopKind::kParallel;  // its last part, too
  for (size_t k = 0; k < state_.relations.size() && !is_shared; ++k) {
    if (state_.relations[k].outer != iter) continue;
    if (has_open_parts(frame, k)) return open_parts(position, frame, k);
    if (!has_parts(frame, k)) continue;
    const int64_t count =
        *as_int(frame.extents[state_.relations[k].whole]) / state_.relations[k].factor;
    auto [most, last] = parted(frame, k);
    Stmt first = range(position, std::move(most), 0, count);
    return make_block({std::move(first), range(position, std::move(last), count, 1)});
  }
  if (std::optional<Stmt> terms = open_terms(position, frame)) return *std::move(terms);
  const Expr count = frame.extents[iter];
  return range(position, std::move(frame), 0, count);
}

Stmt Nest::range(size_t position, Frame frame, const Expr& begin, const Expr& count) {
  const uint32_t iter = state_.leaves[position];
  const std::optional<int64_t> known = as_int(count);
  if (known && *known <= 0) return {};
  const bool hosts = !frame.is_init;
  auto host = [&](const std::vector<OuterLoop>& around, Frame inner) {
    return by_case(std::move(inner), [&](Frame one) {
      Stmt body = inside(position, std::move(one));
      if (!hosts) return body;
      Hosted hosted = host_(iter, around, std::move(body));
      shared_.insert(shared_.end(), hosted.shared.begin(), hosted.shared.end());
      return std::move(hosted.body);
    });
  };
  if (known == 1) {
    frame.values[iter] = begin;
    std::vector<OuterLoop> around = frame.loops;
    if (frame.is_conditional) around.push_back({number_, iter, Var(""), begin, false});
    return host(around, std::move(frame));
  }
  if (state_.iters[iter].kind == LoopKind::kVectorized && is_of_sizes(count))
    return open_vectors(position, frame, count);
  Var var(state_.iters[iter].name);
  // One that is always 0 would be left out of what holds inside of the loop alone.
  const int64_t least = known ? 0 : 1;
  simplify_.set(var, {0, std::max(simplify_.bounds(count).hi - 1, least)});
  assume_of_loop(frame, iter, var, count);
  frame.values[iter] = var;
  const bool is_steady =
      known && !frame.is_conditional && state_.iters[iter].kind != LoopKind::kParallel;
  frame.loops.push_back({number_, iter, var, begin, is_steady});
  frame.is_conditional = false;
  const std::vector<OuterLoop> around = frame.loops;
  Stmt body = host(around, std::move(frame));
  if (hosts && state_.iters[iter].intrin) mark_(iter, var);
  LoopKind kind = state_.iters[iter].kind;
  const bool is_written_out = kind == LoopKind::kVectorized || kind == LoopKind::kUnrolled;
  if (is_written_out && !known) kind = LoopKind::kSerial;  // rows that are new
  if (kind == LoopKind::kVectorized && has_condition(body)) kind = LoopKind::kSerial;
  return put_shared(iter, make_for(std::move(var), begin, count, kind, std::move(body)));
}

Stmt Nest::put_shared(uint32_t iter, Stmt loop) {
  for (size_t k = shared_.size(); k-- > 0;) {
    if (shared_[k].stage != number_ || shared_[k].iter != iter) continue;
    const Tensor memory = shared_[k].tensor;
    loop = make_alloc(memory, scope_of(memory), std::move(loop));
    shared_.erase(shared_.begin() + static_cast<ptrdiff_t>(k));
  }
  return loop;
}

// Returns true for a loop of which another was made that runs: its value is within its extent.
bool Nest::is_of_fused(uint32_t iter) const {
  return std::ranges::any_of(state_.relations, [&](const Relation& r) {
    const bool is_part = !r.is_split && (r.outer == iter || r.inner == iter);
    return is_part && (position_of(state_, r.whole) || is_of_fused(r.whole));
  });
}

// Puts both under a condition. The value of a loop that was fused is a quotient or a remainder, for
// which no range can be set: it has a name while the statements are made. Otherwise the boxes of
// stages that are computed inside would have to fit for all of its values.
Stmt Nest::by_condition(size_t position, const Expr& is_most, Frame most, Frame last,
                        const Relation& relation, int64_t count) {
  most.is_conditional = last.is_conditional = true;
  const Expr outer = most.values[relation.outer];
  auto up_to = [&](int64_t greatest, Frame frame) {
    if (!is_of_fused(relation.outer)) return inside(position, std::move(frame));
    const Var name(state_.iters[relation.outer].name);
    simplify_.set(name, {0, std::max<int64_t>(greatest, 1)});  // one that is always 0 is left out
    frame.known[relation.outer] = name;
    return with_value(inside(position, std::move(frame)), name, outer);
  };
  Stmt yes = up_to(count - 1, std::move(most));
  return make_if(is_most, std::move(yes), up_to(count, std::move(last)));
}

// Makes the body of the loop at `position`, whose value is known now.
Stmt Nest::inside(size_t position, Frame frame) {
  find_values(frame);
  for (size_t k = 0; k < state_.relations.size(); ++k) {
    const Expr outer = frame.values[state_.relations[k].outer];
    if (outer.is_empty() || !has_parts(frame, k)) continue;
    const int64_t count =
        *as_int(frame.extents[state_.relations[k].whole]) / state_.relations[k].factor;
    auto [most, last] = parted(frame, k);
    const Expr is_most = simplify_(outer < count);
    if (std::optional<int64_t> truth = as_int(is_most))
      return inside(position, std::move(*truth ? most : last));
    return by_condition(position, is_most, std::move(most), std::move(last), state_.relations[k],
                        count);
  }
  const Expr condition = guards(frame);
  frame.is_conditional |= !condition.is_empty();
  Stmt body = loops(position + 1, std::move(frame));
  return condition.is_empty() ? body : make_if(condition, std::move(body));
}

// Returns the conditions on the values known so far; empty when there is none.
Expr Nest::guards(Frame& frame) const {
  Expr all;
  for (size_t k = 0; k < state_.relations.size(); ++k) {
    const Relation& r = state_.relations[k];
    if (has_parts(frame, k) || !is_open(frame, k) || frame.values[r.whole].is_empty()) continue;
    frame.is_settled[k] = true;
    const Expr holds = simplify_(frame.values[r.whole] < frame.extents[r.whole]);
    if (as_int(holds) == 1) continue;
    all = all.is_empty() ? holds : all && holds;
  }
  return all;
}

Stmt Nest::leaf(const Frame& frame) {
  VarMap vars;
  Exprs indices;
  for (size_t k = 0; k < compute_.axes.size(); ++k) {
    indices.push_back(simplify_(box_[k].begin + frame.values[k]));
    vars[compute_.axes[k].var.id()] = indices.back();
  }
  if (frame.is_init) return store_all(indices, compute_.combiner.identity);
  for (size_t k = 0; k < compute_.reduce.size(); ++k)
    vars[compute_.reduce[k].var.id()] = frame.values[compute_.axes.size() + k];
  Substitution substitute(std::move(vars));
  Exprs values;
  for (const Expr& value : values_) values.push_back(simplify_(substitute(value)));
  return compute_.reduce.empty() ? store_all(indices, values) : combine(indices, values);
}

Stmt Nest::store_all(const Exprs& indices, const Exprs& values) {
  std::vector<Stmt> stores;
  for (size_t k = 0; k < values.size(); ++k)
    stores.push_back(make_store(stage_.outputs[k], indices, values[k]));
  return make_block(std::move(stores));
}

// Combines and stores. Every combined value is computed before the first is stored, because the
// combiner may read them all.
Stmt Nest::combine(const Exprs& indices, const Exprs& terms) {
  VarMap operands;
  const Combiner& combiner = compute_.combiner;
  for (size_t k = 0; k < terms.size(); ++k) {
    operands[combiner.lhs[k].id()] = stage_.outputs[k](indices);
    operands[combiner.rhs[k].id()] = terms[k];
  }
  Substitution substitute(std::move(operands));
  Exprs results, values;
  for (const Expr& result : combiner.result) results.push_back(simplify_(substitute(result)));
  if (results.size() == 1) return make_store(stage_.outputs[0], indices, results[0]);
  std::vector<Var> vars;
  for (const Expr& result : results) {
    vars.emplace_back(cat("combined", vars.size()), result.dtype());
    values.push_back(vars.back());
  }
  Stmt body = store_all(indices, values);
  for (size_t k = results.size(); k-- > 0;) body = make_let(vars[k], results[k], std::move(body));
  return body;
}

}  // namespace byoc::te
