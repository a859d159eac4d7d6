// SPDX-License-Identifier: Apache-2.0
// The constants were fitted to products of 32 to 197 rows on Zen 5, and only the
// order of costs matters.
#include "plugins/llvm/strassen/plan.h"

namespace byoc::llvm_plugin::strassen {
namespace {

constexpr double kRowsPerVector = 2;     // cycles to make a vector of the rows' sums
constexpr double kResultPerVector = 4;   // to add products up to a vector of the result
constexpr double kMemoryPerByte = 0.04;  // for a byte of panels, three quarters more than direct
constexpr int64_t kPanelsOfThread = 6;
constexpr int64_t kSharedCache = 12 << 20;  // bytes that rows may use of the third cache

int64_t product_bytes(const Product& p) { return kProducts * p.rows() * p.block * 4; }

double vectors(int64_t elements, const te::Target& target) {
  return static_cast<double>(elements) / static_cast<double>(target.lanes(sizeof(float)));
}

}  // namespace

int64_t panel_of(const Product& product, const te::Target& target) {
  const int64_t threads = target.threads;
  for (int64_t panel : {4, 3, 2}) {
    const bool is_kept = panel * product_bytes(product) <= target.l2_bytes / 4;
    const int64_t panels = product.blocks() / panel;
    const bool is_shared = threads == 1 || panels >= kPanelsOfThread * threads;
    if (is_kept && is_shared && product.blocks() % panel == 0) return panel;
  }
  return 1;
}

bool fits_caches(const Product& product, const te::Target& target) {
  return product_bytes(product) <= target.l2_bytes / 2 &&
         kProducts * product.rows() * product.terms() * 4 <= kSharedCache;
}

double cycles_of(const Product& product, const te::Target& target) {
  const Product& p = product;
  const double rows = vectors(kProducts * p.rows() * p.terms(), target);
  const double more_bytes = 3.0 * static_cast<double>(p.k * p.n);
  return direct_cycles_of(p, target) * kProducts / 8 + kRowsPerVector * rows +
         kResultPerVector * vectors(p.m * p.n, target) + kMemoryPerByte * more_bytes;
}

double direct_cycles_of(const Product& product, const te::Target& target) {
  return static_cast<double>(product.m) * vectors(product.n, target) *
         static_cast<double>(product.k) / 2;  // two multiply-adds a cycle
}

}  // namespace byoc::llvm_plugin::strassen
