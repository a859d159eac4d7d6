// SPDX-License-Identifier: Apache-2.0
// raise: what a branch returns that cannot run with the sizes of a model.
#include "byoc/op/registry.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"
#include "core/op/kernel/util.h"

namespace byoc::op {
namespace {

Result<std::vector<TensorType>> infer_raise(Types, const Attrs& attrs) {
  const Strings names = attrs.strings("dims");
  const Ints most = attrs.ints("most");
  if (names.size() != most.size())
    return invalid(cat("raise: ", names.size(), " dims and ", most.size(), " bounds"));
  Shape shape;
  for (size_t k = 0; k < names.size(); ++k) {
    if (most[k] < 0 || most[k] == Dim::kUnbounded)
      return invalid(cat("raise: most holds ", most[k]));
    shape.push_back(names[k].empty() || most[k] == 0 ? Dim(most[k])
                                                     : Dim::counted(names[k], most[k]));
  }
  return std::vector<TensorType>{{attrs.dtype("dtype"), std::move(shape)}};
}

Status raised(const Attrs& attrs) {
  return Status(Code::kFailedPrecondition, attrs.s("message")).with_slug("branch-misfit");
}

}  // namespace

void add_raise_ops(OpRegistry& ops) {
  ops.add(
      {.name = "raise",
       .doc = "Ends the run with an error. A branch that cannot run with the sizes of the model "
              "is this op.",
       .inputs = {},
       .attrs = {{"message", std::string(), "the error", AttrSpec::kRequired},
                 {"dtype", DType::kF32, "of the result", AttrSpec::kRequired},
                 {"dims", Strings{}, "one per dim: its name when it is counted; empty: a number",
                  AttrSpec::kRequired},
                 {"most", Ints{}, "one per dim: its bound, or the number", AttrSpec::kRequired}},
       .infer = infer_raise,
       .reference = [](Types, Types, const Attrs&) -> Result<RefKernel> {
         return RefKernel([](const void* const*, void* const*) {});  // `check` ends every run
       },
       .flops = no_flops,
       .check = [](Types, const Attrs& attrs) -> Result<ValueCheck> {
         return ValueCheck([attrs](const void* const*) { return raised(attrs); });
       },
       .sizes = [](Types, const void* const*, const Attrs& attrs)
           -> Result<std::vector<TensorType>> { return raised(attrs); }});
}

}  // namespace byoc::op
