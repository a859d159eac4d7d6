// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/open/translate_open.h"

#include <algorithm>
#include <map>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kUsual = 128;        // of a size that may be as large
constexpr int64_t kNominalLanes = 16;  // elements
constexpr int64_t kMost = int64_t{1} << 31;

// Returns a number that schedules are chosen for: whole vectors where the bounds have some.
int64_t nominal_of(Dim size) {
  const int64_t most = std::min(size.max(), kUsual);
  const int64_t whole = most / kNominalLanes * kNominalLanes;
  return std::max(size.min(), whole > 0 ? whole : most);
}

Result<TypeId> nominal_of(TypeId type) {
  TensorType out{type->dtype, {}};
  for (Dim dim : type->shape) {
    if (is_open(dim)) {
      for (Dim size : sizes_in(dim)) {
        if (size.max() <= kMost) continue;
        return unimplemented(cat("the size ", size,
                                 " has no upper bound: give it one, as in --shape ", size.name(),
                                 "=1..64"))
            .with_slug("symbolic-shape");
      }
      BYOC_TRY(dim, with_sizes(dim, [](Dim size) { return std::optional(Dim(nominal_of(size))); }));
    }
    out.shape.push_back(dim);
  }
  return TypeId(out);
}

bool has_open_type(const Node& node) {
  for (size_t k = 0; k < node.types.size(); ++k) {
    if (has_open(node.types[k]->shape)) return true;
  }
  return false;
}

// Returns true where an operand or a result of a call is open.
bool is_open_call(const Function& function, uint32_t index) {
  const Node& node = function.nodes[index];
  return has_open_type(node) || std::ranges::any_of(function.args(node), [&](ValueId arg) {
           return has_open(function.type(arg)->shape);
         });
}

// Chooses by level among the computes that take what a call has, and keeps what was chosen.
class Chosen {
 public:
  Chosen(const IRModule& open, const IRModule& nominal) {
    for (const auto& [name, function] : nominal.functions)
      functions_[&function] = &open.functions.at(name);
  }
  te::StrategySelector selector() {
    return [this](const te::Site& site, std::span<const te::Strategy> all) {
      return choose(site, all);
    };
  }
  /// Returns the strategies that were chosen, call by call.
  te::StrategyTable again() {
    return [this](const te::Site& site) {
      BYOC_CHECK(next_ < chosen_.size(), site.op->name, " is call ", next_, " of ", chosen_.size());
      te::Strategy one = chosen_[next_++];
      one.applies = nullptr;
      return std::vector<te::Strategy>{one};
    };
  }

 private:
  Result<size_t> choose(const te::Site& site, std::span<const te::Strategy> all) {
    const Function& function = *functions_.at(site.function);
    auto takes = [is_open = is_open_call(function, site.node)](const te::Site&,
                                                               const te::Strategy& s) {
      return !is_open || s.compute.takes_open;
    };
    if (std::ranges::none_of(all, [&](const te::Strategy& s) { return takes(site, s); }))
      return unimplemented(cat(site.op->name, " needs numbers for its sizes, and gives ",
                               function.nodes[site.node].types))
          .with_slug("symbolic-shape");
    BYOC_TRY(size_t choice, te::only(takes, te::by_level())(site, all));
    chosen_.push_back(all[choice]);
    return choice;
  }

  std::map<const Function*, const Function*> functions_;
  std::vector<te::Strategy> chosen_;
  size_t next_ = 0;
};

}  // namespace

bool has_open_sizes(const IRModule& module) {
  return std::ranges::any_of(module.functions, [](const auto& entry) {
    return std::ranges::any_of(entry.second.nodes, has_open_type);
  });
}

Result<IRModule> nominal_module(const IRModule& module) {
  IRModule out = module;
  for (auto& [name, function] : out.functions) {
    for (Node& node : function.nodes) {
      if (!has_open_type(node)) continue;
      std::vector<TypeId> types;
      for (size_t k = 0; k < node.types.size(); ++k) {
        BYOC_TRY(types.emplace_back(), nominal_of(node.types[k]));
      }
      node.types = TypeIds(types);
    }
  }
  return out;
}

Result<OpenDag> translate_open(const IRModule& module, const te::Target& target) {
  BYOC_TRY(const IRModule nominal, nominal_module(module));
  Chosen chosen(module, nominal);
  OpenDag out;
  BYOC_TRY(out.nominal, translate(nominal, target, chosen.selector()));
  BYOC_TRY(out.open, translate(module, target, te::by_level(), chosen.again()));
  const bool fits = std::ranges::equal(out.open.stages, out.nominal.stages, {}, &te::Stage::name,
                                       &te::Stage::name);
  BYOC_CHECK(fits, "the stages of ", out.open.name, " depend on the numbers of its sizes");
  return out;
}

}  // namespace byoc::llvm_plugin
