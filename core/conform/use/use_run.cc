// SPDX-License-Identifier: Apache-2.0
#include "core/conform/use/use_run.h"

#include <algorithm>
#include <cstring>

#include "byoc/compile.h"
#include "core/conform/checks/argument.h"
#include "core/conform/checks/compare.h"

namespace byoc::conform {

Result<Executable> build_model(const LoadedPlugin& tested, const UseSample& sample,
                               uint32_t threads) {
  BuildOptions options;
  options.plugins = tested.set;
  options.compilers = {tested.plugin->id()};
  options.level = 1;  // other levels add ops that the plugin may lack
  options.threads = threads;
  options.strict = true;
  return build(sample.module, options);
}

Buffers values_of(const UseSample& sample, uint64_t seed) {
  const Function& main = sample.module.function("main");
  Buffers out;
  for (size_t k = 0; k < main.num_params(); ++k) {
    const TypeId type = main.nodes[k].types[0];
    out.push_back(Buffer::make(static_cast<size_t>(*size_bytes(*type)), [&](std::byte* to) {
      fill(to, *type, sample.domains[k], seed + k);
    }));
  }
  return out;
}

Result<Buffers> run_model(const Session& session, const Buffers& inputs) {
  BYOC_TRY(std::unique_ptr<Context> context, session.make_context());
  std::vector<Tensor> tensors;
  std::vector<DLTensor> in, out;
  for (const NamedTensor& input : session.inputs()) {
    BYOC_TRY(Tensor tensor, Tensor::make(input.type));
    const Buffer& from = *inputs.at(tensors.size());
    std::copy(from.bytes().begin(), from.bytes().end(), tensor.data());
    tensors.push_back(std::move(tensor));
  }
  for (const NamedTensor& output : session.outputs()) {
    BYOC_TRY(Tensor tensor, Tensor::make(output.type));
    std::fill_n(tensor.data(), tensor.size_bytes(), kFill);
    tensors.push_back(std::move(tensor));
  }
  for (const Tensor& tensor : tensors)
    (in.size() < inputs.size() ? in : out).push_back(tensor.view());
  BYOC_TRY_STATUS(session.run(*context, in, out));
  Buffers results;
  for (size_t k = inputs.size(); k < tensors.size(); ++k) {
    const Tensor& tensor = tensors[k];
    results.push_back(Buffer::make(tensor.size_bytes(), [&](std::byte* to) {
      std::copy_n(tensor.data(), tensor.size_bytes(), to);
    }));
  }
  return results;
}

std::string difference(const TensorType& type, const Buffer& got, const Buffer& expected) {
  const Comparison found =
      compare(type, got.data(), expected.data(), kFill, false, rounding_of_chain(type.dtype));
  if (!found.difference.empty()) return found.difference;
  return found.unwritten < 0 ? "" : cat("leaves element ", found.unwritten, " unwritten");
}

std::string difference(const UseSample& sample, const Buffers& got, const Buffers& expected) {
  const std::vector<TypeId> types = sample.module.function("main").result_types();
  for (size_t k = 0; k < types.size(); ++k) {
    const std::string found = difference(*types[k], *got[k], *expected[k]);
    if (!found.empty()) return types.size() == 1 ? found : cat("output ", k, " ", found);
  }
  return "";
}

}  // namespace byoc::conform
