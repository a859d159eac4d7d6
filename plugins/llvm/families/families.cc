// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/siblings.h"
#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/schedule.h"

// A row is the only place that a family takes outside of its folder.
#define BYOC_FAMILY(name)             \
  namespace byoc::llvm_plugin::name { \
  extern const Family kFamily;        \
  }
#include "plugins/llvm/families/families.inc"
#undef BYOC_FAMILY

namespace byoc::llvm_plugin {
namespace {

constexpr const Family* kFamilies[] = {
#define BYOC_FAMILY(name) &name::kFamily,
#include "plugins/llvm/families/families.inc"
#undef BYOC_FAMILY
};

// Returns the family that has made the sums of a Dag for its own schedule, or null. Stages of
// constants, without sums, are computed once, in any schedule.
const Family* family_of_sums(const te::Dag& dag) {
  for (const te::Stage& stage : dag.stages) {
    const auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute == nullptr || compute->reduce.empty()) continue;
    for (const Family* family : kFamilies) {
      if (family->owns != nullptr && family->owns(stage.compute)) return family;
    }
  }
  return nullptr;
}

/// The families that a function does without, and those that it prefers.
struct Wishes {
  explicit Wishes(const Function& function) : text(function.attrs.s(kFamiliesAttr, "")) {}
  bool excludes(const Family& family) const { return has('-', family); }
  bool prefers(const Family& family) const { return has('+', family); }
  bool has(char sign, const Family& family) const {
    const std::string word = cat(std::string(1, sign), family.name);
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const size_t end = at + word.size();
      if (end == text.size() || text[end] == ',') return true;
    }
    return false;
  }
  std::string text;
};

/// The matches of all families in one function.
class Matches {
 public:
  explicit Matches(const Function& function)
      : wishes_(function), is_open_(std::ranges::any_of(function.nodes, has_open_type)) {
    for (const Node& node : function.nodes) {
      has_open_type_.push_back(has_open_type(node));
      shapes_.push_back(node.types.size() > 0 ? node.types[0]->shape : Shape());
    }
    for (const Family* family : kFamilies) {
      if (family->find == nullptr || excludes(*family)) continue;
      for (Match& match : family->find(function, wishes_.prefers(*family)))
        add(*family, std::move(match));
    }
    has_one_kernel_ = count_centers(function) <= 1;
  }

  struct Found {
    const Family* family = nullptr;
    Match match;
  };
  const std::vector<Found>& all() const { return found_; }
  /// Returns the match that a node is in, or null.
  const Found* at(uint32_t node) const {
    const auto known = of_node_.find(node);
    return known == of_node_.end() ? nullptr : &found_[known->second];
  }
  const Wishes& wishes() const { return wishes_; }
  /// Returns true for a family that the function does without.
  bool excludes(const Family& family) const {
    return wishes_.excludes(family) || (is_open_ && !family.declines_open.empty());
  }
  bool has_one_kernel() const { return has_one_kernel_; }
  bool has_open_result(uint32_t node) const { return has_open_type_[node]; }
  const Shape& shape(uint32_t node) const { return shapes_[node]; }

 private:
  void add(const Family& family, Match match) {
    if (std::ranges::any_of(match.nodes, [&](uint32_t n) { return of_node_.contains(n); })) return;
    for (uint32_t node : match.nodes) of_node_[node] = found_.size();
    found_.push_back({&family, std::move(match)});
  }
  // Counts what has sums: a match is one of them.
  size_t count_centers(const Function& function) const {
    size_t out = found_.size();
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      const auto* call = std::get_if<Call>(&function.nodes[node].kind);
      if (call == nullptr || of_node_.contains(node)) continue;
      const FusionKind kind = call->op->kind;
      out += kind == FusionKind::kAnchor || kind == FusionKind::kReduction ||
             kind == FusionKind::kOpaque || call->op->facts.family == OpFamily::kResize;
    }
    return out;
  }

  Wishes wishes_;
  bool is_open_;                     // some type of the function is
  std::vector<bool> has_open_type_;  // per node
  std::vector<Shape> shapes_;        // of the first results, per node
  std::vector<Found> found_;
  std::map<uint32_t, size_t> of_node_;  // -> in found_
  bool has_one_kernel_ = true;
};

int highest_level(const Strategies& all) {
  return std::ranges::max_element(all, {}, &te::Strategy::level)->level;
}

// Makes the compute of the least estimated cost the usual one, of those that may be.
void take_cheapest(const te::Site& site, Strategies& out) {
  te::Strategy* best = nullptr;
  double least = INFINITY;
  for (te::Strategy& strategy : out) {
    if (strategy.level <= kPossible || !strategy.cost_ns) continue;
    const double cost = strategy.cost_ns(site);
    if (cost < least) best = &strategy, least = cost;
  }
  if (best != nullptr) best->level = highest_level(out) + 1;
}

// Makes the best of a family's computes the usual one: the one that would be, or the cheapest.
void prefer(const te::Site& site, Strategies& out, std::span<te::Strategy> own) {
  const auto order = [&](const te::Strategy& s) {
    return std::pair(-s.level, s.cost_ns ? s.cost_ns(site) : INFINITY);
  };
  std::ranges::min_element(own, {}, order)->level = highest_level(out) + 1;
}

void add_computes(const Matches& matches, const te::Site& site, Strategies& out) {
  const Matches::Found* found = matches.at(site.node);
  std::vector<std::pair<size_t, size_t>> preferred;  // ranges of `out`
  for (const Family* family : kFamilies) {
    if (family->add_computes == nullptr || matches.excludes(*family)) continue;
    if (found != nullptr && found->family != family) continue;
    const size_t first = out.size();
    family->add_computes({site, found == nullptr ? nullptr : &found->match,
                          matches.has_open_result(site.node), matches.shape(site.node)},
                         out);
    if (matches.wishes().prefers(*family) && out.size() > first)
      preferred.emplace_back(first, out.size());
  }
  take_cheapest(site, out);
  for (const auto& [first, end] : preferred)
    prefer(site, out, std::span(out).subspan(first, end - first));
  if (!matches.has_one_kernel())
    std::erase_if(out, [](const te::Strategy& s) { return !s.has_generic_schedule; });
}

using ScheduleAt = std::function<Result<te::Schedule>(const topi::Point&)>;

// A family that has chosen its compute and then refuses the schedule has a defect, which another
// kernel in its place would hide.
ScheduleAt reporting(const Family& family, std::string name, ScheduleAt at) {
  return [&family, name = std::move(name), at = std::move(at)](const topi::Point& point) {
    Result<te::Schedule> out = at(point);
    if (out.ok()) return out;
    return Result<te::Schedule>(
        failed(cat("the kernel family ", family.name, " has chosen its compute for ", name,
                   ", and refuses the schedule: ", out.status().message()))
            .with_slug("family-refused")
            .with_help(cat("--plugin-option llvm.families=-", family.name,
                           " compiles without it; please report the model")));
  };
}

std::string names_of_families() {
  std::string out;
  for (const Family* family : kFamilies) out += cat(out.empty() ? "" : ", ", family->name);
  return out;
}

}  // namespace

std::string_view Match::role(uint32_t node) const {
  const auto at = roles.find(node);
  return at == roles.end() ? std::string_view() : at->second;
}

const Family& family_named(std::string_view name) {
  const auto* known = std::ranges::find(kFamilies, name, &Family::name);
  BYOC_CHECK(known != std::end(kFamilies), cat("there is a kernel family ", name));
  return **known;
}

Status check_families(std::string_view text) {
  std::vector<std::string_view> named;
  for (bool is_last = text.empty(); !is_last;) {
    const size_t end = text.find(',');
    const std::string_view word = text.substr(0, end);
    const bool is_known =
        word.size() > 1 && (word[0] == '-' || word[0] == '+') &&
        std::ranges::find(kFamilies, word.substr(1), &Family::name) != std::end(kFamilies);
    if (!is_known)
      return invalid(cat("families: \"", word, "\" is none; a sign and one of ",
                         names_of_families(), ", separated by commas, such as \"-winograd\""))
          .with_slug("bad-option");
    if (std::ranges::find(named, word.substr(1)) != named.end())
      return invalid(cat("families: ", word.substr(1), " is named twice")).with_slug("bad-option");
    named.push_back(word.substr(1));
    is_last = end == std::string_view::npos;
    if (!is_last) text.remove_prefix(end + 1);
  }
  return {};
}

te::StrategyTable strategies() { return strategies(OpenFunctions()); }

te::StrategyTable strategies(OpenFunctions open_of) {
  struct Known {  // of the function at hand, and of composites that it calls
    std::map<const Function*, Matches> matches;
  };
  return [direct = te::direct_strategies(), known = std::make_shared<Known>(),
          open_of = std::move(open_of)](const te::Site& site) {
    auto at = known->matches.find(site.function);
    if (at == known->matches.end()) {
      const auto open = open_of.find(site.function);
      const Function& function = open == open_of.end() ? *site.function : *open->second;
      at = known->matches.emplace(site.function, Matches(function)).first;
    }
    Strategies out = direct(site);
    if (!out.empty()) add_computes(at->second, site, out);
    return out;
  };
}

namespace {

// Removes the computes that nothing reads, readers first. Linear.
void drop_unread(te::Dag& dag) {
  std::vector<bool> is_read(dag.stages.size(), false);
  std::unordered_map<const void*, size_t> stage_of;  // by Tensor::id()
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    for (const te::Tensor& output : dag.stages[s].outputs) stage_of[output.id()] = s;
  }
  auto read = [&](const te::Tensor& tensor) { is_read[stage_of.at(tensor.id())] = true; };
  for (const te::Tensor& output : dag.outputs) read(output);
  for (size_t s = dag.stages.size(); s-- > 0;) {
    const te::Stage& stage = dag.stages[s];
    if (const auto* procedure = std::get_if<te::Procedure>(&stage.kind)) {
      is_read[s] = true;
      for (const te::Tensor& input : procedure->inputs) read(input);
    }
    const te::Compute* compute = topi::compute_of(stage);
    if (compute == nullptr) is_read[s] = true;
    if (compute == nullptr || !is_read[s]) continue;
    for (const te::Load* load : topi::loads_of(*compute)) read(load->tensor);
  }
  size_t kept = 0;
  for (size_t s = 0; s < dag.stages.size(); ++s) {
    if (is_read[s] && kept++ != s) dag.stages[kept - 1] = std::move(dag.stages[s]);
  }
  dag.stages.resize(kept);
}

}  // namespace

bool has_open_type(const Node& node) {
  for (size_t k = 0; k < node.types.size(); ++k) {
    if (has_open(node.types[k]->shape)) return true;
  }
  return false;
}

Result<te::Dag> translate(const IRModule& module, const te::Target& target,
                          const te::StrategySelector& selector) {
  return translate(module, target, selector, strategies());
}

Result<te::Dag> translate(const IRModule& module, const te::Target& target,
                          const te::StrategySelector& selector,
                          const te::StrategyTable& strategies) {
  BYOC_TRY(te::Dag out, te::translate_to_te(module, module.function(module.entry), target, selector,
                                            strategies));
  drop_unread(out);
  join_siblings(out);
  return out;
}

std::optional<topi::Template> family_template(const te::Dag& dag, const te::Target& target) {
  const Family* own = family_of_sums(dag);
  for (const Family* family : kFamilies) {
    if (family->schedules == nullptr || (own != nullptr && family != own)) continue;
    std::optional<topi::Template> found = family->schedules(dag, target);
    if (found && own != nullptr) found->at = reporting(*own, dag.name, std::move(found->at));
    if (found) return found;
  }
  if (own == nullptr) return std::nullopt;
  topi::Template out = topi::default_template(dag, target);
  out.at = reporting(*own, dag.name, [](const topi::Point&) -> Result<te::Schedule> {
    return invalid("the stages are not those that it schedules");
  });
  return out;
}

topi::Template template_of(const te::Dag& dag, const te::Target& target) {
  std::optional<topi::Template> found = family_template(dag, target);
  return found ? *std::move(found) : topi::default_template(dag, target);
}

std::vector<KernelGroup> groups_of(const Function& function) {
  std::vector<KernelGroup> out;
  const Matches matches(function);
  for (const Matches::Found& found : matches.all())
    out.push_back({found.family->name, found.match.nodes});
  for (std::vector<uint32_t>& nodes : sibling_reductions(function))
    out.push_back({"siblings", std::move(nodes)});
  return out;
}

}  // namespace byoc::llvm_plugin
