// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/execute.h"

#include <cstdlib>
#include <cstring>
#include <functional>

#include "byoc/base/env.h"
#include "runtime/session/guard_scope.h"
#include "runtime/session/repeated_runs.h"

namespace byoc::driver {

Result<std::vector<Tensor>> make_tensors(const std::vector<NamedTensor>& types) {
  std::vector<Tensor> tensors;
  for (const NamedTensor& named : types) {
    BYOC_TRY(Tensor tensor, Tensor::make(named.type));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

namespace {

// Fills a tensor with NaN, or with integers that are not 0, so that elements that a kernel does not
// write are found.
void fill_with_canary(Tensor& tensor) {
  const int byte = is_float(tensor.spec().dtype) ? 0xFF : 0xA5;
  if (tensor.size_bytes() != 0) std::memset(tensor.data(), byte, tensor.size_bytes());
}

}  // namespace

Result<std::vector<Tensor>> execute(const Session& session, Context& context,
                                    std::span<const Tensor> inputs) {
  RepeatedRuns once;
  return execute(session, context, inputs, once);
}

Result<std::vector<Tensor>> execute(const Session& session, Context& context,
                                    std::span<const Tensor> inputs, RepeatedRuns& runs) {
  std::vector<DLTensor> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  BYOC_TRY(const std::vector<TensorSpec> types, session.output_types(in));
  std::vector<Tensor> outputs;
  for (const TensorSpec& type : types) {
    BYOC_TRY(Tensor tensor, Tensor::make(type));
    outputs.push_back(std::move(tensor));
  }
  for (Tensor& tensor : outputs) fill_with_canary(tensor);
  for (const Tensor& tensor : outputs) out.push_back(tensor.view());
  BYOC_TRY_STATUS(runs.run(session, context, in, out));
  for (size_t k = 0; k < outputs.size(); ++k) outputs[k].shrink(session.output_dims(context, k));
  return outputs;
}

namespace {

using Run = std::function<Status(const Session&, Context&)>;

Status with_context(Executable executable, std::shared_ptr<const PluginSet> plugins,
                    uint32_t threads, const Run& run) {
  const GuardScope guarded(!env_is_set("BYOC_GUARD") || env_value("BYOC_GUARD") == "1");
  BYOC_TRY(auto session,
           Session::load(std::move(executable), std::move(plugins), {.threads = threads}));
  BYOC_TRY_STATUS(session->check_externs());
  ::setenv("BYOC_CANARY", "1", 0);  // likewise for memory between steps, unless the user has set it
  BYOC_TRY(auto context, session->make_context());
  return run(*session, *context);
}

}  // namespace

Result<std::vector<std::vector<Tensor>>> execute_each(Executable executable,
                                                      std::shared_ptr<const PluginSet> plugins,
                                                      uint32_t threads,
                                                      std::span<const std::vector<Tensor>> runs) {
  std::vector<std::vector<Tensor>> out;
  auto run = [&](const Session& session, Context& context) -> Status {
    for (const std::vector<Tensor>& inputs : runs) {
      BYOC_TRY(auto outputs, execute(session, context, inputs));
      out.push_back(std::move(outputs));
    }
    return {};
  };
  BYOC_TRY_STATUS(with_context(std::move(executable), std::move(plugins), threads, run));
  return out;
}

Result<std::vector<Tensor>> execute(Executable executable, std::shared_ptr<const PluginSet> plugins,
                                    uint32_t threads, std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  auto run = [&](const Session& session, Context& context) -> Status {
    BYOC_TRY(out, execute(session, context, inputs));
    return {};
  };
  BYOC_TRY_STATUS(with_context(std::move(executable), std::move(plugins), threads, run));
  return out;
}

}  // namespace byoc::driver
