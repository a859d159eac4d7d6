// SPDX-License-Identifier: Apache-2.0
// Artifacts, which are run by a plugin where their tensors are small.
#include "byoc/runtime/session.h"
#include "byoc/runtime/sizes.h"
#include "mutants/targets.h"

namespace byoc::test {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of a tensor of a run
std::shared_ptr<const PluginSet> plugins;

/// Memory of a tensor of a run; null shape: its elements are too many to run.
struct Value {
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  DLTensor view{};
};
bool make_value(const NamedTensor& tensor, Value& out) {
  int64_t elements = 1;
  for (const int64_t dim : tensor.type.dims) {
    out.shape.push_back(dim);
    if (dim < 0 || (dim != 0 && elements > kMostElements / dim)) return false;
    elements *= dim;
  }
  out.data.resize(static_cast<size_t>(elements) * dtype_size(tensor.type.dtype) + 64);
  out.view = {out.data.data(),
              {kDLCPU, 0},
              static_cast<int32_t>(out.shape.size()),
              to_dlpack(tensor.type.dtype),
              out.shape.data(),
              nullptr,
              0};
  return true;
}

void run(Executable executable) {
  if (plugins == nullptr) return;
  auto session = Session::load(std::move(executable), plugins, {.allow_native = false});
  if (!session.ok()) return;
  auto context = (*session)->make_context();
  if (!context.ok()) return;
  const Program& program = (*session)->program();
  std::vector<Value> in(program.run_inputs()), out(program.run_outputs());
  std::vector<DLTensor> inputs, outputs;
  for (size_t k = 0; k < in.size(); ++k) {
    if (!make_value(program.inputs[k], in[k])) return;
    inputs.push_back(in[k].view);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (!make_value(program.outputs[k], out[k])) return;
    outputs.push_back(out[k].view);
  }
  (void)(*session)->run(**context, inputs, outputs);
}

}  // namespace

bool read_artifact(std::string_view bytes) {
  auto sizes = load_artifact_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!sizes.ok()) return false;
  for (SizedExecutable& size : *sizes) run(std::move(size.executable));
  return true;
}

void use_plugin(const std::string& path) { plugins = PluginSet::load({.files = {path}}); }

}  // namespace byoc::test
