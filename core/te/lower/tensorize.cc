// SPDX-License-Identifier: Apache-2.0
// Replaces a nest of loops by the call of a micro-kernel: the same expression, up to the order of
// operands of sums and products, on places that move with the loops as the declared ones do.
#include "core/te/lower/tensorize.h"

#include <algorithm>
#include <numeric>

#include "byoc/te/rewrite.h"
#include "core/te/lower/declaration.h"

namespace byoc::te {
namespace {

struct PerfectNest {
  std::vector<const For*> loops;  // outermost first
  const Store* store = nullptr;
};

Result<PerfectNest> perfect_nest(const For& outermost) {
  PerfectNest out;
  for (const For* loop = &outermost; loop;) {
    out.loops.push_back(loop);
    const Stmt& body = loop->body;
    loop = body.is_empty() ? nullptr : std::get_if<For>(&body->kind);
    if (loop) continue;
    if (!body.is_empty() && std::holds_alternative<If>(body->kind))
      return invalid("a condition is inside its loops");
    out.store = body.is_empty() ? nullptr : std::get_if<Store>(&body->kind);
    if (out.store == nullptr) return invalid("its loops hold more than one statement");
  }
  return out;
}

using Bindings = std::unordered_map<const void*, const Load*>;  // by declared tensor

// Returns true when `x` is the declared expression; each declared tensor matches one load.
bool unify(const Expr& declared, const Expr& x, Bindings& bindings);

bool unify_load(const Load& declared, const Load& x, Bindings& bindings) {
  auto [known, is_new] = bindings.try_emplace(declared.tensor.id(), &x);
  if (is_new) return true;
  const Load& before = *known->second;
  return before.tensor == x.tensor &&
         std::equal(before.indices.begin(), before.indices.end(), x.indices.begin(),
                    x.indices.end(), structural_equal);
}

bool unify_binary(const Binary& declared, const Binary& x, Bindings& bindings) {
  if (declared.op != x.op) return false;
  Bindings as_written = bindings;
  if (unify(declared.a, x.a, as_written) && unify(declared.b, x.b, as_written)) {
    bindings = std::move(as_written);
    return true;
  }
  const bool commutes = x.op == BinaryOp::kAdd || x.op == BinaryOp::kMultiply;
  return commutes && unify(declared.a, x.b, bindings) && unify(declared.b, x.a, bindings);
}

bool unify(const Expr& declared, const Expr& x, Bindings& bindings) {
  if (declared.dtype() != x.dtype() || declared->kind.index() != x->kind.index()) return false;
  return std::visit(
      overloaded{
          [&](const IntImm&) { return structural_equal(declared, x); },
          [&](const FloatImm&) { return structural_equal(declared, x); },
          [&](const VarRef&) { return false; },
          [&](const Unary& v) {
            const Unary& y = std::get<Unary>(x->kind);
            return v.op == y.op && unify(v.x, y.x, bindings);
          },
          [&](const Binary& v) { return unify_binary(v, std::get<Binary>(x->kind), bindings); },
          [&](const Select& v) {
            const Select& y = std::get<Select>(x->kind);
            return unify(v.condition, y.condition, bindings) && unify(v.yes, y.yes, bindings) &&
                   unify(v.no, y.no, bindings);
          },
          [&](const Cast& v) { return unify(v.x, std::get<Cast>(x->kind).x, bindings); },
          [&](const Bitcast& v) { return unify(v.x, std::get<Bitcast>(x->kind).x, bindings); },
          [&](const std::shared_ptr<const Load>& v) {
            return unify_load(*v, *std::get<std::shared_ptr<const Load>>(x->kind), bindings);
          },
      },
      declared->kind);
}

// The place where an access begins, and the number of elements by which it moves with each loop.
struct Steps {
  Place first;
  std::vector<int64_t> by_loop;
};

class Matcher {
 public:
  Matcher(const PerfectNest& nest, const std::shared_ptr<const TensorIntrin>& intrin,
          Simplifier& simplify)
      : nest_(nest),
        intrin_(intrin),
        axes_(axes_of(*intrin)),
        place_axes_(place_axes(*intrin)),
        simplify_(simplify) {}

  Result<Stmt> match() {
    if (nest_.loops.size() != axes_.size())
      return invalid(
          cat(intrin_->name, " needs ", axes_.size(), " loops, found ", nest_.loops.size()));
    BYOC_TRY_STATUS(find_places());
    std::vector<size_t> order(axes_.size());  // the loop of each axis
    std::iota(order.begin(), order.end(), size_t{0});
    Status why;  // the error of the order that comes closest
    size_t most = 0;
    do {
      size_t passed = 0;
      Status here = check(order, passed);
      if (here.ok()) return call(order);
      if (why.ok() || passed > most) why = std::move(here), most = passed;
    } while (std::next_permutation(order.begin(), order.end()));
    return why;
  }

 private:
  Status find_places();
  Result<Steps> steps_of(const Tensor& tensor, const Exprs& indices);
  Expr offset_of(const Tensor& tensor, const Exprs& indices);
  Status check_extents(const std::vector<size_t>& order) const;
  Status check(const std::vector<size_t>& order, size_t& passed) const;
  Status check_step(size_t place, size_t axis, const std::vector<size_t>& order) const;
  Stmt call(const std::vector<size_t>& order) const;
  std::optional<size_t> dimension_of(size_t place, size_t axis) const;

  const PerfectNest& nest_;
  const std::shared_ptr<const TensorIntrin>& intrin_;
  const std::vector<Axis> axes_;
  const std::vector<std::vector<Var>> place_axes_;
  Simplifier& simplify_;
  std::vector<Steps> places_;  // inputs, then the output
};

Status Matcher::find_places() {
  const Store& store = *nest_.store;
  const Expr declared = simplify(stored_value(*intrin_));
  Bindings bindings;
  if (!unify(declared, store.value, bindings) ||
      store.tensor.dtype() != output_of(*intrin_).dtype())
    return invalid(cat("it computes ", print(store.value), ", and ", intrin_->name, " computes ",
                       print(declared)));
  for (const Tensor& input : intrin_->dag.inputs) {
    const Load& load = *bindings.at(input.id());
    if (load.tensor == store.tensor)
      return invalid(cat(load.tensor.name(), " is read and written"));
    BYOC_TRY(Steps steps, steps_of(load.tensor, load.indices));
    places_.push_back(std::move(steps));
  }
  auto held = bindings.find(output_of(*intrin_).id());
  if (held != bindings.end() && !(held->second->tensor == store.tensor))
    return invalid(
        cat("it adds to ", held->second->tensor.name(), " and writes to ", store.tensor.name()));
  BYOC_TRY(Steps steps, steps_of(store.tensor, store.indices));
  places_.push_back(std::move(steps));
  return {};
}

Expr Matcher::offset_of(const Tensor& tensor, const Exprs& indices) {
  Expr out = 0;
  for (size_t k = 0; k < indices.size(); ++k) out = out * tensor.shape()[k] + indices[k];
  return simplify_(out);
}

// Writes the place as a constant multiple of each loop's variable; the rest must not
// depend on the loops.
Result<Steps> Matcher::steps_of(const Tensor& tensor, const Exprs& indices) {
  VarMap zeros;
  for (const For* loop : nest_.loops) zeros[loop->var.id()] = 0;
  Steps out{{tensor, {}}, {}};
  Substitution at_zero(zeros);
  for (const Expr& index : indices) out.first.indices.push_back(simplify_(at_zero(index)));
  const Expr offset = offset_of(tensor, indices), first = offset_of(tensor, out.first.indices);
  Expr rest = offset - first;
  for (const For* loop : nest_.loops) {
    VarMap one = zeros;
    one[loop->var.id()] = 1;
    const std::optional<int64_t> step =
        as_int(simplify_(simplify_(Substitution(std::move(one))(offset)) - first));
    if (!step)
      return invalid(
          cat("the place of ", tensor.name(), " moves by no constant along ", loop->var.name()));
    out.by_loop.push_back(*step);
    rest = rest - Expr(loop->var) * *step;
  }
  if (as_int(simplify_(rest)) != 0)
    return invalid(cat("the place of ", tensor.name(), " is no sum of multiples of the loops"));
  return out;
}

Status Matcher::check_extents(const std::vector<size_t>& order) const {
  std::unordered_map<const void*, Expr> sizes;  // of the declaration's variables
  for (size_t a = 0; a < axes_.size(); ++a) {
    const For& loop = *nest_.loops[order[a]];
    const Expr& expected = axes_[a].extent;
    bool fits = as_int(loop.begin) == 0;
    if (const VarRef* size = std::get_if<VarRef>(&expected->kind)) {
      auto [known, is_new] = sizes.try_emplace(size->var.id(), loop.extent);
      fits = fits && structural_equal(known->second, loop.extent);
    } else {
      fits = fits && structural_equal(expected, loop.extent);
    }
    if (!fits)
      return invalid(cat("no order of its loops has the extents of ", intrin_->name, ": ",
                         loop.var.name(), " runs ", print(loop.extent), " times, ",
                         axes_[a].var.name(), " ", print(expected), " times"));
  }
  return {};
}

std::optional<size_t> Matcher::dimension_of(size_t place, size_t axis) const {
  const std::vector<Var>& vars = place_axes_[place];
  auto at = std::find(vars.begin(), vars.end(), axes_[axis].var);
  if (at == vars.end()) return std::nullopt;
  return at - vars.begin();
}

Status Matcher::check_step(size_t place, size_t axis, const std::vector<size_t>& order) const {
  const Steps& steps = places_[place];
  const int64_t step = steps.by_loop[order[axis]];
  const std::optional<size_t> dimension = dimension_of(place, axis);
  int64_t stride = dimension ? TensorIntrin::kAnyStride : 0;
  if (dimension && !intrin_->strides.empty()) stride = intrin_->strides[place][*dimension];
  const bool is_output = place + 1 == places_.size();
  const bool fits = stride == TensorIntrin::kAnyStride ? step != 0 || !is_output : step == stride;
  if (fits) return {};
  return invalid(cat(
      steps.first.tensor.name(), " moves by ", step, " elements along ",
      nest_.loops[order[axis]]->var.name(), ", and ", intrin_->name, " needs ",
      stride == TensorIntrin::kAnyStride ? "another place each time" : cat("steps of ", stride)));
}

Status Matcher::check(const std::vector<size_t>& order, size_t& passed) const {
  BYOC_TRY_STATUS(check_extents(order));
  for (size_t place = 0; place < places_.size(); ++place) {
    for (size_t axis = 0; axis < axes_.size(); ++axis, ++passed)
      BYOC_TRY_STATUS(check_step(place, axis, order));
  }
  return {};
}

Stmt Matcher::call(const std::vector<size_t>& order) const {
  std::vector<Place> places;
  Exprs args;
  for (size_t a = 0; a < axes_.size(); ++a) args.push_back(nest_.loops[order[a]]->extent);
  for (size_t place = 0; place < places_.size(); ++place) {
    places.push_back(places_[place].first);
    for (const Var& var : place_axes_[place]) {
      auto axis = std::find_if(axes_.begin(), axes_.end(),
                               [&](const Axis& candidate) { return candidate.var == var; });
      args.push_back(places_[place].by_loop[order[static_cast<size_t>(axis - axes_.begin())]]);
    }
  }
  return make_intrinsic(intrin_->name, std::move(places), std::move(args), intrin_);
}

}  // namespace

Result<Stmt> call_of(const For& nest, const std::shared_ptr<const TensorIntrin>& intrin,
                     Simplifier& simplify) {
  BYOC_TRY(PerfectNest loops, perfect_nest(nest));
  return Matcher(loops, intrin, simplify).match();
}

}  // namespace byoc::te
