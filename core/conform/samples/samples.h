// SPDX-License-Identifier: Apache-2.0
#pragma once
// For every op, programs of one node that show it on operands of all kinds. The table is here and
// not with the ops, which know what is allowed but not what is worth trying.
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"
#include "core/conform/conform.h"

namespace byoc::conform {

/// The values that an operand may have: whole numbers for integers, 0 or 1 for bool.
struct Domain {
  double low = -2, high = 2;
};

/// `main` of one op: all its operands are parameters, all its outputs results.
struct Program {
  std::string label;  // "gather f32[5,3] i64[4] {axis=1}"
  const OpDef* op = nullptr;
  DType dtype = DType::kF32;
  IRModule module;
  std::vector<Domain> domains;  // per parameter
};

/// Those whose types the op allows and for which there is a reference kernel.
std::vector<Program> programs_of(const OpDef& op, Level level);
/// The same with every operand but the first as a constant, filled from `seed`.
Program with_constants(const Program& program, uint64_t seed);
/// Ops that no row and no rule of the table makes a program for.
std::vector<std::string> ops_without_samples();
/// Every op that a plugin may be asked about.
std::vector<const OpDef*> ops_to_check();

/// Floats that are easily got wrong, each kind with those before it.
enum class Special { kNone, kDenormals, kInfinities, kNans };
/// What an op determines: where the greater of two is chosen, what becomes of a NaN is open (ONNX
/// does not say, numpy passes it on, oneDNN drops it).
Special most_special(const OpDef& op);
/// A tensor's elements: of the domain, with some special ones between them.
void fill(std::byte* to, const TensorType& type, Domain domain, uint64_t seed,
          Special special = Special::kNone);

}  // namespace byoc::conform
