// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of one node for every op, with operands of all kinds. The table is here and not with the
// ops, whose definitions have what is allowed, but not which cases are useful tests.
#include <optional>

#include "byoc/ir/module.h"
#include "byoc/op/registry.h"
#include "core/conform/conform.h"

namespace byoc::conform {

/// The range of an operand's values: whole numbers for integers, 0 or 1 for bool.
struct Domain {
  double low = -2, high = 2;
  friend bool operator==(const Domain&, const Domain&) = default;
};

/// A module whose `main` has one op: all operands are parameters, all outputs are results.
struct Program {
  std::string label;  // "gather f32[5,3] i64[4] {axis=1}"
  const OpDef* op = nullptr;
  DType dtype = DType::kF32;
  IRModule module;
  std::vector<Domain> domains;  // per parameter
};

/// Makes a program of one op; `operands` and `attrs` as in a row of sample_table.h, without
/// alternatives. Returns nothing for types that the op does not allow, or has no kernel for.
std::optional<Program> program_of(const OpDef& op, std::string_view operands,
                                  std::string_view attrs, DType dtype);
/// Returns the programs whose types the op allows and for which it has a reference kernel.
std::vector<Program> programs_of(const OpDef& op, Level level);
/// The same of an op of the registry; made once, and then also there in child processes.
const std::vector<Program>& kept_programs_of(const OpDef& op, Level level);
/// Returns the program with every operand but the first as a constant, filled from `seed`.
Program with_constants(const Program& program, uint64_t seed);
/// Returns the program with its first operand also as the second one; nothing where their types or
/// values differ.
std::optional<Program> with_repeated_operand(const Program& program);
/// Returns the ops for which no row and no rule of the table makes a program.
std::vector<std::string> ops_without_samples();
/// Returns every op that judge may be called with: all but annotations.
std::vector<const OpDef*> ops_to_check();

/// Returns a range of values far from 0, for operands of f32 and f64 with the usual range; with
/// `is_exact` also all numbers of an integer type; nothing for others.
std::optional<Domain> large_domain(const TensorType& type, Domain usual, bool is_exact);

/// Special floats; each kind includes those before it.
enum class Special { kNone, kDenormals, kInfinities, kNans };
/// Returns the most special operands for which the op's definition determines the result. For ops
/// that choose the greater of two values the result of NaN is undetermined: ONNX does not define
/// it, numpy returns NaN, oneDNN the other value.
Special most_special(const OpDef& op);
/// Fills a tensor with random values of the domain, and some special ones among them.
void fill(std::byte* to, const TensorType& type, Domain domain, uint64_t seed,
          Special special = Special::kNone);

}  // namespace byoc::conform
