// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include "byoc/op/evaluate.h"
#include "byoc/runtime/session.h"
#include "byoc/te/target.h"
#include "byoc/translate/policies.h"
#include "core/process/child.h"
#include "core/process/faults.h"
#include "forms/nested.h"
#include "forms/open.h"
#include "forms/states.h"
#include "runtime/session/guard_scope.h"
#include "support/paths.h"

namespace byoc::fuzz {
namespace {

std::string& plugin_folder() {
  static std::string& folder = *new std::string(BYOC_BUILD_DIR "/lib/byoc/plugins");
  return folder;
}

std::map<std::string, std::map<std::string, std::string>>& plugin_options() {
  static auto& options = *new std::map<std::string, std::map<std::string, std::string>>;
  return options;
}

bool& shares_all_loops() {
  static bool all = false;
  return all;
}

/// An output with bytes before and after it that nothing may write to.
class Output {
 public:
  static Result<Output> make(const TensorSpec& spec) {
    Output out;
    out.spec_ = spec;
    BYOC_TRY(Tensor sized, Tensor::make(spec));
    out.size_ = sized.size_bytes();
    const auto bytes = static_cast<int64_t>(out.size_ + 2 * kGuard);
    BYOC_TRY(out.memory_, Tensor::make({DType::kU8, {bytes}}));
    std::memset(out.memory_.data(), kGuardByte, static_cast<size_t>(bytes));
    // These bytes are a NaN as a float, and no small number as an integer.
    std::memset(out.memory_.data() + kGuard, 0xff, out.size_);
    return out;
  }
  const TensorSpec& spec() const { return spec_; }
  const std::byte* data() const { return memory_.data() + kGuard; }
  uint64_t size_bytes() const { return size_; }
  DLTensor view() {
    DLTensor view = memory_.view();
    view.data = memory_.data() + kGuard;
    view.dtype = to_dlpack(spec_.dtype);
    view.ndim = static_cast<int32_t>(spec_.dims.size());
    view.shape = spec_.dims.data();
    return view;
  }
  bool has_whole_guards() const {
    auto is_whole = [](const std::byte* from) {
      return std::all_of(from, from + kGuard,
                         [](std::byte b) { return b == std::byte{kGuardByte}; });
    };
    return is_whole(memory_.data()) && is_whole(data() + size_);
  }

 private:
  static constexpr size_t kGuard = 256;
  static constexpr uint8_t kGuardByte = 0xa5;
  TensorSpec spec_;
  Tensor memory_;
  uint64_t size_ = 0;
};

Result<std::vector<Output>> run(const Session& session, Context& context,
                                const std::vector<Tensor>& inputs) {
  std::vector<DLTensor> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  BYOC_TRY(const std::vector<TensorSpec> types, session.output_types(in));
  std::vector<Output> outputs;
  for (const TensorSpec& type : types) {
    BYOC_TRY(Output output, Output::make(type));
    outputs.push_back(std::move(output));
  }
  for (Output& output : outputs) out.push_back(output.view());
  BYOC_TRY_STATUS(session.run(context, in, out));
  return outputs;
}

Outcome compare(const std::vector<Output>& got, const std::vector<Known>& wanted) {
  if (got.size() != wanted.size())
    return {Outcome::kWrong, cat(got.size(), " results instead of ", wanted.size())};
  for (size_t k = 0; k < got.size(); ++k) {
    TensorSpec spec{wanted[k].type->dtype, static_extents(wanted[k].type->shape)};
    if (got[k].spec() != spec)
      return {Outcome::kWrong, cat("result ", k, " is ", got[k].spec(), " instead of ", spec)};
    if (!got[k].has_whole_guards())
      return {Outcome::kWrong, cat("bytes before or after result ", k, " were written")};
    std::string text = difference(got[k].data(), wanted[k]);
    if (!text.empty()) return {Outcome::kWrong, cat("result ", k, ": ", text)};
  }
  return {};
}

/// Returns the number of the first input that differs from its leaf.
std::optional<size_t> changed_input(const Case& graph, const std::vector<Tensor>& inputs) {
  size_t k = 0;
  for (const Leaf& leaf : graph.leaves) {
    if (leaf.is_constant) continue;
    const size_t size = leaf.data->size();
    if (size > 0 && std::memcmp(inputs[k].data(), leaf.data->data(), size) != 0) return k;
    ++k;
  }
  return std::nullopt;
}

/// Returns tensors of zeros, which are valid indices of every gather.
Result<std::vector<Tensor>> zeros_like(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    BYOC_TRY(Tensor zeros, Tensor::make(tensor.spec()));
    out.push_back(std::move(zeros));
  }
  return out;
}

Result<Outcome> run_and_compare(const Session& session, const Case& graph,
                                const std::vector<Known>& wanted) {
  BYOC_TRY_STATUS(session.check_externs());
  BYOC_TRY(std::vector<Tensor> inputs, inputs_of(graph));
  BYOC_TRY(auto guarded, session.make_context());
  BYOC_TRY(auto first, run(session, *guarded, inputs));
  Outcome outcome = compare(first, wanted);
  if (outcome.failed()) return outcome;
  const GuardScope unguarded(false);
  BYOC_TRY(auto context, session.make_context());
  BYOC_TRY_STATUS(run(session, *context, inputs).status());
  if (auto k = changed_input(graph, inputs))
    return Outcome{Outcome::kWrong, cat("input ", *k, " was written")};
  BYOC_TRY(std::vector<Tensor> zeros, zeros_like(inputs));
  BYOC_TRY_STATUS(run(session, *context, zeros).status());
  BYOC_TRY(auto again, run(session, *context, inputs));
  for (size_t k = 0; k < first.size(); ++k) {
    if (first[k].size_bytes() > 0 &&
        std::memcmp(first[k].data(), again[k].data(), first[k].size_bytes()) != 0)
      return Outcome{Outcome::kWrong, cat("result ", k, " differs in a later run")};
  }
  return outcome;
}

Status use_machine_and_rules(const Configuration& configuration, BuildOptions& options) {
  if (configuration.target != "native") {
    BYOC_TRY(te::Target target, te::parse_target(configuration.target));
    options.target_json = te::print(target);
  }
  if (configuration.computes.empty()) return {};
  BYOC_TRY(te::Policies rules, te::parse_rules(configuration.computes, all_ops()));
  rules.check = nullptr;  // some of the graphs have no such ops
  options.policies = std::make_shared<const te::Policies>(std::move(rules));
  return {};
}

/// Returns the program of a case in the form of the configuration.
Result<IRModule> module_of(const Case& graph, const Configuration& configuration,
                           const std::optional<Opened>& opened,
                           const std::vector<StatePair>& pairs) {
  if (!pairs.empty()) return with_states(graph, pairs);
  if (opened) return opened->module;
  return configuration.nests ? nested_module(graph) : to_module(graph);
}

/// Runs the graphs of one program of open sizes.
Result<Outcome> run_at_sizes(const Session& session, const Opened& opened, const Sums& sums) {
  Outcome outcome{Outcome::kUndetermined, "at none of the sizes"};
  for (size_t k = 0; k < opened.graphs.size() && !outcome.failed(); ++k) {
    const Case& graph = opened.graphs[k];
    Result<std::vector<Known>> right = evaluate_case(graph, kOracleSeed, sums);
    if (!right.ok()) continue;  // not determined, or an index that is outside at these sizes
    BYOC_TRY(outcome, run_and_compare(session, graph, *right));
    if (outcome.failed()) outcome.what = cat("at sizes ", k, ": ", outcome.what);
  }
  return outcome;
}

Result<Outcome> compile_and_run(const Case& given, const Configuration& configuration,
                                const std::vector<Known>& wanted,
                                const std::shared_ptr<const PluginSet>& plugins) {
  const GuardScope guarded;
  const Case graph = configuration.nests ? with_switches(given) : given;
  BuildOptions options{.plugins = plugins, .compilers = configuration.compilers};
  options.level = configuration.level;
  options.threads = configuration.threads;
  options.exact_sums = must_sum_directly(graph);
  BYOC_TRY_STATUS(use_machine_and_rules(configuration, options));
  std::optional<Opened> opened;
  if (configuration.opens) opened = with_open_sizes(graph);
  if (configuration.opens && !opened) return Outcome{Outcome::kUndetermined, "no extent opens"};
  const std::vector<StatePair> pairs =
      configuration.keeps ? state_pairs(graph) : std::vector<StatePair>();
  if (configuration.keeps && pairs.empty())
    return Outcome{Outcome::kUndetermined, "no result has the type of a parameter"};
  BYOC_TRY(IRModule module, module_of(graph, configuration, opened, pairs));
  BYOC_TRY(Executable executable, build(std::move(module), options));
  std::vector<std::string> implementations;
  for (const ExternalModule& module : executable.modules) {
    for (const ExternalFunction& function : module.functions)
      implementations.push_back(function.implementation);
  }
  BYOC_TRY(auto session,
           Session::load(std::move(executable), plugins, {.threads = configuration.threads}));
  if (configuration.keeps) return run_steps(*session, graph, pairs, sums_of(configuration));
  Outcome outcome;
  if (opened) {
    BYOC_TRY(outcome, run_at_sizes(*session, *opened, sums_of(configuration)));
  } else {
    BYOC_TRY(outcome, run_and_compare(*session, graph, wanted));
  }
  outcome.implementations = std::move(implementations);
  return outcome;
}

bool is_anchor(const OpDef& op) {
  return op.name.starts_with("conv") || op.name == "matmul" || op.name == "gemm";
}

template <class Predicate>
bool has(TypeId type, const Buffer& data, Predicate is_special) {
  if (!is_float(type->dtype)) return false;
  std::vector<double> values = elements(type, data);
  return std::any_of(values.begin(), values.end(), is_special);
}

/// Returns the outputs of all steps, by the reference kernels.
std::optional<std::vector<std::vector<Bytes>>> right_values(const Case& graph) {
  std::vector<std::vector<Bytes>> out;
  for (const Step& step : graph.steps) {
    std::vector<TypeId> in;
    std::vector<const Buffer*> data;
    for (Ref arg : step.args) {
      in.push_back(graph.type(arg));
      data.push_back(arg.is_leaf ? graph.leaves[arg.index].data.get()
                                 : out[arg.index][arg.output].get());
    }
    auto results = byoc::evaluate(*step.op, *step.attrs, in, step.types, data);
    if (!results.ok()) return std::nullopt;
    out.push_back(*std::move(results));
  }
  return out;
}

/// Writes "wrong\nresult 0: ...", which is sent through a pipe.
std::string to_text(const Outcome& outcome) {
  return cat(static_cast<int>(outcome.kind), "\n", outcome.what);
}

Outcome from_child(const process::ChildResult& child) {
  if (child.end.kind == process::End::kTimedOut) return {Outcome::kHang, child.defect};
  if (!child.finished) return {Outcome::kCrash, cat(child.defect, "\n", child.printed)};
  size_t line = child.result.find('\n');
  return {static_cast<Outcome::Kind>(std::stoi(child.result)), child.result.substr(line + 1)};
}

}  // namespace

std::string flags_of(const Configuration& configuration) {
  std::string list;
  for (const std::string& id : configuration.compilers) list += (list.empty() ? "" : ",") + id;
  std::string out =
      cat("--compiler ", list, " -O", configuration.level, " --threads ", configuration.threads);
  for (const std::string& rule : configuration.computes) out += cat(" --compute ", rule);
  if (configuration.target != "native") out += cat(" --target ", configuration.target);
  if (configuration.opens) out += " --open";
  if (configuration.nests) out += " --nest";
  if (configuration.keeps) out += " --keep";
  if (configuration.shares) out += " --share-loops";
  return out;
}

Sums sums_of(const Configuration& configuration) {
  const bool is_direct = std::ranges::all_of(
      configuration.computes, [](const std::string& rule) { return rule == "direct"; });
  return is_direct ? Sums::kDirect : Sums::kInTiles;
}

std::vector<Configuration> all_configurations() {
  std::vector<std::vector<std::string>> orders;
  std::vector<std::string> ids = {"json", "llvm", "onednn"};
  do {
    for (size_t n = 1; n <= ids.size(); ++n) {
      std::vector<std::string> order(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
      if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
    }
  } while (std::next_permutation(ids.begin(), ids.end()));
  std::vector<Configuration> out;
  for (int level : {2, 0, 2, 1}) {  // 2, the default, occurs twice
    for (uint32_t k = 0; k < orders.size(); ++k) out.push_back({orders[k], level, 1 + k % 2});
  }
  return out;
}

std::string_view kind_name(Outcome::Kind kind) {
  constexpr std::string_view kNames[] = {"right", "wrong", "error",
                                         "crash", "hang",  "undetermined"};
  return kNames[kind];
}

void set_plugin_folder(std::string folder) { plugin_folder() = std::move(folder); }

std::string plugin_option_flags() {
  std::string out;
  for (const auto& [id, own] : plugin_options()) {
    for (const auto& [name, value] : own)
      out += cat(" --plugin-option ", id, ".", name, "=", value);
  }
  return out;
}

bool set_plugin_option(const std::string& text) {
  const size_t dot = text.find('.'), equals = text.find('=');
  if (dot == std::string::npos || equals == std::string::npos || dot == 0 || equals < dot + 2)
    return false;
  plugin_options()[text.substr(0, dot)][text.substr(dot + 1, equals - dot - 1)] =
      text.substr(equals + 1);
  return true;
}

void share_all_loops() {
  ::setenv("BYOC_ALL_WORKERS", "1", 1);
  shares_all_loops() = true;
}

bool must_keep_nan(const Case& graph) {
  static const std::set<std::string_view> kLosing = {"relu", "clip", "maximum", "minimum",
                                                     "hard_sigmoid"};
  std::vector<bool> is_after(
      graph.steps.size());  // an anchor, by ops that a plugin may fuse or move
  std::vector<size_t> losing;
  for (size_t k = 0; k < graph.steps.size(); ++k) {
    const Step& step = graph.steps[k];
    const bool reads_anchor = std::any_of(step.args.begin(), step.args.end(), [&](Ref arg) {
      return !arg.is_leaf && is_after[arg.index];
    });
    const bool is_light = step.op->kind < FusionKind::kReduction || step.op->name == "batch_norm";
    is_after[k] = is_anchor(*step.op) || (reads_anchor && is_light);
    if (reads_anchor && kLosing.contains(step.op->name)) losing.push_back(k);
  }
  if (losing.empty()) return false;
  std::optional<std::vector<std::vector<Bytes>>> values = right_values(graph);
  if (!values) return false;
  return std::any_of(losing.begin(), losing.end(), [&](size_t k) {
    return std::any_of(graph.steps[k].args.begin(), graph.steps[k].args.end(), [&](Ref arg) {
      const Bytes& data =
          arg.is_leaf ? graph.leaves[arg.index].data : (*values)[arg.index][arg.output];
      return has(graph.type(arg), *data, [](double x) { return std::isnan(x); });
    });
  });
}

bool must_sum_directly(const Case& graph) {
  const bool spreads = std::any_of(graph.steps.begin(), graph.steps.end(), [](const Step& step) {
    return step.op->name.starts_with("conv") || step.op->name == "dft" ||
           step.op->name == "matmul_blocks";
  });
  return spreads && std::any_of(graph.leaves.begin(), graph.leaves.end(), [](const Leaf& leaf) {
           return has(leaf.type, *leaf.data, [](double x) { return !std::isfinite(x); });
         });
}

std::shared_ptr<const PluginSet> load_plugins(bool keep_nan) {
  setenv("BYOC_CANARY", "1", 1);  // arenas and workspaces begin as NaN
  PluginSearch search;
  search.folders = {plugin_folder()};
  for (const auto& [id, own] : plugin_options()) search.options[id].insert(own.begin(), own.end());
  if (keep_nan) search.options["onednn"].emplace("keep_nan", "1");
  if (shares_all_loops()) search.options["llvm"].emplace("shares_all", "1");
  return PluginSet::load(search);
}

Outcome check(const Case& graph, const Configuration& configuration,
              const std::vector<Known>& wanted, const std::shared_ptr<const PluginSet>& plugins) {
  Result<Outcome> outcome = compile_and_run(graph, configuration, wanted, plugins);
  return outcome.ok() ? *outcome : Outcome{Outcome::kError, outcome.status().to_string()};
}

Outcome check_in_child(const Case& graph, const Configuration& configuration, uint32_t timeout_s) {
  Result<std::vector<Known>> wanted = evaluate_case(graph, kOracleSeed, sums_of(configuration));
  if (!wanted.ok()) return {Outcome::kUndetermined, wanted.status().message()};
  process::ChildLimits limits{.timeout_s = timeout_s};
  auto plugins = [&] { return load_plugins(must_keep_nan(graph)); };
  return from_child(process::run_in_child(limits, [&] {
    process::name_faults();
    return to_text(check(graph, configuration, *wanted, plugins()));
  }));
}

}  // namespace byoc::fuzz
