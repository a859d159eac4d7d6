// SPDX-License-Identifier: Apache-2.0
#include "run_loops.h"

#include <sys/mman.h>

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/base/size_expression.h"
#include "byoc/host/plugins.h"
#include "byoc/te/evaluate.h"
#include "runtime/host/threads.h"

namespace byoc::test {
namespace {

constexpr size_t kPage = 4096;

/// Memory whose last byte is the last one of a page. The next page is not accessible.
class Guarded {
 public:
  explicit Guarded(size_t bytes)
      : bytes_(bytes), size_((bytes + kPage - 1) / kPage * kPage + 2 * kPage) {
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_, kPage, PROT_NONE);
    ::mprotect(memory_ + size_ - kPage, kPage, PROT_NONE);
  }
  ~Guarded() { ::munmap(memory_, size_); }
  Guarded(const Guarded&) = delete;
  std::byte* data() { return memory_ + size_ - kPage - bytes_; }

 private:
  size_t bytes_, size_;
  std::byte* memory_;
};

size_t elements(const te::Tensor& tensor, const te::Bindings& sizes) {
  size_t n = 1;
  for (const te::Expr& extent : tensor.shape()) {
    auto count = te::evaluate(extent, sizes);
    BYOC_CHECK(count.ok(), count.status().message());
    n *= static_cast<size_t>(*count);
  }
  return n;
}

}  // namespace

llvm_plugin::Machine this_machine(const std::vector<std::string>& without) {
  te::Target target = llvm_plugin::host_target();
  for (const std::string& feature : without) std::erase(target.features, feature);
  auto machine = llvm_plugin::machine_of(target);
  BYOC_CHECK(machine.ok(), machine.status().message());
  return *machine;
}

Loaded::Loaded(te::LoopFunction function, const RunOptions& options)
    : function_(std::move(function)), threads_(options.threads) {
  auto machine = this_machine(options.without);
  const uint32_t compiled_for = options.compiled_for == 0 ? threads_ : options.compiled_for;
  llvm_plugin::EmitOptions emit{.threads = compiled_for};
  std::string symbol = llvm_plugin::kernel_symbol(function_, machine, emit);
  auto kernel = llvm_plugin::compile_kernel(function_, symbol, machine, emit);
  BYOC_CHECK(kernel.ok(), kernel.status().message());
  std::vector<std::string> names;
  for (const te::Var& size : function_.sizes) names.push_back(size.name());
  kernel->workspace = llvm_plugin::with_names(std::move(kernel->workspace), names);
  const llvm_plugin::Kernel* kernels[] = {&*kernel};
  auto object = llvm_plugin::link_native(kernels, machine);
  BYOC_CHECK(object.ok(), object.status().message());
  auto loaded = llvm_plugin::LoadedObject::load(*object, host_table());
  BYOC_CHECK(loaded.ok(), loaded.status().message());
  object_ = *std::move(loaded);
}

// Returns the bytes of the workspace for these sizes: as the runtime computes them.
size_t workspace_bytes(const byoc_native_fn& fn, const std::vector<te::Var>& sizes,
                       const std::vector<int64_t>& values) {
  const std::string_view text(fn.open_workspace.p, fn.open_workspace.n);
  if (text.empty()) return (fn.workspace_bytes + 63) / 64 * 64;
  auto bytes = SizeExpression::parse(text);
  BYOC_CHECK(bytes.ok(), bytes.status().message());
  std::vector<int64_t> own;
  for (const std::string& name : bytes->names()) {
    const auto size = std::ranges::find(sizes, name, &te::Var::name);
    BYOC_CHECK(size != sizes.end(), text, " has a size that the function lacks");
    own.push_back(values[static_cast<size_t>(size - sizes.begin())]);
  }
  auto value = bytes->evaluate(own);
  BYOC_CHECK(value.ok(), value.status().message());
  return static_cast<size_t>(*value);
}

std::vector<Data> Loaded::run(const std::vector<Data>& inputs,
                              const std::vector<int64_t>& sizes) const {
  BYOC_CHECK(sizes.size() == function_.sizes.size(), "a run gives ", sizes.size(), " sizes of ",
             function_.sizes.size());
  te::Bindings bindings;
  for (size_t k = 0; k < sizes.size(); ++k) bindings.emplace_back(function_.sizes[k], sizes[k]);
  std::vector<std::unique_ptr<Guarded>> memory;
  std::vector<void*> data;
  for (const Data& input : inputs) {
    memory.push_back(std::make_unique<Guarded>(input.bytes.size()));
    std::copy(input.bytes.begin(), input.bytes.end(), memory.back()->data());
    data.push_back(memory.back()->data());
  }
  std::vector<Data> outputs;
  for (const te::Tensor& tensor : function_.outputs) {
    outputs.push_back({tensor.dtype(), std::vector<std::byte>(elements(tensor, bindings) *
                                                              dtype_size(tensor.dtype()))});
    memory.push_back(std::make_unique<Guarded>(outputs.back().bytes.size()));
    std::memset(memory.back()->data(), 0xcd, outputs.back().bytes.size());
    data.push_back(memory.back()->data());
  }
  const byoc_native_fn& fn = object_->function(0);
  Guarded workspace(workspace_bytes(fn, function_.sizes, sizes));
  byoc_native_call call{
      {sizeof call, BYOC_TAG_NATIVE_CALL, nullptr}, data.data(), workspace.data(), host_table(), 0};
  call.sizes = sizes.data();
  ThreadScope scope(threads_);
  EXPECT_EQ(fn.run(&call), 0);
  for (size_t k = 0; k < outputs.size(); ++k)
    std::memcpy(outputs[k].bytes.data(), data[inputs.size() + k], outputs[k].bytes.size());
  return outputs;
}

std::vector<Data> run_loops(const te::LoopFunction& function, const std::vector<Data>& inputs,
                            const RunOptions& options) {
  return Loaded(function, options).run(inputs);
}

std::vector<float> run_f32(const te::LoopFunction& function, const std::vector<float>& input) {
  return run_loops(function, {f32(input)})[0].as<float>();
}

}  // namespace byoc::test
