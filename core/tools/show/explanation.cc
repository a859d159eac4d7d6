#include "core/tools/show/explanation.h"

#include <algorithm>
#include <unordered_map>

namespace byoc::driver {
namespace {

/// Ops are told apart by location and name: several ops of one ONNX node share the location.
uint64_t key_of(const PlacedOp& op) { return uint64_t{op.name.id()} << 32 | op.op.id(); }

std::vector<std::string> asked_plugins(const PassContext& context) {
  std::vector<std::string> out = context.compilers;
  for (const std::string& id : context.defaults) {
    if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  }
  return out;
}

/// Compiles plugin by plugin; functions that one declines have found their next owner afterwards.
class Compilation {
 public:
  Compilation(const Placement& first, const PassContext& context) : context_(context) {
    note(first);
  }

  Status run(IRModule module, const std::vector<std::string>& plugins) {
    for (const std::string& id : plugins) {
      BYOC_TRY(module, run_codegen(std::move(module), {id}, context_));
      BYOC_TRY(module, inline_functions(std::move(module), context_));
      note(placement_of(module));
    }
    return {};
  }
  const PlacedOp& owner(const PlacedOp& op) const { return owners_.at(key_of(op)); }

 private:
  void note(const Placement& placement) {
    for (const PlacedOp& op : placement.ops) owners_[key_of(op)] = op;
  }

  const PassContext& context_;
  std::unordered_map<uint64_t, PlacedOp> owners_;
};

/// What was said about an op by each plugin: words about the op itself beat those about a composite
/// that it would have been part of.
class Opinions {
 public:
  explicit Opinions(const Report& report) {
    for (const Report::Remark& remark : report.remarks) {
      for (Symbol loc : remark.locs) by_loc_[loc.id()].push_back(&remark);
    }
  }

  /// Ops of one location, name and plugin are told the same, so that a million ops of one location
  /// are no million searches through a million remarks.
  const std::vector<Opinion>& about(const PlacedOp& op, const std::vector<std::string>& plugins) {
    auto [known, is_new] = answers_.try_emplace(key_of(op));
    if (is_new || known->second.plugin != op.plugin)
      known->second = {op.plugin, gather(op, plugins)};
    return known->second.opinions;
  }

 private:
  struct Answer {
    Symbol plugin;
    std::vector<Opinion> opinions;
  };

  std::vector<Opinion> gather(const PlacedOp& op, const std::vector<std::string>& plugins) const {
    std::vector<Opinion> out;
    auto found = by_loc_.find(op.name.id());
    for (const std::string& plugin : plugins) {
      const Report::Remark* said = nullptr;
      for (size_t k = 0; found != by_loc_.end() && k < found->second.size(); ++k) {
        const Report::Remark* remark = found->second[k];
        if (remark->plugin == plugin && concerns(*remark, op) &&
            rank(*remark, op) >= (said ? rank(*said, op) : 0)) {
          said = remark;
        }
      }
      if (said != nullptr) out.push_back({said->kind, plugin, words_of(*said)});
      else if (op.plugin.text() == plugin) break;  // those behind the taker were not asked
    }
    return out;
  }
  /// A plugin that took the op in the end refused nothing that matters; one that did not take it
  /// does not run it.
  static bool concerns(const Report::Remark& remark, const PlacedOp& op) {
    bool is_taker = op.plugin.text() == remark.plugin;
    if (remark.kind == Report::Remark::kNote) return is_taker;
    return !is_taker || remark.kind == Report::Remark::kSlow;
  }
  /// Without the plugin's name in front, which stands beside it anyway.
  static std::string words_of(const Report::Remark& remark) {
    std::string_view reason = remark.reason, prefix = remark.plugin;
    bool named = reason.starts_with(prefix) && reason.substr(prefix.size()).starts_with(": ");
    return std::string(named ? reason.substr(prefix.size() + 2) : reason);
  }
  static int rank(const Report::Remark& remark, const PlacedOp& op) {
    if (remark.kind == Report::Remark::kDeclined) return 3;  // it took the op first: the last word
    return op.op.text() == remark.op ? 2 : 1;
  }

  std::unordered_map<uint32_t, std::vector<const Report::Remark*>> by_loc_;
  std::unordered_map<uint64_t, Answer> answers_;
};

/// The regions as their ops have it, now that some have moved on.
void regroup(Placement& placement) {
  std::unordered_map<uint32_t, size_t> known;
  placement.regions.clear();
  for (const PlacedOp& op : placement.ops) {
    if (op.function.empty()) continue;
    auto [found, fresh] = known.emplace(op.function.id(), placement.regions.size());
    if (fresh) placement.regions.push_back({op.plugin, op.function});
    PlacedRegion& region = placement.regions[found->second];
    ++region.ops;
    region.flops += op.flops;
  }
}

}  // namespace

Result<Explanation> explain(IRModule module, BuildOptions options) {
  Report report;
  options.report = &report;
  module = with_names(std::move(module));
  BYOC_TRY(PassContext context, make_context(module, options));
  BYOC_TRY(module, run_passes(std::move(module), partition_pipeline(context), context));
  Explanation out{.placement = placement_of(module), .plugins = asked_plugins(context)};
  BYOC_TRY(module, inline_functions(std::move(module), context));
  auto fused = fuse_ops(module, context);
  Status compiled = fused.status();
  if (fused.ok()) out.placement = placement_of(*fused);
  Compilation compilation(out.placement, context);
  if (fused.ok()) compiled = compilation.run(*std::move(fused), out.plugins);
  if (!compiled.ok()) out.uncompiled = compiled.to_string();
  for (PlacedOp& op : out.placement.ops) op = compilation.owner(op);
  regroup(out.placement);
  Opinions opinions(report);
  for (const PlacedOp& op : out.placement.ops)
    out.ops.push_back({op, opinions.about(op, out.plugins)});
  return out;
}

}  // namespace byoc::driver
