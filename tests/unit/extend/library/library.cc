// SPDX-License-Identifier: Apache-2.0
// A library with a pass and an op, or with one fault.
#include "byoc/extend/library.h"

#include <stdexcept>

#include "byoc/ir/dim.h"
#include "byoc/te/tensor.h"

namespace {

using namespace byoc;

constexpr std::string_view kFault = FAULT;

Result<IRModule> note(IRModule module, const PassContext&, const PassArgs&) {
  module.function(module.entry).attrs.set("noted", "yes");
  return module;
}

Result<RefKernel> twice_reference(Types inputs, Types, const Attrs&) {
  BYOC_TRY(int64_t elements, num_elements(inputs[0]->shape));
  return RefKernel([elements](const void* const* in, void* const* out) {
    for (int64_t i = 0; i < elements; ++i)
      static_cast<float*>(out[0])[i] = 2 * static_cast<const float*>(in[0])[i];
  });
}

Result<RefKernel> spread_reference(Types inputs, Types, const Attrs&) {
  BYOC_TRY(int64_t elements, num_elements(inputs[0]->shape));
  const int64_t columns = inputs[0]->shape[1].extent();
  return RefKernel([=](const void* const* in, void* const* out) {
    const auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(out[0]);
    for (int64_t i = 0; i < elements / columns; ++i)
      for (int64_t j = 0; j < 2 * columns; ++j)
        y[i * 2 * columns + j] = x[i * columns + j / 2] + static_cast<float>(j % 2);
  });
}

// y[i, 2 * j] = x[i, j], y[i, 2 * j + 1] = x[i, j] + 1: the extent of a result is an expression.
OpDef spread(bool takes_open) {
  OpDef op;
  op.name = takes_open ? "test_spread" : "test_spread_exact";
  op.kind = FusionKind::kOpaque;
  op.inputs = {{"x", "f32"}};
  op.infer = [](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    TensorType out = *inputs[0];
    BYOC_TRY(out.shape[1], dim_product(out.shape[1], 2));
    return std::vector{out};
  };
  op.reference = spread_reference;
  op.compute = ComputeFn([](te::Builder& b, std::span<const te::Tensor> in, Types outputs,
                            const Attrs&) {
    auto element = [&](const te::Indices& i) {
      const te::Expr half = te::floor_div(i[1], te::Expr(2));
      if (kFault == "wrong_compute") return in[0](i[0], i[1]);  // outside of x
      return in[0](i[0], half) + te::cast(DType::kF32, te::floor_mod(i[1], te::Expr(2)));
    };
    return Result<std::vector<te::Tensor>>({b.compute("y", te::extents_of(*outputs[0]), element)});
  });
  if (takes_open) op.compute = with_open_sizes(std::move(op.compute));
  return op;
}

OpDef twice() {
  OpDef op;
  op.name = "test_twice";
  op.kind = FusionKind::kElementwise;
  op.inputs = {{"x", "f32"}};
  op.infer = [](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    return std::vector{*inputs[0]};
  };
  op.reference = twice_reference;
  op.compute = ComputeFn([](te::Builder& b, std::span<const te::Tensor> in, Types, const Attrs&) {
    const double factor = kFault == "wrong_compute" ? 2.02 : 2;
    auto element = [&](const te::Indices& i) {
      return in[0](i) * te::constant(DType::kF32, factor);
    };
    return Result<std::vector<te::Tensor>>({b.compute("y", in[0].shape(), element)});
  });
  return op;
}

}  // namespace

namespace byoc {
int of_another_byoc();  // defined nowhere
}

BYOC_LIBRARY(library) {
  if (kFault == "throws") throw std::runtime_error("no licence");
  if constexpr (kFault == "missing_symbol")
    library.add_pass({std::to_string(byoc::of_another_byoc()), "", "", note});
  if (kFault == "taken_pass")
    library.add_pass({"fuse_ops", "", "a pass of byoc has this name", note});
  if (kFault == "no_place") library.add_pass({"note", "", "", note}, "merge_pad");
  if (kFault == "missing_op") library.onnx.push_back({"org.example", "Twice", "test_thrice"});
  if (kFault == "wrong_domain") library.onnx.push_back({"ai.onnx.ml", "Twice", "test_twice"});
  library.ops.push_back(twice());
  library.ops.push_back(spread(true));
  library.ops.push_back(spread(false));
  if (kFault == "taken_op") library.ops.front().name = "relu";
  if (kFault != "none") return;
  library.add_pass({"note", "", "sets the attribute noted", note}, "fold_batch_norm");
  library.add_pass({"note_again", "", "does the same", note}, "fold_batch_norm");
  library.onnx.push_back({"org.example", "Twice", "test_twice"});
}
