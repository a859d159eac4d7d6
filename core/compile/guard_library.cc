// SPDX-License-Identifier: Apache-2.0
#include "core/compile/guard_library.h"

#include <algorithm>
#include <new>
#include <utility>

#include "byoc/base/library_error.h"
#include "byoc/te/module.h"
#include "byoc/te/tensor.h"
#include "byoc/text/text.h"

namespace byoc::extend {
namespace {

/// Calls a function of the library; its exceptions become LibraryErrors. `what` names it.
template <class F>
auto called(const std::string& what, F&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const LibraryError&) {
    throw;
  } catch (const std::exception& e) {
    throw LibraryError(cat(what, " threw an exception: ", e.what()));
  } catch (...) {
    throw LibraryError(cat(what, " threw something that is no std::exception"));
  }
}

/// The same for a function that returns a Result.
template <class F>
auto tried(const std::string& what, F&& function) -> decltype(function()) {
  try {
    return called(what, std::forward<F>(function));
  } catch (const LibraryError& e) {
    return e.status();
  }
}

Status fault(std::string message) { return LibraryError(message).status(); }

std::string types_text(Types types) {
  std::string out;
  for (TypeId type : types) out += cat(out.empty() ? "" : ", ", type);
  return out;
}

std::string tensors_text(const std::vector<te::Tensor>& tensors) {
  std::string out;
  for (const te::Tensor& tensor : tensors) {
    std::string shape;
    for (const te::Expr& extent : tensor.shape())
      shape += cat(shape.empty() ? "" : ",", te::print(extent));
    out += cat(out.empty() ? "" : ", ", tensor.dtype(), "[", shape, "]");
  }
  return out.empty() ? "nothing" : out;
}

bool is_of_type(const te::Tensor& tensor, const TensorType& type) {
  const te::Exprs due = te::extents_of(type);
  return tensor.dtype() == type.dtype &&
         std::ranges::equal(tensor.shape(), due, [](const te::Expr& a, const te::Expr& b) {
           const Result<Dim> own = te::dim_of(a), expected = te::dim_of(b);
           return own.ok() && expected.ok() && *own == *expected;
         });
}

ComputeFn guarded(ComputeFn own, const std::string& what) {
  const bool takes_open = own.takes_open;
  ComputeFn out([own = std::move(own), what](
                    te::Builder& builder, std::span<const te::Tensor> inputs, Types outputs,
                    const Attrs& attrs) -> Result<std::vector<te::Tensor>> {
    BYOC_TRY(auto made, tried(what, [&] { return own(builder, inputs, outputs, attrs); }));
    bool fits = made.size() == outputs.size();
    for (size_t k = 0; fits && k < made.size(); ++k) fits = is_of_type(made[k], *outputs[k]);
    if (fits) return made;
    return fault(cat(what, " makes ", tensors_text(made), ", the op's type inference gives ",
                     types_text(outputs)));
  });
  out.takes_open = takes_open;
  return out;
}

void guard_op(OpDef& op, const std::string& file) {
  auto what = [&](const char* part) { return cat(file, ": ", part, " of the op ", op.name); };
  if (op.infer)
    op.infer = [own = std::move(op.infer), what = what("infer"), due = op.outputs.size()](
                   Types inputs, const Attrs& attrs) -> Result<std::vector<TensorType>> {
      BYOC_TRY(auto types, tried(what, [&] { return own(inputs, attrs); }));
      if (types.size() == due) return types;
      return fault(cat(what, " gives ", types.size(), " types, the op has ", due, " results"));
    };
  if (op.reference)
    op.reference = [own = std::move(op.reference), what = what("reference")](
                       Types inputs, Types outputs, const Attrs& attrs) -> Result<RefKernel> {
      BYOC_TRY(RefKernel kernel, tried(what, [&] { return own(inputs, outputs, attrs); }));
      if (!kernel) return fault(cat(what, " gives no kernel"));
      return RefKernel([kernel = std::move(kernel), what](const void* const* in, void* const* out) {
        called(what, [&] { kernel(in, out); });
      });
    };
  if (op.compute) op.compute = guarded(std::move(op.compute), what("compute"));
  if (op.flops)
    op.flops = [own = std::move(op.flops), what = what("flops")](Types inputs, Types outputs,
                                                                 const Attrs& attrs) {
      return called(what, [&] { return own(inputs, outputs, attrs); });
    };
  if (op.check)
    op.check = [own = std::move(op.check), what = what("check")](
                   Types inputs, const Attrs& attrs) -> Result<ValueCheck> {
      BYOC_TRY(ValueCheck check, tried(what, [&] { return own(inputs, attrs); }));
      return ValueCheck([check = std::move(check), what](const void* const* in) {
        return tried(what, [&] { return check(in); });
      });
    };
  if (op.sizes)
    op.sizes = [own = std::move(op.sizes), what = what("sizes")](
                   Types inputs, const void* const* in, const Attrs& attrs) {
      return tried(what, [&] { return own(inputs, in, attrs); });
    };
}

// A pass gets and returns modules that are well-formed: a broken one would crash a later pass.
void guard_pass(PassInfo& pass, const std::string& file) {
  if (!pass.run) return;
  pass.run = [own = std::move(pass.run), what = cat(file, ": the pass ", pass.name)](
                 IRModule module, const PassContext& context,
                 const PassArgs& args) -> Result<IRModule> {
    BYOC_TRY(IRModule made, tried(what, [&] { return own(std::move(module), context, args); }));
    Status status = verify(made);
    if (status.ok()) return made;
    return fault(cat(what, " breaks the module: ", status.message())).at(status.where());
  };
}

void guard_placement(Hooks& hooks, const std::string& file) {
  if (hooks.placement_cost)
    hooks.placement_cost = [own = std::move(hooks.placement_cost),
                            what = cat(file, ": placement_cost")](const Candidate& one) {
      const double ns = called(what, [&] { return own(one); });
      if (ns >= 0) return ns;
      throw LibraryError(cat(what, " returns ", ns, " for ", one.text, " by ", one.plugin,
                             "; costs are at least 0, and infinity forbids a candidate"));
    };
  if (hooks.region_judge)
    hooks.region_judge = [own = std::move(hooks.region_judge), what = cat(file, ": region_judge")](
                             std::string_view plugin, const Function& graph) {
      return called(what, [&] { return own(plugin, graph); });
    };
  if (hooks.placement_solver)
    hooks.placement_solver =
        [own = std::move(hooks.placement_solver),
         what = cat(file, ": placement_solver")](const placement::Problem& problem) {
          std::vector<uint8_t> states = called(what, [&] { return own(problem); });
          if (states.size() != problem.size())
            throw LibraryError(
                cat(what, " returns ", states.size(), " states for ", problem.size(), " nodes"));
          for (uint32_t v = 0; v < problem.size(); ++v) {
            if (states[v] < problem.states(v)) continue;
            throw LibraryError(cat(what, " returns state ", int{states[v]}, " for node ", v,
                                   ", which has ", problem.states(v)));
          }
          return states;
        };
}

// Returns why a point is none of the space; "" when it is one.
std::string why_outside(const tune::Space& space, const tune::Point& point) {
  for (const tune::Knob& knob : space.knobs) {
    const auto at = point.find(knob.name);
    if (at == point.end()) return cat("it lacks the knob ", knob.name);
    if (std::ranges::count(knob.values, at->second) > 0) continue;
    std::string values;
    for (const std::string& value : knob.values) values += cat(values.empty() ? "" : ", ", value);
    return cat("the knob ", knob.name, " has no value \"", at->second, "\", it has ", values);
  }
  for (const auto& [name, value] : point)
    if (std::ranges::count(space.knobs, name, &tune::Knob::name) == 0)
      return cat("there is no knob \"", name, "\"");
  return "";
}

void guard_tuning(Hooks& hooks, const std::string& file) {
  if (hooks.tuner_model.train)
    hooks.tuner_model.train =
        [own = std::move(hooks.tuner_model.train), what = cat(file, ": tuner_model")](
            const tune::Matrix& rows, std::span<const float> scores) -> Result<tune::Predictor> {
      BYOC_TRY(tune::Predictor predict, tried(what, [&] { return own(rows, scores); }));
      if (!predict) return fault(cat(what, " gives no predictor"));
      return tune::Predictor([predict = std::move(predict),
                              what](const tune::Matrix& asked) -> Result<std::vector<float>> {
        BYOC_TRY(auto scores, tried(what, [&] { return predict(asked); }));
        if (scores.size() == asked.rows()) return scores;
        return fault(cat(what, " predicts ", scores.size(), " scores for ", asked.rows(), " rows"));
      });
    };
  if (hooks.tuner_search)
    hooks.tuner_search = [own = std::move(hooks.tuner_search), what = cat(file, ": tuner_search")](
                             const tune::Space& space, std::span<const tune::TriedPoint> points,
                             size_t count) {
      std::vector<tune::Point> next = called(what, [&] { return own(space, points, count); });
      for (const tune::Point& point : next) {
        const std::string why = why_outside(space, point);
        if (!why.empty())
          throw LibraryError(cat(what, " returns a point outside of the space: ", why));
      }
      return next;
    };
}

}  // namespace

void guard(Library& library, const std::string& name) {
  for (OpDef& op : library.ops) guard_op(op, name);
  for (AddedPass& pass : library.passes) guard_pass(pass.info, name);
  guard_placement(library.hooks, name);
  guard_tuning(library.hooks, name);
}

}  // namespace byoc::extend
