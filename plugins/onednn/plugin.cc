// SPDX-License-Identifier: Apache-2.0
// The onednn plugin: patterns as a table, verdicts from oneDNN itself, one kernel per region.
#include "byoc/plugin/sdk.h"

#include <algorithm>

#include "estimate/estimate.h"
#include "kernel.h"
#include "knobs.h"
#include "library/implementations.h"
#include "open_kernel.h"
#include "patterns.h"
#include "region/chain.h"

namespace byoc::onednn {
namespace {

/// Lets oneDNN round the operands of products and convolutions of f32 to 16 bits, where the
/// processor has instructions for that; sums stay in f32. For all primitives of the process.
void set_math(const std::string& math) {
  if (math != "bf16" && math != "f16")
    throw sdk::Error(BYOC_INVALID_ARGUMENT,
                     "onednn.math is f32, f16 or bf16, not \"" + math + "\"");
  using Mode = dnnl::fpmath_mode;
  dnnl::set_default_fpmath_mode(math == "bf16" ? Mode::bf16 : Mode::f16);
}

class OnednnPlugin : public sdk::Plugin {
 public:
  void open(const sdk::Options& options) override {
    if (const std::string math = options.get("math", "f32"); math != "f32") set_math(math);
    keeps_nan_ = options.get_bool("keep_nan", false);
    stores_packed_ = options.get_bool("store_packed", true);
  }
  std::vector<sdk::Pattern> patterns() const override { return pattern_table(); }
  sdk::Verdict judge(const Graph& candidate) const override { return decide(candidate, nullptr); }
  sdk::Verdict judge_on(const Graph& candidate, const sdk::Machine& machine) const override {
    return decide(candidate, &machine);
  }
  std::unique_ptr<sdk::Kernel> compile(sdk::Function& function) override;
  sdk::KnobSpace knobs(sdk::CompileRequest& request) override;
  /// Returns the blocks of channels in which images enter and leave regions: those of this
  /// processor's kernels first.
  std::vector<sdk::WantedLayout> layouts(std::string_view) const override {
    if (isa_text().starts_with("avx512")) return {{"image", 16}, {"image", 8}};
    return {{"image", 8}};
  }
  /// Returns the version of the loaded oneDNN. The artifact holds graphs, and that oneDNN chooses
  /// formats again when they are loaded.
  std::string made_with() const override {
    return "oneDNN " + dnnl_version_text() + " " + isa_text();
  }
  /// The name of a packed constant has oneDNN's version and both layouts, so that another oneDNN or
  /// processor packs again where it requires another layout.
  bool stores_packed() const override { return stores_packed_; }

 private:
  ChainRules rules_of(const sdk::Function& function) const {
    return {.keeps_nan = keeps_nan_ || (function.flags & BYOC_STRICT_FP) != 0};
  }
  Choices choices_for(const sdk::Function& function) const;
  sdk::Verdict decide(const Graph& candidate, const sdk::Machine* machine) const {
    return is_open(candidate) ? judged_open(candidate, machine) : judged(candidate, machine);
  }
  sdk::Verdict judged(const Graph& candidate, const sdk::Machine* machine) const;
  sdk::Verdict judged_open(const Graph& candidate, const sdk::Machine* machine) const;
  sdk::Verdict slow(const Region& region, const Unit& unit, const Built& built,
                    const std::vector<Desc>& formats, sdk::Cost cost) const;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  bool keeps_nan_ = false, stores_packed_ = true;
};

/// Returns oneDNN's name of the primitive, and the source of its weights.
std::string how(const Region& region, const Built& built) {
  std::string text = built.implementation;
  for (const Argument& argument : built.inputs) {
    const Value& value = region.values[static_cast<size_t>(argument.value)];
    if (argument.index != DNNL_ARG_WEIGHTS || value.origin == Value::kConstant) continue;
    text += argument.have == argument.want ? ", weights given at run time"
                                           : ", weights given at run time, reordered in each call";
  }
  return text;
}

// Returns the differences of post-ops that README.md lists, ", NaN becomes a number in relu".
std::string losses(const Unit& unit) {
  if (unit.integers) return "";
  for (const Post& post : unit.posts) {
    const ChainOp* row = find_chain_op(post.node->op);
    if (row != nullptr && row->loses_nan) return ", NaN becomes a number in " + post.node->op;
  }
  return "";
}

// Returns an estimate of that time; 0 is none, without a machine.
sdk::Cost cost_of(double ns) { return {.est_ns = ns > 0 ? sdk::est_ns(ns) : 0}; }

// Returns whether a unit has only a slow kernel. A concat by reference is not slow: it is one
// reorder per operand.
bool is_slow(const Unit& unit, const Built& built) {
  return is_reference(built.implementation) && unit.node->op != "concat";
}

// Returns the verdict on a slow unit. Post-ops that cost an op its fast kernel are refused, so that
// they become ops of their own.
sdk::Verdict OnednnPlugin::slow(const Region& region, const Unit& unit, const Built& built,
                                const std::vector<Desc>& formats, sdk::Cost cost) const {
  Unit alone = unit;
  alone.posts.clear();
  if (!unit.posts.empty() && !is_slow(alone, build_unit(region, alone, formats, engine_)))
    return sdk::Verdict::no("oneDNN has only a reference kernel for this chain of post-ops");
  return sdk::Verdict::slow(built.implementation + ", oneDNN has no fast kernel for it", cost);
}

// Accepts a candidate when oneDNN makes the primitive, so that no refusal is left to compile.
// With a machine the verdict has the estimate for it.
sdk::Verdict OnednnPlugin::judged(const Graph& candidate, const sdk::Machine* machine) const {
  try {
    Region region = read_region(candidate, {.keeps_nan = keeps_nan_});
    std::vector<Desc> formats;
    for (const Value& value : region.values) formats.push_back(plain_or_none(value.type));
    std::string implementations;
    double ns = 0;
    for (const Unit& unit : region.units) {
      Built built = build_unit(region, unit, formats, engine_);
      if (machine != nullptr) ns += estimate_ns(region, unit, built, *machine);
      if (is_slow(unit, built)) return slow(region, unit, built, formats, cost_of(ns));
      implementations += (implementations.empty() ? "" : " + ") + how(region, built);
      implementations += losses(unit);
    }
    return sdk::Verdict::yes(std::move(implementations), cost_of(ns));
  } catch (const Refusal& refusal) {
    return sdk::Verdict::no(refusal.reason);
  }
}

// Accepts a candidate with open sizes when oneDNN makes the primitives at each of some sizes. The
// verdict is on the nominal ones.
sdk::Verdict OnednnPlugin::judged_open(const Graph& candidate, const sdk::Machine* machine) const {
  try {
    const std::vector<Sizes> all = sizes_to_try(candidate);
    check_open_ops(candidate);
    sdk::Verdict verdict = judged(sdk::at_sizes(candidate, all[0]), machine);
    for (size_t k = 1; verdict.accept != 0 && k < all.size(); ++k) {
      const sdk::Verdict other = judged(sdk::at_sizes(candidate, all[k]), nullptr);
      if (other.accept == 0)
        return sdk::Verdict::no(other.reason + " at " + sizes_text(candidate, all[k]));
    }
    return verdict;
  } catch (const Refusal& refusal) {
    return sdk::Verdict::no(refusal.reason);
  }
}

uint32_t threads_of(const sdk::Function& function) {
  return std::max<uint32_t>(function.threads, 1);
}

// Returns the choices of the function's point. An artifact may be loaded by another oneDNN, for
// another CPU or with more threads, where the space differs: the choices hold all the same.
Choices OnednnPlugin::choices_for(const sdk::Function& function) const {
  if (!function.point.empty() && !function.from_artifact)
    space_of(function.graph, rules_of(function), engine_, threads_of(function))
        .check(function.point);
  return choices_of(function.point);
}

// A region that compile will decline has no space.
sdk::KnobSpace OnednnPlugin::knobs(sdk::CompileRequest& request) {
  const sdk::Function& function = request.functions[0];
  if (is_open(function.graph)) return {};  // a point would hold for one size
  ThreadScope threads(threads_of(function));
  try {
    return space_of(function.graph, rules_of(function), engine_, threads_of(function));
  } catch (const Refusal&) {
    return {};
  } catch (const dnnl::error&) {
    return {};
  }
}

std::unique_ptr<sdk::Kernel> OnednnPlugin::compile(sdk::Function& function) {
  ThreadScope threads(threads_of(function));
  try {
    if (is_open(function.graph))
      return std::make_unique<OpenKernel>(function, engine_, rules_of(function));
    const Choices choices = choices_for(function);
    ConstantStore constants(function.constants, function.graph, engine_);
    Plan plan = make_plan(function.graph, constants, engine_, rules_of(function), choices);
    return std::make_unique<OnednnKernel>(std::move(plan), engine_, function.threads);
  } catch (const Refusal& refusal) {
    throw sdk::Declined(refusal.reason);
  } catch (const dnnl::error& e) {  // the default codegen can still run it
    throw sdk::Declined(std::string("oneDNN: ") + e.what());
  }
}

}  // namespace
}  // namespace byoc::onednn

BYOC_PLUGIN(byoc::onednn::OnednnPlugin, "onednn", "0.1.0",
            .flags = BYOC_PLUGIN_HORIZONTAL | BYOC_PLUGIN_OPEN_SIZES, .priority = 50)
