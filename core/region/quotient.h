// SPDX-License-Identifier: Apache-2.0
#pragma once
// Contracts the regions of a function; the resulting graph must be acyclic.
#include "core/region/annotations.h"

namespace byoc {

inline constexpr uint32_t kNoItem = UINT32_MAX;

/// A function whose items are the ops outside regions, one each, and the contracted regions. Items
/// are numbered in topological order; among several ready items, the one with the earliest first op
/// comes next.
struct Quotient {
  std::vector<uint32_t> item_of;               // per node; kNoItem: parameter, constant, annotation
  std::vector<uint32_t> region;                // per item: index of the region, or kOutside
  std::vector<uint32_t> first_member, member;  // CSR: nodes of an item, ascending
  uint32_t size() const { return static_cast<uint32_t>(region.size()); }
};

/// Returns the quotient of `function` by its regions. `contract_open`: contracts open regions too;
/// otherwise each of their ops is an item.
/// Errors, slug "annotation": regions that are not convex, or in a cycle with each other, by name.
Result<Quotient> contract_regions(const Function& function, const Annotations& annotations,
                                  bool contract_open, Symbol name);

}  // namespace byoc
