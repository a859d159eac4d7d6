// SPDX-License-Identifier: Apache-2.0
// The table of all passes, and the order in which a compilation runs them: one reason per row.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/base/env.h"
#include "byoc/base/nearest.h"
#include "byoc/extend/loops.h"
#include "byoc/pass/passes.h"
#include "core/extend/added.h"

namespace byoc {
namespace {

using SimplePass = Result<IRModule> (*)(IRModule, const PassContext&);

PassFn plain(SimplePass pass) {
  return [pass](IRModule module, const PassContext& context, const PassArgs&) {
    return pass(std::move(module), context);
  };
}

using PluginPass = Result<IRModule> (*)(IRModule, const std::vector<std::string>&,
                                        const PassContext&);

PassFn of_plugins(PluginPass pass) {
  return [pass](IRModule module, const PassContext& context, const PassArgs& plugins) {
    return pass(std::move(module), plugins, context);
  };
}

Result<IRModule> bind_params_by_text(IRModule module, const PassContext& context,
                                     const PassArgs& args) {
  std::map<std::string, BoundTensor> values;
  for (const std::string& arg : args) {
    BYOC_TRY(auto binding, parse_binding(module, arg));
    values.insert(std::move(binding));
  }
  return bind_params(std::move(module), values, context);
}

Result<IRModule> bind_shapes_by_text(IRModule module, const PassContext& context,
                                     const PassArgs& args) {
  GivenShapes shapes;
  for (const std::string& arg : args) {
    BYOC_TRY(auto shape, parse_shape(arg));
    shapes.insert(std::move(shape));
  }
  return bind_shapes(std::move(module), shapes, context);
}

Result<IRModule> bind_states_by_text(IRModule module, const PassContext& context,
                                     const PassArgs& args) {
  return bind_states(std::move(module), args, context);
}

std::vector<PassInfo> make_table() {
  return {
      {"bind_params", "NAME=VALUES+...", "inputs become constants: axes=[0,1]",
       bind_params_by_text},
      {"bind_shapes", "NAME=EXTENTS+...",
       "named sizes or whole inputs become numbers: N=1, x=1x3x224x224", bind_shapes_by_text},
      {"bind_states", "PAST=PRESENT+...",
       "inputs and outputs become states, which runs hand on: past=present, or auto",
       bind_states_by_text},
      {"infer_types", "", "types of all nodes, from those of parameters and constants",
       plain(infer_types)},
      {"inline_functions", "",
       "calls of functions without `compiler` or `composite` become their bodies",
       plain(inline_functions)},
      {"bind_constant_arguments", "",
       "constants given to functions with `compiler` move into copies of them",
       plain(bind_constant_arguments)},
      {"widen_floats", "", "chains of ops on f16 and bf16 are computed in f32",
       plain(widen_floats)},
      {"fold_constants", "", "ops on constants become constants", plain(fold_constants)},
      {"round_weights", "", "constant matrices of products are rounded to 16 bits on request",
       plain(round_weights)},
      {"prepare_quantized", "",
       "integers between dequantize and quantize stay integers, each reader gets its dequantize",
       plain(prepare_quantized)},
      {"use_integers", "",
       "products between dequantize and quantize become ops on integers that the default codegen "
       "lists",
       plain(use_integers)},
      {"fold_weights", "", "as fold_constants, also weights that no product of integers reads",
       plain(fold_weights)},
      {"merge_pads", "", "pads with zeros move into the convolutions and pools that read them",
       plain(merge_pads)},
      {"fold_batch_norm", "",
       "batch_norm and per-channel factors move into the weights before them",
       plain(fold_batch_norm)},
      {"eliminate_dead_code", "", "unread values and uncalled functions are removed",
       plain(eliminate_dead_code)},
      {"merge_equal_nodes", "", "nodes that compute the same become one", plain(merge_equal_nodes)},
      {"merge_composites", "PLUGIN+...",
       "matches of the plugins' patterns become composite functions", of_plugins(merge_composites)},
      {"inline_composites", "PLUGIN+...",
       "composites of these plugins (none named: all) become ops again",
       of_plugins(inline_composites)},
      {"annotate_target", "PLUGIN+...",
       "ops that the plugins take (none named: as attributes state) get annotations around them",
       of_plugins(annotate_target)},
      {"place_by_cost", "PLUGIN+...",
       "ops and matches get annotations of the plugins that cost the least together",
       of_plugins(place_by_cost)},
      {"merge_compiler_regions", "", "open regions of one plugin are joined and numbered",
       plain(merge_compiler_regions)},
      {"make_added_loops", "", "ops of libraries that no plugin takes become loops",
       plain(make_added_loops)},
      {"partition_graph", "", "each region becomes a function", plain(partition_graph)},
      {"assign_layouts", "",
       "the other ops exchange tensors in the layouts that the default codegen requests",
       plain(assign_layouts)},
      {"share_layouts", "",
       "regions take and return images in the blocks that the ops around them use",
       plain(share_layouts)},
      {"fuse_ops", "", "the other ops become functions of the default codegens", plain(fuse_ops)},
      {"choose_computes", "RULE+...",
       "functions get the computes and schedules of these rules, such as conv2d=direct",
       of_plugins(choose_computes)},
      {"run_codegen",
       "PLUGIN+...",
       "functions of these plugins (none named: all) are compiled, their calls become externs",
       of_plugins(run_codegen),
       {"place_declined", "choose_computes"}},
      {"place_declined", "", "ops that a plugin declined in run_codegen go to those after it",
       plain(place_declined)},
      {"copy_to_devices", "",
       "values that a device reads or writes are copied between it and the host",
       plain(copy_to_devices)},
      {"plan_memory", "", "every tensor between steps gets its place in one arena",
       plain(plan_memory)},
  };
}

// kCompilers: those chosen in the context. kByPriority: those too, but none when place_by_cost
// chooses. kByCost: the row is skipped unless place_by_cost chooses.
enum class Args { kNone, kCompilers, kByPriority, kByCost };

struct Row {
  std::string_view pass;
  int level;  // the first -O that runs it
  Args args;
  std::string_view reason;
};

constexpr Row kRows[] = {
    {"infer_types", 0, Args::kNone, "every later pass reads types"},
    {"inline_functions", 0, Args::kNone, "plugins and patterns see whole bodies"},
    {"bind_constant_arguments", 0, Args::kNone, "a plugin sees its weights as constants"},
    {"widen_floats", 0, Args::kNone, "plugins and patterns get f32 inside of chains on 16 bits"},
    {"fold_constants", 1, Args::kNone, "results of ops on constants are constants before matching"},
    {"merge_pads", 1, Args::kNone, "plugins pad inside of their convolutions and pools"},
    {"eliminate_dead_code", 0, Args::kNone, "a dead reader keeps a batch_norm from folding"},
    {"merge_equal_nodes", 0, Args::kNone, "and so does a second equal one"},
    {"fold_batch_norm", 1, Args::kNone, "before matching: patterns see weights and a bias"},
    {"eliminate_dead_code", 0, Args::kNone, "folding leaves the old weights unread"},
    {"merge_equal_nodes", 0, Args::kNone, "folding makes equal constants"},
    {"round_weights", 1, Args::kNone, "factors are in the weights by now, no plugin has them yet"},
    {"prepare_quantized", 1, Args::kNone, "patterns match values with one reader"},
    {"merge_composites", 1, Args::kByPriority, "a plugin takes as one what it runs as one"},
    {"place_by_cost", 0, Args::kByCost, "instead of priority, with --compiler auto"},
    {"use_integers", 2, Args::kNone, "the default codegen gets those that no plugin has taken"},
    {"fold_weights", 1, Args::kNone, "no pattern has matched these as integers"},
    {"annotate_target", 0, Args::kByPriority, "each op goes to the first plugin that takes it"},
    {"merge_compiler_regions", 0, Args::kNone, "few large regions cost fewer calls"},
    {"make_added_loops", 0, Args::kNone, "what plugins take of these ops is in regions by now"},
    {"partition_graph", 0, Args::kNone, "a plugin compiles functions"},
    {"inline_functions", 0, Args::kNone, "functions annotated inside are plain by now"},
    {"assign_layouts", 2, Args::kNone, "before fusing: blocks go through whole networks"},
    {"share_layouts", 2, Args::kNone, "transforms of images are next to regions now"},
    {"fold_constants", 2, Args::kNone, "a bias in blocks is a constant"},
    {"fuse_ops", 0, Args::kNone, "a codegen has to take the other ops"},
    {"choose_computes", 0, Args::kNone, "functions and layouts are those that are compiled"},
    {"run_codegen", 0, Args::kNone, "all regions and groups are functions by now"},
    {"inline_functions", 0, Args::kNone,
     "ops that a plugin declined are in functions of their own"},
    {"eliminate_dead_code", 0, Args::kNone, "constants that only compiled functions read"},
    {"copy_to_devices", 0, Args::kNone, "the compiled functions and their devices are known"},
    {"plan_memory", 0, Args::kNone, "only externs are left: every live tensor is known"},
};

constexpr std::string_view kLastOfPartition = "partition_graph";

Pass pass_of(const PassInfo& info, PassArgs args) {
  Pass out{info.name, info.run, std::move(args)};
  for (const std::string& name : info.on_declined) {
    auto at = std::ranges::find(all_passes(), name, &PassInfo::name);
    BYOC_CHECK(at != all_passes().end(), "no pass ", name, " in the table");
    out.on_declined.push_back({at->name, at->run, {}});
  }
  return out;
}

/// Returns the number of passes up to the last one of that name, 0 when there is none.
std::ptrdiff_t end_of(std::string_view name, const std::vector<Pass>& passes) {
  return passes.rend() - std::find_if(passes.rbegin(), passes.rend(),
                                      [&](const Pass& pass) { return pass.name == name; });
}

/// Returns the number of passes up to the last one of that name.
Result<std::ptrdiff_t> known_end_of(std::string_view name, const std::vector<Pass>& passes) {
  if (std::ptrdiff_t end = end_of(name, passes); end > 0) return end;
  std::vector<std::string> known;
  for (const Pass& pass : passes) known.push_back(pass.name);
  return not_found(cat("no pass \"", name, "\" in the pipeline", did_you_mean(name, known)))
      .with_slug("unknown-pass")
      .with_help("byoc opt --list");
}

/// Returns the number of the last row of that name, nullopt when there is none.
std::optional<size_t> last_row(std::string_view name) {
  for (size_t k = std::size(kRows); k-- > 0;) {
    if (kRows[k].pass == name) return k;
  }
  return std::nullopt;
}

/// Returns the number of passes that come before one that follows `name`: up to the last pass of
/// that name, or where it is left out at this level, up to the last pass of an earlier row.
std::ptrdiff_t end_before(std::string_view name, const std::vector<Pass>& passes) {
  if (std::ptrdiff_t end = end_of(name, passes); end > 0) return end;
  std::ptrdiff_t end = 0;
  for (size_t k = last_row(name).value_or(0); k-- > 0 && end == 0;)
    end = end_of(kRows[k].pass, passes);
  return end;
}

/// Adds the passes of libraries; of several after one pass, those added first come first.
void insert_added(std::vector<Pass>& passes) {
  std::map<std::string, std::string> last;  // that was put after a pass
  for (const extend::AddedPass& added : extend::added().passes) {
    if (added.after.empty()) continue;
    auto [at, is_new] = last.try_emplace(added.after, added.after);
    passes.insert(passes.begin() + end_before(at->second, passes), pass_of(added.info, {}));
    at->second = added.info.name;
  }
}

Result<const PassInfo*> find_pass(std::string_view name) {
  std::vector<std::string> names;
  for (const PassInfo& info : all_passes()) {
    if (info.name == name) return &info;
    names.push_back(info.name);
  }
  return not_found(cat("no pass \"", name, "\"", did_you_mean(name, names)))
      .with_slug("unknown-pass")
      .with_help("byoc opt --list");
}

// Returns the parts of `text` between separators that are outside of brackets.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == separator && depth <= 0) out.emplace_back();
    else out.back() += c;
  }
  return text.empty() ? std::vector<std::string>() : out;
}

Result<Pass> parse_pass(const std::string& text) {
  size_t equals = std::min(text.find('='), text.size());
  BYOC_TRY(const PassInfo* info, find_pass(text.substr(0, equals)));
  Pass pass = pass_of(*info, {});
  if (equals < text.size()) pass.args = split(text.substr(equals + 1), '+');
  if (pass.args.empty() || !info->args.empty()) return pass;
  return invalid(cat("the pass ", pass.name, " takes no arguments, \"", text, "\" gives some"))
      .with_slug("pass-args");
}

}  // namespace

const std::vector<PassInfo>& all_passes() {
  static std::vector<PassInfo> table = make_table();
  static size_t of_libraries = 0;  // that are in the table already
  for (; of_libraries < extend::added().passes.size(); ++of_libraries)
    table.push_back(extend::added().passes[of_libraries].info);
  return table;
}

Result<std::vector<Pass>> parse_passes(std::string_view text) {
  std::vector<Pass> passes;
  for (const std::string& part : split(text, ',')) {
    BYOC_TRY(Pass pass, parse_pass(part));
    passes.push_back(std::move(pass));
  }
  return passes;
}

Status check_pass_names(const PassContext& context) {
  std::vector<std::string> names = split(env_value("BYOC_SKIP"), ',');
  names.insert(names.end(), context.disabled.begin(), context.disabled.end());
  std::string stop_after = env_value("BYOC_STOP_AFTER");
  if (!stop_after.empty()) names.push_back(stop_after);
  for (const std::string& name : names) BYOC_TRY_STATUS(find_pass(name).status());
  return {};
}

std::vector<Pass> Pipeline::whole(const PassContext& context) {
  std::vector<Pass> out;
  const bool by_cost = context.option("placement") != "priority";
  for (const Row& row : kRows) {
    if (context.level < row.level || (row.args == Args::kByCost && !by_cost)) continue;
    const std::vector<PassInfo>& table = all_passes();
    auto at = std::ranges::find(table, row.pass, &PassInfo::name);
    BYOC_CHECK(at != table.end(), "no pass ", row.pass, " in the table");
    BYOC_CHECK(row.args == Args::kNone || !at->args.empty(), row.pass, " takes no plugins");
    const bool none = row.args == Args::kNone || (row.args == Args::kByPriority && by_cost);
    out.push_back(pass_of(*at, none ? PassArgs{} : context.compilers));
  }
  insert_added(out);
  return out;
}

Result<std::vector<Pass>> Pipeline::until(std::string_view name, const PassContext& context) {
  std::vector<Pass> passes = whole(context);
  BYOC_TRY(std::ptrdiff_t end, known_end_of(name, passes));
  passes.resize(static_cast<size_t>(end));
  return passes;
}

Result<std::vector<Pass>> Pipeline::after(std::string_view name, const PassContext& context) {
  std::vector<Pass> passes = whole(context);
  BYOC_TRY(std::ptrdiff_t end, known_end_of(name, passes));
  passes.erase(passes.begin(), passes.begin() + end);
  return passes;
}

std::vector<Pass> partition_pipeline(const PassContext& context) {
  Result<std::vector<Pass>> out = Pipeline::until(kLastOfPartition, context);
  BYOC_CHECK(out.ok(), out.status().message());
  return *std::move(out);
}

std::vector<Pass> codegen_pipeline(const PassContext& context) {
  Result<std::vector<Pass>> out = Pipeline::after(kLastOfPartition, context);
  BYOC_CHECK(out.ok(), out.status().message());
  return *std::move(out);
}

}  // namespace byoc
