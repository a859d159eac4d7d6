// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/placement.h"

#include <map>
#include <set>

#include "byoc/base/json.h"
#include "byoc/extend/loops.h"
#include "byoc/ir/visit.h"
#include "byoc/op/op.h"
#include "core/tools/show/op_labels.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

double flops_of(const Function& function, const Node& node, const Call& call) {
  std::vector<TypeId> inputs, outputs;
  for (ValueId arg : function.args(node)) inputs.push_back(function.type(arg));
  for (size_t k = 0; k < node.types.size(); ++k) outputs.push_back(node.types[k]);
  // Flops are not known for shapes with named extents.
  for (const auto* types : {&inputs, &outputs}) {
    for (TypeId type : *types) {
      if (!is_static(type->shape)) return 0;
    }
  }
  return flops(*call.op, inputs, outputs, *call.attrs);
}

}  // namespace

void TensorTotal::add(TypeId type) {
  ++tensors;
  Result<int64_t> size = size_bytes(*type);
  if (size.ok()) bytes += static_cast<uint64_t>(*size);
}

namespace {

class Walk {
 public:
  explicit Walk(const IRModule& module) : module_(module) {}

  Placement run() {
    pending_.push_back({module_.entry, "", ""});
    while (!pending_.empty()) {
      Job job = pending_.back();
      pending_.pop_back();
      if (const Function* function = module_.find(job.name)) visit(job, *function);
    }
    for (PlacedRegion& region : out_.regions) {
      if (auto at = loop_ops_.find(region.function); at != loop_ops_.end())
        region.ops = at->second.ops, region.flops = at->second.flops;
    }
    count_ends();
    return std::move(out_);
  }

 private:
  struct Job {
    Symbol name;
    Symbol plugin, composite;  // of the enclosing functions
    size_t region = SIZE_MAX;
  };

  void count_ends() {
    auto borders = measure_partition(module_);
    if (borders.ok()) out_.borders = *borders;
    const Function* entry = module_.find(module_.entry);
    if (entry == nullptr) return;
    for (uint32_t k = 0; k < entry->num_params(); ++k) out_.inputs.add(entry->nodes[k].types[0]);
    for (ValueId result : entry->results) out_.outputs.add(entry->type(result));
  }

  void visit(Job job, const Function& function) {
    bool is_region =
        job.plugin.empty() && function.attrs.has("compiler") && job.name != module_.entry;
    if (is_region) {
      job.plugin = function.attr("compiler");
      job.region = out_.regions.size();
      out_.regions.push_back({job.plugin, job.name});
    }
    if (function.attrs.has("composite")) job.composite = function.attr("composite");
    std::vector<Job> inner;
    for (const Node& node : function.nodes) {
      std::visit(
          overloaded{[](const Param&) {}, [](const Constant&) {}, [](const Extern&) {},
                     [&](const Call& call) { add(job, function, node, call); },
                     [&](const Invoke& invoke) {
                       if (const Function* loops = library_loops_of(module_, node))
                         add_loops(job, node, invoke.function, *loops);
                       bool once = job.region != SIZE_MAX || seen_.insert(invoke.function).second;
                       if (once)
                         inner.push_back({invoke.function, job.plugin, job.composite, job.region});
                     },
                     [&](const Control&) {
                       for (Symbol body : callees(node)) {
                         if (!body.empty() && seen_.insert(body).second)
                           inner.push_back({body, job.plugin, job.composite, job.region});
                       }
                     }},
          node.kind);
    }
    pending_.insert(pending_.end(), inner.rbegin(), inner.rend());  // popped from the end: in order
  }

  void add(const Job& job, const Function& function, const Node& node, const Call& call) {
    if (call.op->is_annotation) return;
    double work = flops_of(function, node, call);
    Symbol region = job.region == SIZE_MAX ? Symbol() : out_.regions[job.region].function;
    out_.ops.push_back({call.op->name, node.loc, job.plugin, region, job.composite, work});
    if (job.region == SIZE_MAX) return;
    ++out_.regions[job.region].ops;
    out_.regions[job.region].flops += work;
  }

  // Adds an op of a library, which is a function of loops that calls may share.
  void add_loops(const Job& job, const Node& node, Symbol name, const Function& loops) {
    const double work = loops.attrs.f("flops", 0);
    out_.ops.push_back(
        {loops.attr(kLibraryOpAttr), node.loc, loops.attr("compiler"), name, job.composite, work});
    ++loop_ops_[name].ops;
    loop_ops_[name].flops += work;
  }

  const IRModule& module_;
  std::map<Symbol, PlacedRegion> loop_ops_;  // by function
  std::vector<Job> pending_;
  std::set<Symbol> seen_;
  Placement out_;
};

struct PluginShare {
  size_t regions = 0, ops = 0;
  double flops = 0;
};

std::map<Symbol, PluginShare> shares_of(const Placement& placement) {
  std::map<Symbol, PluginShare> shares;
  for (const PlacedRegion& region : placement.regions) ++shares[region.plugin].regions;
  for (const PlacedOp& op : placement.ops) {
    ++shares[op.plugin].ops;
    shares[op.plugin].flops += op.flops;
  }
  return shares;
}

}  // namespace

Placement placement_of(const IRModule& module) { return Walk(module).run(); }

IRModule with_names(IRModule module) {
  for (auto& [name, function] : module.functions) {
    for (size_t k = 0; k < function.nodes.size(); ++k) {
      Node& node = function.nodes[k];
      auto* call = std::get_if<Call>(&node.kind);
      if (call != nullptr && node.loc.empty() && !call->op->is_annotation)
        node.loc = cat(call->op->name, "_", k);
    }
  }
  return module;
}

uint64_t constant_bytes(const IRModule& module) {
  uint64_t bytes = 0;
  for (const auto& [key, buffer] : module.constants) bytes += buffer->size();
  return bytes;
}

double total_flops(const Placement& placement) {
  double total = 0;
  for (const PlacedOp& op : placement.ops) total += op.flops;
  return total;
}

std::string flops_text(double flops) {
  if (flops >= 1e9) return cat(cli::format_fixed(flops / 1e9, 2), " GFLOP");
  if (flops >= 1e6) return cat(cli::format_fixed(flops / 1e6, 2), " MFLOP");
  if (flops >= 1e3) return cat(cli::format_fixed(flops / 1e3, 2), " kFLOP");
  return cat(cli::format_fixed(flops, 0), " FLOP");
}

std::string percent_text(double part, double whole) {
  return cat(cli::format_fixed(whole > 0 ? 100 * part / whole : 0, 1), " %");
}

std::string plugin_table(const Placement& placement, const std::string& unplaced) {
  double total = total_flops(placement);
  cli::Table table({"plugin", ">regions", ">ops", ">flops"});
  for (const auto& [plugin, share] : shares_of(placement)) {
    table.add({plugin.empty() ? unplaced : plugin.str(), plugin.empty() ? "" : cat(share.regions),
               cat(share.ops), percent_text(share.flops, total)});
  }
  return table.text();
}

std::string tensors_text(uint64_t tensors, uint64_t bytes) {
  return cat(tensors, tensors == 1 ? " tensor (" : " tensors (", cli::format_mib(bytes), ")");
}

std::string ends_text(const Placement& placement) {
  return cat("inputs: ", tensors_text(placement.inputs.tensors, placement.inputs.bytes),
             "   outputs: ", tensors_text(placement.outputs.tensors, placement.outputs.bytes),
             "\n");
}

std::string border_text(const Placement& placement) {
  return cat("borders: ", tensors_text(placement.borders.tensors, placement.borders.bytes), "   ",
             ends_text(placement));
}

Json placement_json(const Placement& placement) {
  Json plugins = Json::array(), regions = Json::array();
  for (const auto& [plugin, share] : shares_of(placement)) {
    plugins.push_back({{"plugin", plugin.text()},
                       {"regions", share.regions},
                       {"ops", share.ops},
                       {"flops", share.flops}});
  }
  for (const PlacedRegion& region : placement.regions) {
    regions.push_back({{"plugin", region.plugin.text()},
                       {"function", region.function.text()},
                       {"ops", region.ops},
                       {"flops", region.flops}});
  }
  return {{"plugins", plugins},
          {"regions", regions},
          {"border_tensors", placement.borders.tensors},
          {"border_bytes", placement.borders.bytes},
          {"input_tensors", placement.inputs.tensors},
          {"input_bytes", placement.inputs.bytes},
          {"output_tensors", placement.outputs.tensors},
          {"output_bytes", placement.outputs.bytes}};
}

}  // namespace byoc::driver
