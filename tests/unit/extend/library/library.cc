// SPDX-License-Identifier: Apache-2.0
// A library with a pass and an op, or with one fault.
#include "byoc/extend/library.h"

#include <stdexcept>

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
  if (kFault == "taken_op") library.ops.back().name = "relu";
  if (kFault != "none") return;
  library.add_pass({"note", "", "sets the attribute noted", note}, "fold_batch_norm");
  library.add_pass({"note_again", "", "does the same", note}, "fold_batch_norm");
  library.onnx.push_back({"org.example", "Twice", "test_twice"});
}
