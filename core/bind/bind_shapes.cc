// SPDX-License-Identifier: Apache-2.0
// Replaces named sizes by numbers in all functions. With N = 1:
//   before: fn main(%x: f32[N,8]) { %0 = @f(%x) ... }
//           fn f(%x: f32[N,8]) { ... }
//   after:  fn main(%x: f32[1,8]) { %0 = @f(%x) ... }
//           fn f(%x: f32[1,8]) { ... }
// A whole input (x = 1x8) binds the names in its type. Results are inferred again from the entry
// down (specialise.h), so a function that is then called with several different shapes gets one
// copy per shape.
#include <algorithm>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/ir/open_shape.h"
#include "byoc/pass/bind.h"
#include "core/bind/entry.h"
#include "core/bind/specialise.h"

namespace byoc {
namespace {

using namespace simplify;

using Extents = std::vector<GivenSize>;

std::string shown(const Extents& extents) {
  std::string out;
  for (const GivenSize& extent : extents) out += cat(out.empty() ? "" : "x", extent);
  return extents.empty() ? "a scalar" : out;
}

// The named sizes in the parameters of all functions, with the dims that replace them.
class NamedSizes {
 public:
  explicit NamedSizes(const IRModule& module);
  Status bind(const Function& entry, const std::string& name, const Extents& extents);
  TypeId map(TypeId type);
  Dim map(Dim dim) const;

 private:
  bool is_input(const Function& entry, const std::string& name, size_t rank) const;
  Status bind_input(const std::string& name, TypeId type, const Extents& extents);
  Status bind_size(Symbol name, const GivenSize& extent);

  std::map<Symbol, std::vector<Dim>> dims_;  // by name: each with its bounds
  std::map<Symbol, GivenSize> bound_;
  std::unordered_map<uint32_t, TypeId> mapped_;
};

NamedSizes::NamedSizes(const IRModule& module) {
  for (const auto& [name, function] : module.functions) {
    for (TypeId type : signature(function).params) {
      for (Dim dim : type->shape) {
        for (Dim size : sizes_in(dim)) {
          std::vector<Dim>& known = dims_[size.name()];
          if (std::find(known.begin(), known.end(), size) == known.end()) known.push_back(size);
        }
      }
    }
  }
}

Status NamedSizes::bind_size(Symbol name, const GivenSize& extent) {
  if (extent.least < 0)
    return invalid(cat("\"", name, "\" cannot be ", extent)).with_slug("shape-bounds");
  for (Dim dim : dims_[name]) {
    if (dim.min() <= extent.least && extent.most <= dim.max()) continue;
    return invalid(cat("\"", name, "\" cannot be ", extent, ": the model has ", dim))
        .with_slug("shape-bounds");
  }
  auto [at, is_new] = bound_.try_emplace(name, extent);
  if (is_new || at->second == extent) return {};
  return invalid(cat("\"", name, "\" cannot be both ", at->second, " and ", extent))
      .with_slug("shape-conflict");
}

Status NamedSizes::bind_input(const std::string& name, TypeId type, const Extents& extents) {
  bool fits = type->shape.size() == extents.size();
  for (size_t d = 0; fits && d < extents.size(); ++d) {
    Dim dim = type->shape[d];
    fits = !dim.is_static() || GivenSize(dim.extent()) == extents[d];
  }
  if (!fits) {
    return invalid(cat("\"", name, "\" is ", type, " and cannot be ", shown(extents)))
        .with_slug("input-shape");
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    Dim dim = type->shape[d];
    if (!dim.is_static() && !dim.is_expression())
      BYOC_TRY_STATUS(bind_size(dim.name(), extents[d]));
  }
  return {};
}

// Returns whether `name` means an input. A name can be an input and a size; one number then means
// the size, unless the input has rank 1.
bool NamedSizes::is_input(const Function& entry, const std::string& name, size_t rank) const {
  std::optional<uint32_t> input = input_number(entry, name);
  bool is_size = dims_.contains(name) && rank == 1;
  return input && (!is_size || entry.nodes[*input].types[0]->shape.size() == 1);
}

Status NamedSizes::bind(const Function& entry, const std::string& name, const Extents& extents) {
  if (is_input(entry, name, extents.size())) {
    std::optional<uint32_t> input = input_number(entry, name);
    BYOC_CHECK(input, "no input ", name);
    return bind_input(name, entry.nodes[*input].types[0], extents);
  }
  if (!dims_.contains(name)) {
    std::vector<std::string> known = input_names(entry);
    for (const auto& [size, dims] : dims_) known.push_back(size.str());
    return unknown_input("input or named size", name, known);
  }
  if (extents.size() == 1) return bind_size(name, extents[0]);
  return invalid(cat("\"", name, "\" is a named size and cannot be ", shown(extents)))
      .with_slug("input-shape");
}

// Returns the dim with what replaces its sizes; itself where that cannot be computed, which
// inference then reports.
Dim NamedSizes::map(Dim dim) const {
  if (dim.is_static()) return dim;
  auto replacement = [&](Dim size) -> std::optional<Dim> {
    auto bound = bound_.find(size.name());
    if (bound == bound_.end()) return std::nullopt;
    const GivenSize& given = bound->second;
    return given.is_number() ? Dim(given.least) : Dim::symbol(size.name(), given.least, given.most);
  };
  if (dim.is_counted()) return replacement(dim).value_or(dim);
  const Result<Dim> mapped = with_sizes(dim, replacement);
  return mapped.ok() ? *mapped : dim;
}

TypeId NamedSizes::map(TypeId type) {
  auto [at, is_new] = mapped_.try_emplace(type.id(), type);
  if (!is_new) return at->second;
  TensorType now = *type;
  for (Dim& dim : now.shape) dim = map(dim);
  return at->second = now;
}

// Puts the sizes into the shapes that attributes of ops have.
Status map_attributes(IRModule& module, const NamedSizes& sizes) {
  for (auto& [name, function] : module.functions) {
    for (Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call == nullptr || !call->attrs->has(kOpenShapeAttr)) continue;
      BYOC_TRY(Shape shape, open_shape_of(*call->attrs));
      for (Dim& dim : shape) dim = sizes.map(dim);
      Attrs attrs = *call->attrs;
      set_open_shape(attrs, shape);
      call->attrs = intern(attrs);
    }
  }
  return {};
}

}  // namespace

Result<IRModule> bind_shapes(IRModule module, const GivenShapes& shapes, const PassContext&) {
  if (shapes.empty()) return module;
  BYOC_TRY(const Function* entry, entry_function(module));
  NamedSizes sizes(module);
  for (const auto& [name, extents] : shapes) BYOC_TRY_STATUS(sizes.bind(*entry, name, extents));
  BYOC_TRY_STATUS(map_attributes(module, sizes));
  BYOC_TRY_STATUS(specialise(module, [&](TypeId type) { return sizes.map(type); }));
  return module;
}

}  // namespace byoc
