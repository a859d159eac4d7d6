// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits Strassen's products into panels, and estimates their time.
#include "byoc/te/target.h"
#include "plugins/llvm/families/strassen/compute.h"
#include "plugins/llvm/families/strassen/pointwise.h"

namespace byoc::llvm_plugin::strassen {

/// Returns the blocks of a panel: several where the second cache holds the products of their
/// columns and each thread still gets several panels.
int64_t panel_of(const Product& product, const te::Target& target);
/// Returns true when the second cache holds the products of a block of columns, and the third the
/// sums of the rows. Larger matrices are read from memory once per panel.
bool fits_caches(const Product& product, const te::Target& target);

/// Returns the estimated cycles of one run, panels made before: of all threads together, each as
/// long as the busiest.
double cycles_of(const Product& product, const te::Target& target);
/// Returns those of the product by direct sums.
double direct_cycles_of(const Product& product, const te::Target& target);

/// Returns the product of a convolution in the bands and panels that take the fewest cycles;
/// nullopt: the second cache holds those of no band.
std::optional<Product> plan_of(const Pointwise& conv, const te::Target& target);
/// Returns the estimated cycles of such a product, and those of the convolution by direct sums.
double image_cycles_of(const Product& plan, const te::Target& target);
double direct_cycles_of(const Pointwise& conv, const te::Target& target);

}  // namespace byoc::llvm_plugin::strassen
