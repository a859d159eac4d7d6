// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/compile.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace byoc::llvm_plugin {
namespace {

Result<Kernel> find_or_compile(const te::LoopFunction& function, const std::string& symbol,
                               const Machine& machine, const CompileOptions& options) {
  if (options.is_cancelled && options.is_cancelled()) return Status(Code::kCancelled, "cancelled");
  if (options.cache) {
    if (auto known = options.cache->find(symbol)) return *std::move(known);
  }
  Result<Kernel> kernel = compile_kernel(function, symbol, machine, options.emit);
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

Compiled compile_kernels(std::span<const te::LoopFunction> functions, const Machine& machine,
                         const CompileOptions& options) {
  std::vector<std::string> symbols;
  std::map<std::string, size_t> first;  // the first function with each symbol
  for (const te::LoopFunction& function : functions) {
    symbols.push_back(kernel_symbol(function, machine, options.emit));
    first.emplace(symbols.back(), symbols.size() - 1);
  }
  std::vector<size_t> distinct;
  for (const auto& [symbol, k] : first) distinct.push_back(k);
  std::sort(distinct.begin(), distinct.end());

  Compiled out{std::vector<std::shared_ptr<const Kernel>>(functions.size()),
               std::vector<Status>(functions.size())};
  std::atomic<uint32_t> done{0};
  auto compile_one = [&](size_t job) {
    size_t k = distinct[job];
    auto kernel =
        guarded([&] { return find_or_compile(functions[k], symbols[k], machine, options); });
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
  for (size_t k = 0; k < functions.size(); ++k) {
    size_t from = first.at(symbols[k]);
    if (from == k) continue;
    out.kernels[k] = out.kernels[from];
    out.errors[k] = out.errors[from];
  }
  if (options.cache) options.cache->trim();
  return out;
}

}  // namespace byoc::llvm_plugin
