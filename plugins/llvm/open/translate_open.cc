// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/open/translate_open.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/open/flat_rows.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kUsual = 128;        // of a size that may be as large
constexpr int64_t kNominalLanes = 16;  // elements
constexpr int64_t kMost = int64_t{1} << 31;
// Images of a batch: schedules for several fit one as well.
constexpr int64_t kImages = 4;
// The least extent of what is made of a size, such as rows of H / 32 cells, and the largest size
// that it leads to.
constexpr int64_t kLeastPart = 16, kMostOfParts = 1024;

using Numbers = std::map<Symbol, int64_t>;  // by size

// Returns a number that schedules are chosen for: whole vectors where the bounds have some.
int64_t nominal_of(Dim size, int64_t usual) {
  const int64_t most = std::min(size.max(), usual);
  const int64_t whole = most / kNominalLanes * kNominalLanes;
  return std::max(size.min(), whole > 0 ? whole : most);
}

bool is_image_op(const Call& call) {
  switch (call.op->facts.family) {
    case OpFamily::kConvolution:
    case OpFamily::kTransposedConvolution:
    case OpFamily::kPool:
    case OpFamily::kMeanPool:
      return true;
    default:
      return false;
  }
}

// The sizes that the types of a module have: as the number of images alone, and by how much the
// least extent that is made of them is less.
class SizeUses {
 public:
  explicit SizeUses(const IRModule& module) {
    for (const auto& [name, function] : module.functions) {
      for (const Node& node : function.nodes) {
        const auto* call = std::get_if<Call>(&node.kind);
        for (size_t k = 0; k < node.types.size(); ++k)
          add(node.types[k]->shape, call != nullptr && is_image_op(*call));
      }
    }
  }
  /// Returns true for a size that is a number of images and nothing else.
  bool counts_images(Symbol size) const {
    return images_.contains(size) && !others_.contains(size);
  }
  int64_t number(Dim size) const {
    if (counts_images(size.name())) return std::clamp(kImages, size.min(), size.max());
    const auto parts = parts_.find(size.name());
    const int64_t least = parts == parts_.end() ? 0 : parts->second * kLeastPart;
    return nominal_of(size, std::max(kUsual, std::min(least, kMostOfParts)));
  }

 private:
  void add(const Shape& shape, bool is_image) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!is_open(shape[d])) continue;
      if (d == 0 && is_image) images_.insert(shape[d].name());
      for (Dim size : sizes_in(shape[d])) {
        if (d > 0) others_.insert(size.name());
        if (shape[d].max() < 1 || size.max() > kMost) continue;
        int64_t& parts = parts_[size.name()];
        parts = std::max(parts, size.max() / shape[d].max());
      }
    }
  }
  std::set<Symbol> images_, others_;
  Numbers parts_;
};

using NumberOf = std::function<int64_t(Dim size)>;

Result<TypeId> type_at(TypeId type, const NumberOf& number) {
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
      BYOC_TRY(dim, with_sizes(dim, [&](Dim size) { return std::optional(Dim(number(size))); }));
    }
    out.shape.push_back(dim);
  }
  return TypeId(out);
}

// Returns the module with numbers for its sizes.
Result<IRModule> with_numbers(IRModule module, const NumberOf& number) {
  for (auto& [name, function] : module.functions) {
    for (Node& node : function.nodes) {
      if (!has_open_type(node)) continue;
      std::vector<TypeId> types;
      for (size_t k = 0; k < node.types.size(); ++k) {
        BYOC_TRY(types.emplace_back(), type_at(node.types[k], number));
      }
      node.types = TypeIds(types);
    }
  }
  return module;
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
  const OpenFunctions& functions() const { return functions_; }
  te::StrategySelector selector() {
    return [this](const te::Site& site, std::span<const te::Strategy> all) {
      return choose(site, all);
    };
  }
  /// Returns the strategies that were chosen, call by call.
  te::StrategyTable again() {
    next_ = 0;
    return [this](const te::Site& site) {
      BYOC_CHECK(next_ < chosen_.size(), site.op->name, " is call ", next_, " of ", chosen_.size());
      te::Strategy one = chosen_[next_++];
      one.applies = nullptr;
      return std::vector<te::Strategy>{one};
    };
  }

 private:
  // A compute that takes open sizes may still need the numbers of some.
  Result<size_t> choose(const te::Site& site, std::span<const te::Strategy> all) {
    const Function& function = *functions_.at(site.function);
    const bool is_open = is_open_call(function, site.node);
    std::set<std::string> refused;
    auto takes = [&](const te::Site&, const te::Strategy& s) {
      return !is_open || (s.compute.takes_open && !refused.contains(s.name));
    };
    while (std::ranges::any_of(all, [&](const te::Strategy& s) { return takes(site, s); })) {
      BYOC_TRY(const size_t choice, te::only(takes, te::by_level())(site, all));
      const Status made = is_open ? made_open(all[choice], function, site) : Status();
      if (made.code() == Code::kUnimplemented) {
        refused.insert(all[choice].name);
        continue;
      }
      BYOC_TRY_STATUS(Status(made));
      chosen_.push_back(all[choice]);
      return choice;
    }
    return unimplemented(cat(site.op->name, " needs numbers for its sizes, and gives ",
                             function.nodes[site.node].types))
        .with_slug("symbolic-shape");
  }

  // Calls the compute for the open types, in a Dag that is dropped.
  static Status made_open(const te::Strategy& strategy, const Function& function,
                          const te::Site& site) {
    te::Builder builder(*site.target);
    std::vector<te::Tensor> inputs;
    const Node& node = function.nodes[site.node];
    for (ValueId arg : function.args(node))
      inputs.push_back(builder.placeholder(cat("x", inputs.size()), *function.type(arg)));
    std::vector<TypeId> types;
    for (size_t k = 0; k < node.types.size(); ++k) types.push_back(node.types[k]);
    builder.begin_op(site.op->name, strategy.name, site.node);
    return strategy.compute(builder, inputs, types, *site.attrs).status();
  }

  OpenFunctions functions_;
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
  const SizeUses uses(module);
  return with_numbers(module, [&](Dim size) { return uses.number(size); });
}

namespace {

/// A module with the least numbers of its sizes.
struct LeastModule {
  IRModule module;
  te::Expr holds;               // a run has these sizes
  std::map<Symbol, Dim> sizes;  // all of them
};
Result<LeastModule> with_least_numbers(IRModule module) {
  LeastModule out;
  BYOC_TRY(out.module, with_numbers(std::move(module), [&](Dim size) {
             out.sizes.emplace(size.name(), size);
             return size.min();
           }));
  for (const auto& [name, size] : out.sizes) {
    const te::Expr is_least = te::extent_of(size) == te::Expr(size.min());
    out.holds = out.holds.is_empty() ? is_least : out.holds && is_least;
  }
  return out;
}

// Translates a function of images whose open size is their number, for one image.
Result<std::optional<LeastDag>> translate_one_image(const IRModule& module,
                                                    const te::Target& target, Chosen& chosen) {
  const SizeUses uses(module);
  BYOC_TRY(const LeastModule least, with_least_numbers(module));
  const bool is_one_image = std::ranges::all_of(least.sizes, [&](const auto& entry) {
    return uses.counts_images(entry.first) && entry.second.min() == 1;
  });
  if (!is_one_image) return std::optional<LeastDag>();
  LeastDag out;
  BYOC_TRY(out.dag, translate(least.module, target, te::by_level(), chosen.again()));
  out.holds = least.holds;
  return std::optional(std::move(out));
}

}  // namespace

Result<std::optional<LeastDag>> translate_least(const IRModule& given, const te::Target& target) {
  const bool has_product = std::ranges::any_of(given.functions, [](const auto& entry) {
    return std::ranges::any_of(entry.second.nodes, [](const Node& node) {
      const auto* call = std::get_if<Call>(&node.kind);
      return call != nullptr && call->op->facts.family == OpFamily::kProduct;
    });
  });
  if (!has_product) return std::optional<LeastDag>();
  BYOC_TRY(const LeastModule least, with_least_numbers(with_flat_rows(given)));
  LeastDag out;
  BYOC_TRY(out.dag, translate(least.module, target));
  out.holds = least.holds;
  return std::optional(std::move(out));
}

Result<OpenDag> translate_open(const IRModule& given, const te::Target& target) {
  const IRModule module = with_flat_rows(given);
  BYOC_TRY(const IRModule nominal, nominal_module(module));
  Chosen chosen(module, nominal);
  OpenDag out;
  BYOC_TRY(out.nominal,
           translate(nominal, target, chosen.selector(), strategies(chosen.functions())));
  BYOC_TRY(out.open, translate(module, target, te::by_level(), chosen.again()));
  BYOC_TRY(out.one_image, translate_one_image(module, target, chosen));
  const bool fits = std::ranges::equal(out.open.stages, out.nominal.stages, {}, &te::Stage::name,
                                       &te::Stage::name);
  if (!fits)
    return unimplemented(
               cat("the stages of ", out.open.name, " depend on the numbers of its sizes"))
        .with_slug("symbolic-shape");
  out.nominal.sizes = out.open.sizes;
  return out;
}

}  // namespace byoc::llvm_plugin
