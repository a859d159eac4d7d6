#pragma once
// Many loop functions -> kernels, on all cores, equal ones once, from the cache where it has them.
#include <functional>

#include "plugins/llvm/cache.h"

namespace byoc::llvm_plugin {

struct CompileOptions {
  EmitOptions emit;
  uint32_t jobs = 1;                           // threads that compile
  const KernelCache* cache = nullptr;          // null: none
  std::function<bool()> is_cancelled;          // called between kernels
  std::function<void(uint32_t)> set_progress;  // permille; from any of the threads
};
/// Per function its kernel; equal functions have the same one.
struct Compiled {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<Status> errors;  // per function
};
Compiled compile_kernels(std::span<const te::LoopFunction> functions, const Machine& machine,
                         const CompileOptions& options);
/// Calls work(k) for every k below n on `jobs` threads, this one included.
void on_threads(size_t n, uint32_t jobs, const std::function<void(size_t)>& work);

}  // namespace byoc::llvm_plugin
