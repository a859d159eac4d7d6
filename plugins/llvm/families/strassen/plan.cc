// SPDX-License-Identifier: Apache-2.0
// The constants were fitted to products of 32 to 197 rows on Zen 5, and only the
// order of costs matters.
#include "plugins/llvm/families/strassen/plan.h"

#include <algorithm>
#include <cmath>

#include "plugins/llvm/tiling/register_tile.h"

namespace byoc::llvm_plugin::strassen {
namespace {

constexpr double kRowsPerVector = 2;     // cycles to make a vector of the rows' sums
constexpr double kResultPerVector = 4;   // to add products up to a vector of the result
constexpr double kMemoryPerByte = 0.04;  // for a byte of panels, three quarters more than direct
constexpr int64_t kPanelsOfThread = 6;
constexpr int64_t kSharedCache = 12 << 20;  // bytes that rows may use of the third cache

// For convolutions, fitted to Zen 3:
constexpr double kDirectShare = 0.985;    // of the peak that direct sums reach, with a margin
constexpr double kTileCycles = 15;        // to begin a tile
constexpr double kRowsOfImage = 1.7;      // to make a vector of the rows' sums
constexpr double kResultOfImage = 4;      // to add products up to a vector of the result
constexpr double kResultFromL2 = 6;       // the same where the first cache does not hold them
constexpr double kPanelsPerByte = 0.004;  // for a byte of panels, read again for each band
constexpr int64_t kMostRows = 240;        // of a quarter

int64_t product_bytes(const Product& p) { return kProducts * p.rows() * p.block * 4; }

/// Returns the time of the busiest thread as a multiple of an equal share: panels stay whole.
double idle_share(const Product& p, const te::Target& target) {
  const int64_t threads = target.threads, panels = p.blocks() / panel_of(p, target);
  if (threads <= 1 || panels <= 0) return 1;
  const int64_t rounds = (panels + threads - 1) / threads;
  return static_cast<double>(rounds * threads) / static_cast<double>(panels);
}

double vectors(int64_t elements, const te::Target& target) {
  return static_cast<double>(elements) / static_cast<double>(target.lanes(sizeof(float)));
}

}  // namespace

int64_t panel_of(const Product& product, const te::Target& target) {
  const int64_t threads = target.threads;
  for (int64_t panel : {4, 3, 2}) {
    const bool is_kept = panel * product_bytes(product) <= target.l2_bytes / 2;
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
  const double products = direct_cycles_of(p, target) * kProducts / 8 * idle_share(p, target);
  return products + kRowsPerVector * rows + kResultPerVector * vectors(p.m * p.n, target) +
         kMemoryPerByte * more_bytes;
}

double direct_cycles_of(const Product& product, const te::Target& target) {
  return static_cast<double>(product.m) * vectors(product.n, target) *
         static_cast<double>(product.k) / 2;  // two multiply-adds a cycle
}

namespace {

// Returns the cycles of the seven products of a band.
double band_cycles(const Product& p, const te::Target& target) {
  const int64_t registers = std::max<int64_t>(p.block / target.lanes(sizeof(float)), 1);
  const int64_t most = std::max<int64_t>((target.vector_registers - 1) / registers - 1, 1);
  double least = INFINITY;
  for (int64_t rows = std::min(most, p.rows()); 2 * rows > std::min(most, p.rows()); --rows) {
    const int64_t whole = p.rows() / rows, rest = p.rows() % rows;
    double cycles = static_cast<double>(whole) * topi::cycles_per_term(rows, registers);
    if (rest > 0) cycles += topi::cycles_per_term(rest, registers);
    const auto tiles = static_cast<double>(whole + (rest > 0 ? 1 : 0));
    least = std::min(least, cycles * static_cast<double>(p.terms()) + tiles * kTileCycles);
  }
  return least * static_cast<double>(kProducts * p.blocks());
}

}  // namespace

double image_cycles_of(const Product& plan, const te::Target& target) {
  const bool is_in_l1 = product_bytes(plan) <= target.l1_bytes / 2;
  const auto panel_bytes = static_cast<double>(kProducts * plan.k * plan.n);  // 7 quarters of 4
  const bool has_one = plan.bands == 1;  // whose panels the threads share
  const double band =
      band_cycles(plan, target) * (has_one ? idle_share(plan, target) : 1) +
      kRowsOfImage * vectors(kProducts * plan.rows() * plan.terms(), target) +
      (is_in_l1 ? kResultOfImage : kResultFromL2) * vectors(plan.m * plan.n, target) +
      kPanelsPerByte * panel_bytes;
  const int64_t threads = target.threads;
  int64_t count = plan.bands;
  if (count > 1) count = (count + threads - 1) / threads * threads;  // some threads are idle
  return static_cast<double>(count) * band +
         kMemoryPerByte * 3.0 * static_cast<double>(plan.k * plan.n);
}

double direct_cycles_of(const Pointwise& conv, const te::Target& target) {
  const Product whole{conv.images * conv.pixels(), conv.k(), conv.blocks * conv.block, 1};
  return direct_cycles_of(whole, target) / kDirectShare;
}

std::optional<Product> plan_of(const Pointwise& conv, const te::Target& target) {
  std::optional<Product> best;
  double least = INFINITY;
  const int64_t most = std::min<int64_t>(kMostRows, (conv.pixels() + 1) / 2);
  for (int64_t rows = most; rows > 0; --rows) {
    Product plan = product_of(conv, 2 * rows);
    const bool fits = product_bytes(plan) <= target.l2_bytes / 4 &&
                      plan.rows() * plan.terms() * 4 <= target.l2_bytes / 2;
    if (!fits) continue;
    const double cycles = image_cycles_of(plan, target);
    if (cycles >= least) continue;
    plan.panel = panel_of(plan, target);
    best = plan, least = cycles;
  }
  return best;
}

}  // namespace byoc::llvm_plugin::strassen
