// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function with its regions contracted: the graph that must be, and stay, acyclic.
#include "core/region/annotations.h"

namespace byoc {

inline constexpr uint32_t kNoItem = UINT32_MAX;

/// Items are the ops outside regions, one each, and the contracted regions. Numbered in a
/// topological order, of several ready ones the one whose first op stands first.
struct Quotient {
  std::vector<uint32_t> item_of;               // per node; kNoItem: parameter, constant, annotation
  std::vector<uint32_t> region;                // per item: index of the region, or kOutside
  std::vector<uint32_t> first_member, member;  // CSR: nodes of an item, ascending
  uint32_t size() const { return static_cast<uint32_t>(region.size()); }
};

/// `contract_open`: open regions too; otherwise their ops are items of their own.
/// Errors, slug "annotation": regions that are not convex, or in a cycle with each other, by name.
Result<Quotient> contract_regions(const Function& function, const Annotations& annotations,
                                  bool contract_open, Symbol name);

}  // namespace byoc
