// SPDX-License-Identifier: Apache-2.0
#include "core/tools/place/borders.h"

#include <map>

#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr size_t kShownBorders = 40;

// For each result and operand of a region the layout outside of it, where a layout_transform of the
// region changes it; else "".
struct Ends {
  std::vector<std::string> results, operands;
};

const Call* transform_of(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && call->op->facts.family == OpFamily::kLayoutTransform ? call : nullptr;
}

Ends ends_of(const Function& region) {
  Ends out;
  out.operands.resize(region.num_params());
  for (ValueId result : region.results) {
    const Call* call = transform_of(region.nodes[result.node]);
    out.results.push_back(call == nullptr ? "" : call->attrs->s("dst_layout"));
  }
  for (const Node& node : region.nodes) {
    const Call* call = transform_of(node);
    if (call == nullptr || region.args(node)[0].node >= out.operands.size()) continue;
    out.operands[region.args(node)[0].node] = call->attrs->s("src_layout");
  }
  return out;
}

class Finder {
 public:
  explicit Finder(const IRModule& module) : module_(module) {}

  std::vector<Border> run() {
    for (const auto& [name, function] : module_.functions) {
      if (function.attrs.has("compiler") || function.attrs.has("composite")) continue;
      for (const Node& node : function.nodes) visit(function, node);
    }
    return std::move(out_);
  }

 private:
  // Returns the name of the region that a node calls, empty when it calls none.
  Symbol region_of(const Node& node) const {
    auto* invoke = std::get_if<Invoke>(&node.kind);
    if (invoke == nullptr || !module_.function(invoke->function).attrs.has("compiler")) return {};
    return invoke->function;
  }

  const Ends& ends(Symbol region) {
    auto [at, is_new] = ends_.try_emplace(region);
    if (is_new) at->second = ends_of(module_.function(region));
    return at->second;
  }

  void visit(const Function& function, const Node& node) {
    const Symbol reader = region_of(node);
    if (reader.empty()) return;
    const std::span<const ValueId> args = function.args(node);
    for (uint32_t k = 0; k < args.size(); ++k) {
      const Symbol maker = region_of(function.nodes[args[k].node]);
      if (maker.empty()) continue;
      Border border;
      border.from = module_.function(maker).attr("compiler");
      border.to = module_.function(reader).attr("compiler");
      if (border.from == border.to) continue;
      const std::string& made = ends(maker).results[args[k].output];
      const std::string& read = ends(reader).operands[k];
      border.layout = made.empty() ? read : made;
      if (!made.empty()) border.changed_in = border.from;
      if (!read.empty()) border.changed_in += cat(made.empty() ? "" : ", ", border.to);
      border.first = cat("@", maker, " -> @", reader);
      add(std::move(border), function.type(args[k]));
    }
  }

  void add(Border border, TypeId type) {
    border.type = cat(type);
    const std::string key = cat(border.from, " ", border.to, " ", border.type, " ", border.layout,
                                " ", border.changed_in);
    auto [at, is_new] = index_.try_emplace(key, out_.size());
    if (is_new) out_.push_back(std::move(border));
    Border& same = out_[at->second];
    ++same.tensors;
    const Result<int64_t> bytes = size_bytes(*type);
    if (bytes.ok()) same.bytes += static_cast<uint64_t>(*bytes);
  }

  const IRModule& module_;
  std::map<Symbol, Ends> ends_;
  std::map<std::string, size_t> index_;
  std::vector<Border> out_;
};

}  // namespace

std::vector<Border> borders_of(const IRModule& module) { return Finder(module).run(); }

std::string borders_text(const std::vector<Border>& borders) {
  if (borders.empty()) return "borders: none between plugins\n";
  cli::Table table({"border", "type", "layout", "transform in", ">tensors", ">size", "first"});
  for (size_t k = 0; k < borders.size() && k < kShownBorders; ++k) {
    const Border& border = borders[k];
    table.add({cat(border.from, " -> ", border.to), border.type,
               border.layout.empty() ? "as it is" : border.layout,
               border.changed_in.empty() ? "none" : border.changed_in, cat(border.tensors),
               cli::format_mib(border.bytes), border.first});
  }
  std::string out = table.text();
  if (borders.size() > kShownBorders)
    out += cat("... and ", borders.size() - kShownBorders, " more; all with --json\n");
  return out;
}

Json borders_json(const std::vector<Border>& borders) {
  Json out = Json::array();
  for (const Border& border : borders) {
    out.push_back({{"from", border.from},
                   {"to", border.to},
                   {"type", border.type},
                   {"layout", border.layout},
                   {"transform_in", border.changed_in},
                   {"first", border.first},
                   {"tensors", border.tensors},
                   {"bytes", border.bytes}});
  }
  return out;
}

}  // namespace byoc::driver
