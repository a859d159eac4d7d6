// SPDX-License-Identifier: Apache-2.0
// Numbers that must be in a range, such as the first index of a cache that a run writes.
#include "byoc/op/registry.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

IndexRange range_of(const Attrs& attrs) { return {0, attrs.i("end")}; }

Result<std::vector<TensorType>> infer_check_range(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("check_range", "x", in[0], {DType::kI32, DType::kI64}));
  if (attrs.i("end") < 0)
    return invalid(cat("check_range: end is ", attrs.i("end"), ", expected at least 0"));
  if (attrs.s("of").empty()) return invalid("check_range: the attribute \"of\" is empty");
  return one_result(*in[0]);
}

Result<ValueCheck> check_check_range(Types in, const Attrs& attrs) {
  return index_check(attrs.s("of"), in[0], 0, {range_of(attrs)});
}

Result<Tensors> compute_check_range(te::Builder& builder, Inputs in, Types, const Attrs& attrs) {
  const CheckedIndices checked(builder, attrs.s("of"), in[0], {range_of(attrs)});
  return one(builder.compute("check_range", in[0].shape(),
                             [&](const Exprs& i) { return te::cast(in[0].dtype(), checked(i)); }));
}

}  // namespace

void add_check_range_ops(OpRegistry& ops) {
  ops.add({.name = "check_range",
           .doc = "x. A number outside of [0, end) is an error of the run, which names `of`.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "i32 or i64"}},
           .attrs = {{"end", int64_t{0}, "at least 0, exclusive", AttrSpec::kRequired},
                     {"of", std::string(), "an operand, such as \"lstm.lengths\"",
                      AttrSpec::kRequired}},
           .infer = infer_check_range,
           .reference = [](Types in, Types, const Attrs&) -> Result<RefKernel> {
             return copy_kernel(in[0]);
           },
           .compute = with_open_sizes(compute_check_range),
           .flops = no_flops,
           .check = check_check_range});
}

}  // namespace byoc::op
