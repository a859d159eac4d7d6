// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop functions as text. print(LoopFunction) of te/stmt.h writes it:
//   loops scale(x: f32[8], y: f32[8]) -> (z: f32[8]) {
//     vectorized i in 0..8 {
//       z[i] = x[i] * 2.0 + y[i]
//     }
//   }
// Statements: loops (for, parallel, vectorized, unrolled), stores, if and else, `let t = x[i]`,
// `stack t: f32[4]` and `workspace t: f32[64]` (memory up to the closing brace), and calls of
// micro-kernels. Numbers are f32 with a point and i64 without, others name their type, as 1:i32
// does. `i in 8..+4` is a loop of 4 iterations from 8. `$0 = ...` before a statement names a part
// of its expressions. Named sizes, which each run gives, come before the parameters:
//   loops scale sizes 1<=T<=64 (x: f32[T, 8]) -> (z: f32[T, 8]) { ... }
// Tensor expressions with the trace of a schedule become loops when they are parsed:
//   te scale(x: f32[8], y: f32[8]) -> (z) {
//     z = for i < 8: x[i] * 2.0 + y[i]
//   } schedule "vectorize(z, i)"
// docs/te.md has the whole of it.
#include "byoc/base/status.h"
#include "byoc/te/schedule.h"

namespace byoc::te {

/// Parses what print(LoopFunction) returns; printing the result gives the same text. Scopes, types
/// and the numbers of indices are checked, but not that indices stay inside of their tensors.
/// Linear. Errors: kInvalidArgument, slug "loops-syntax", at "line:column".
Result<LoopFunction> parse_loops(std::string_view text);
/// Parses a function that begins at letter `at` of a longer text, and sets `at` to the place after
/// its closing brace. Errors count lines from the start of `text`.
Result<LoopFunction> parse_loops(std::string_view text, size_t& at);

/// A Dag and the steps of its schedule.
struct ScheduledDag {
  Dag dag;      ///< the stages
  Trace trace;  ///< for replay(); empty: the plain loops
};
/// Returns the text `te f(x: f32[8]) -> (y) { ... } schedule "..."` of a Dag: all of its stages,
/// with the op and choice that each was made for. Axes keep their names, which the steps use.
std::string print_te(const Dag& dag, const Trace& trace = {});
/// Parses what print_te returns. Linear. Errors: those of parse_loops.
Result<ScheduledDag> parse_te(std::string_view text);

}  // namespace byoc::te
