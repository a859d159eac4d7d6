// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of two operands with named axes, whose second operand is put into panels of columns.
#include "plugins/llvm/families/calls.h"

namespace byoc::llvm_plugin::product {

/// A sum over one label of products of two operands, "bik,bjk->bij". The last label of the result,
/// the columns, is one of `b`, which is the matrix; all labels of an operand differ.
struct Equation {
  std::string a, b, result;
  size_t a_operand = 0;  ///< of the call; b is the other one
  char terms = 0;
  char columns() const { return result.back(); }
};

/// Returns the equation of an einsum of two operands or of a gemm, of f32 with static shapes;
/// nullopt for those that are no such sum, and for einsums without "->" or with an ellipsis.
std::optional<Equation> equation_of(const te::Site& site);

/// Appends "packed" where that reads and writes fewer elements than the direct sums: a matrix whose
/// columns are not adjacent is put into panels in every run, a constant one at compile.
void add_equation_computes(const FamilyCall& call, Strategies& out);

}  // namespace byoc::llvm_plugin::product
