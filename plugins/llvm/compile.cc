// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/compile.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "byoc/base/check.h"
#include "plugins/llvm/loaded.h"

namespace byoc::llvm_plugin {
namespace {

Result<Kernel> find_or_compile(const KernelJob& job, const std::string& symbol,
                               const CompileOptions& options) {
  if (options.is_cancelled && options.is_cancelled()) return Status(Code::kCancelled, "cancelled");
  if (options.cache) {
    if (auto known = options.cache->find(symbol)) return *std::move(known);
  }
  Result<Kernel> kernel = compile_kernel(*job.loops, symbol, *job.machine, job.emit);
  if (kernel.ok() && options.cache) options.cache->put(*kernel);
  return kernel;
}

/// Turns exceptions of a job, such as failed allocations, into errors, because no exception
/// may leave a thread.
Result<Kernel> guarded(const std::function<Result<Kernel>()>& job) {
  try {
    return job();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "out of memory");
  } catch (const std::exception& e) {
    return Status(Code::kInternal, e.what());
  }
}

}  // namespace

Compiled compile_kernels(std::span<const KernelJob> jobs, const CompileOptions& options) {
  std::vector<std::string> symbols(jobs.size());
  auto name_one = [&](size_t k) {
    symbols[k] = kernel_symbol(*jobs[k].loops, *jobs[k].machine, jobs[k].emit);
  };
  if (options.for_each) {
    options.for_each(jobs.size(), name_one);
  } else {
    for (size_t k = 0; k < jobs.size(); ++k) name_one(k);
  }
  std::map<std::string, size_t> first;  // the first job with each symbol
  for (size_t k = 0; k < jobs.size(); ++k) first.emplace(symbols[k], k);
  std::vector<size_t> distinct;
  for (const auto& [symbol, k] : first) distinct.push_back(k);
  std::sort(distinct.begin(), distinct.end());

  Compiled out{std::vector<std::shared_ptr<const Kernel>>(jobs.size()),
               std::vector<Status>(jobs.size())};
  std::atomic<uint32_t> done{0};
  auto compile_one = [&](size_t job) {
    size_t k = distinct[job];
    BYOC_CHECK(k < jobs.size(), "job ", k, " of ", jobs.size());
    auto kernel = guarded([&] { return find_or_compile(jobs[k], symbols[k], options); });
    if (kernel.ok()) out.kernels[k] = std::make_shared<const Kernel>(*std::move(kernel));
    else out.errors[k] = std::move(kernel.status());
    if (options.set_progress)
      options.set_progress(static_cast<uint32_t>(1000 * ++done / distinct.size()));
  };
  if (options.for_each) {
    options.for_each(distinct.size(), compile_one);
  } else {
    for (size_t job = 0; job < distinct.size(); ++job) compile_one(job);
  }
  for (size_t k = 0; k < jobs.size(); ++k) {
    size_t from = first.at(symbols[k]);
    BYOC_CHECK((out.kernels[from] != nullptr) == out.errors[from].ok(), "job ", from,
               " has no end");
    if (from == k) continue;
    out.kernels[k] = out.kernels[from];
    out.errors[k] = out.errors[from];
  }
  if (options.cache) options.cache->trim();
  return out;
}

namespace {

uint64_t aligned(uint64_t bytes) {
  return (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

// Writes the outputs, one after another from `memory`, by one call.
void run_maker(const ConstantMaker& maker, const byoc_native_fn& fn, const ConstantInputs& inputs,
               void* memory) {
  const sdk::Host host = sdk::host();
  std::vector<void*> data;
  for (const void* input : inputs.data) data.push_back(const_cast<void*>(input));
  auto* next = static_cast<std::byte*>(memory);
  for (uint64_t bytes : maker.output_bytes) {
    data.push_back(next);
    next += aligned(bytes);
  }
  const auto workspace = host.alloc(std::max<uint64_t>(maker.workspace_bytes, 1));
  byoc_native_failure failure{};
  failure.h = {sizeof failure, BYOC_TAG_NATIVE_FAILURE, nullptr};
  byoc_native_call call{{sizeof call, BYOC_TAG_NATIVE_CALL, nullptr},
                        data.data(),
                        workspace.get(),
                        host.table(),
                        0,
                        &failure};
  if (int32_t code = fn.run(&call); code != 0)
    throw sdk::Error(BYOC_INTERNAL, cat("code for packed constants returned ", code));
}

// Returns the outputs as parts of one blob of the host, which later writes it to the artifact from
// where it is.
PackedConstants outputs_of(const ConstantMaker& maker, const byoc_native_fn& fn,
                           const ConstantInputs& inputs, const std::string& key) {
  uint64_t total = 0;
  for (uint64_t bytes : maker.output_bytes) total += aligned(bytes);
  auto held = std::make_shared<const sdk::Held>(
      sdk::host().packed(key, std::max<uint64_t>(total, 1), Buffer::kAlignment,
                         [&](void* memory) { run_maker(maker, fn, inputs, memory); }));
  PackedConstants out;
  const auto* next = held->data<std::byte>();
  for (uint64_t bytes : maker.output_bytes) {
    out.push_back({{next, bytes}, held});
    next += aligned(bytes);
  }
  return out;
}

}  // namespace

Result<ConstantCode> link_constants(std::span<const ConstantKernel* const> kernels,
                                    const Machine& machine) {
  ConstantCode out;
  if (kernels.empty()) return out;
  std::vector<const Kernel*> functions;
  for (const ConstantKernel* constants : kernels) {
    BYOC_CHECK(constants != nullptr && constants->kernel != nullptr, "constants have a kernel");
    functions.push_back(constants->kernel.get());
    out.makers.push_back({constants->kernel->workspace.bytes, constants->output_bytes});
  }
  BYOC_TRY(out.object, link_native(functions, machine));
  return out;
}

Result<std::vector<PackedConstants>> run_constants(const ConstantCode& code,
                                                   std::span<const ConstantInputs> inputs) {
  std::vector<PackedConstants> out;
  if (code.makers.empty()) return out;
  BYOC_CHECK(inputs.size() == code.makers.size(), code.makers.size(), " kernels get the inputs of ",
             inputs.size());
  BYOC_TRY(const auto loaded, LoadedObject::load(code.object, sdk::host().table()));
  const ContentKey object = content_key(std::as_bytes(std::span(code.object)));
  for (size_t k = 0; k < code.makers.size(); ++k) {
    const std::string key = cat("made by ", object, " ", k, " of ") + inputs[k].keys;
    out.push_back(outputs_of(code.makers[k], loaded->function(k), inputs[k], key));
  }
  return out;
}

}  // namespace byoc::llvm_plugin
