// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/run_replay.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/options.h"
#include "byoc/pass/bind.h"
#include "byoc/pass/partition.h"
#include "byoc/te/module.h"
#include "core/codegen/count_work.h"
#include "core/region/judge.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/replay/case_sizes.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {
namespace {

class ReplayCompiler {
 public:
  ReplayCompiler(const ReplayCase& replay, const Plugin& plugin,
                 std::shared_ptr<const PluginSet> plugins)
      : case_(replay), plugin_(plugin), plugins_(std::move(plugins)), out_(program_.facts) {
    out_.plugin = plugin.id();
    out_.version = plugin.version();
    out_.as_stored = plugin.id() == replay.plugin;
  }

  Result<ReplayProgram> run() {
    BYOC_TRY(IRModule module, module_of(case_));
    has_loops_ = te::has_loops(module.function(module.entry));  // these have no ops to partition
    BYOC_TRY_STATUS(out_.as_stored || has_loops_ ? compile_as_stored(module)
                                                 : compile_by_other(std::move(module)));
    return std::move(program_);
  }

 private:
  /// Records the verdict of judge on each node. The graph is compiled even if judge refuses nodes.
  void judge(IRModule module) {
    for (auto& [name, function] : module.functions) {
      if (function.attrs.has("composite")) function.attrs.set("owner", plugin_.id());
    }
    const Function& function = module.function(module.entry);
    PassContext context;
    context.plugins = plugins_;
    Judge judge(module, context);
    UseCounts uses(function);
    for (uint32_t k = 0; k < function.nodes.size(); ++k) {
      const Node& node = function.nodes[k];
      if (std::holds_alternative<Param>(node.kind) || std::holds_alternative<Constant>(node.kind))
        continue;
      Verdict verdict = judge.takes(plugin_, function, uses, k);
      auto locs = op_locs(module, node);
      out_.verdicts.push_back({op_label(module, node), locs.empty() ? "" : locs[0].str(),
                               verdict.accept, std::move(verdict.reason)});
      out_.ops += op_count(module, node);
    }
  }

  Status compile_as_stored(const IRModule& module) {
    if (has_loops_) out_.ops = 1;
    else judge(module);
    CompileFunction function{case_.symbol,
                             case_.graph_json,
                             case_.constants,
                             case_.buffers,
                             static_cast<uint32_t>(case_.inputs.size()),
                             static_cast<uint32_t>(case_.outputs.size()),
                             case_.point_json};
    BuildOptions build;
    BYOC_TRY_STATUS(read_function_options(case_.options_json, build));
    CompileResult compiled =
        plugin_.compile({&function, 1}, case_.target_json, case_.threads, compile_flags(build));
    if (compiled.status.code() == Code::kDeclined) {
      out_.declined = compiled.status.message();
      return {};
    }
    if (!compiled.status.ok()) return std::move(compiled.status).at(cat("@", case_.symbol));
    BYOC_CHECK(compiled.module.functions.size() == 1, compiled.module.functions.size(),
               " functions were compiled");
    out_.taken = out_.ops;
    count_work(module, module.function(module.entry), compiled.module.functions[0]);
    BYOC_TRY(program_.executable, program_of(case_, std::move(compiled)));
    return {};
  }

  /// Compiles the ops without these composites, which another plugin does not have.
  Status compile_by_other(IRModule module) {
    Report report;
    BuildOptions build{.plugins = plugins_, .compilers = {plugin_.id()}};
    build.threads = case_.threads;
    build.target_json = case_.target_json;
    build.report = &report;
    BYOC_TRY_STATUS(read_function_options(case_.options_json, build));
    BYOC_TRY(PassContext context, make_context(module, build));
    BYOC_TRY(module, inline_composites(std::move(module), {}, context));
    if (!case_.sizes.empty()) {
      GivenShapes numbers;
      for (const auto& [name, number] : case_.sizes) numbers[name] = {number};
      BYOC_TRY(module, bind_shapes(std::move(module), numbers, context));
    }
    module.function(module.entry).attrs = {};
    BYOC_TRY(auto passes, Pipeline::until("fuse_ops", context));
    BYOC_TRY(module, run_passes(std::move(module), passes, context));
    for (const PlacedOp& op : placement_of(module).ops) {
      ++out_.ops;
      out_.taken += op.plugin == plugin_.id();
    }
    if (out_.taken > 0) {
      BYOC_TRY(program_.executable, compile_regions(std::move(module), context));
    }
    for (const Report::Remark& remark : report.remarks) add_remark(remark);
    return {};
  }

  void add_remark(const Report::Remark& remark) {
    if (remark.plugin != plugin_.id()) return;
    if (remark.kind == Report::Remark::kDeclined) {
      out_.declined = remark.reason;
      program_.executable.reset();
      return;
    }
    if (remark.kind == Report::Remark::kNote) return;
    bool slow = remark.kind == Report::Remark::kSlow;
    out_.verdicts.push_back({remark.op, remark.locs.empty() ? "" : remark.locs[0].str(),
                             slow ? Verdict::kSlow : Verdict::kNo, remark.reason});
  }

  const ReplayCase& case_;
  const Plugin& plugin_;
  std::shared_ptr<const PluginSet> plugins_;
  ReplayProgram program_;
  bool has_loops_ = false;
  Replayed& out_;
};

}  // namespace

bool Replayed::passed() const {
  return taken > 0 && declined.empty() &&
         std::all_of(outputs.begin(), outputs.end(),
                     [](const ComparedValue& value) { return value.difference.is_equal; });
}

Result<IRModule> module_of(const ReplayCase& replay) {
  return read_graph_json(replay.graph_json, all_ops(), [&](const ContentKey& key) {
    for (size_t k = 0; k < replay.constants.size(); ++k) {
      if (replay.constants[k].key == key) return replay.buffers[k];
    }
    return std::shared_ptr<const Buffer>();
  });
}

Result<ReplayProgram> compile_replay(const ReplayCase& replay, const Plugin& plugin,
                                     std::shared_ptr<const PluginSet> plugins) {
  return ReplayCompiler(replay, plugin, std::move(plugins)).run();
}

Result<Replayed> run_replay(const ReplayCase& replay, const Plugin& plugin,
                            const std::shared_ptr<const PluginSet>& plugins, double tolerance) {
  BYOC_TRY(ReplayProgram program, compile_replay(replay, plugin, plugins));
  Replayed out = std::move(program.facts);
  if (!program.executable) return out;
  BYOC_TRY(auto inputs, inputs_for(replay, program.executable->program));
  BYOC_TRY(auto got, execute(*std::move(program.executable), plugins, replay.threads, inputs));
  BYOC_CHECK(got.size() == replay.outputs.size(), got.size(), " outputs, ", replay.outputs.size(),
             " are stored");
  for (size_t k = 0; k < got.size(); ++k) {
    const ReplayTensor& right = replay.outputs[k];
    out.outputs.push_back(
        compare_value(right.name, got[k], right.tensor, limit_of(replay, k, tolerance)));
  }
  return out;
}

}  // namespace byoc::driver
