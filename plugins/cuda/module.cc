// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/module.h"

#include <array>

namespace byoc::cuda {

LoadedCode::LoadedCode(std::shared_ptr<const Device> device, const SavedModule& module)
    : device_(std::move(device)) {
  const Device::Current current(*device_);
  const Library& cu = device_->library();
  std::string log(4096, '\0');
  int32_t options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const CUresult result =
      cu.cuModuleLoadDataEx(&handle_, module.ptx.c_str(), std::size(options), options, values);
  log.resize(log.find('\0'));
  cu.check(result,
           "loading code for " + device_->row().name + (log.empty() ? "" : " (" + log + ")"));
}

LoadedCode::~LoadedCode() {
  try {
    const Device::Current current(*device_);
    device_->library().cuModuleUnload(handle_);
  } catch (const sdk::Error&) {  // the device is gone, and the code with it
  }
}

CUfunction LoadedCode::function(const std::string& kernel) const {
  const Device::Current current(*device_);
  CUfunction out = nullptr;
  device_->library().check(device_->library().cuModuleGetFunction(&out, handle_, kernel.c_str()),
                           "finding the kernel " + kernel);
  return out;
}

class CudaModule::Kernel : public sdk::Kernel {
 public:
  /// code: null for a module that was compiled here and is not loaded.
  Kernel(const SavedFunction& function, const LoadedCode* code,
         const std::vector<const void*>* constants)
      : function_(function), code_(code), constants_(constants) {
    if (code == nullptr) return;
    for (const Launch& launch : function.program.launches)
      handles_.push_back(code->function(launch.kernel));
  }

  void run(const sdk::Call& call) const override {
    if (code_ == nullptr)
      throw sdk::Error(BYOC_FAILED_PRECONDITION, "the module was compiled and not loaded");
    Queue& queue = sdk::stream_of<Queue>(call.raw());
    const Device::Current current(code_->device());
    const Library& cu = code_->device().library();
    for (size_t k = 0; k < handles_.size(); ++k) {
      const Launch& launch = function_.program.launches[k];
      std::array<CUdeviceptr, Launch::kMostArguments> addresses;
      std::array<void*, Launch::kMostArguments> parameters;
      for (size_t a = 0; a < launch.arguments.size(); ++a) {
        addresses[a] = address(launch.arguments[a], call, queue);
        parameters[a] = &addresses[a];
      }
      cu.check(cu.cuLaunchKernel(handles_[k], launch.groups, 1, 1, launch.threads, 1, 1, 0,
                                 queue.handle(), parameters.data(), nullptr),
               "launching " + launch.kernel);
    }
  }

 private:
  CUdeviceptr address(const Argument& argument, const sdk::Call& call, Queue& queue) const {
    const void* out = nullptr;
    switch (argument.kind) {
      case Argument::kInput:
        out = call.in_data<void>(argument.at);
        break;
      case Argument::kConstant:
        out = (*constants_)[argument.at];
        break;
      case Argument::kOutput:
        out = call.out_data<void>(argument.at);
        break;
      case Argument::kWorkspace:
        out = static_cast<const char*>(call.workspace()) + argument.at;
        break;
      case Argument::kFailure:
        return queue.failures().slot(function_.program.failures);
    }
    return reinterpret_cast<CUdeviceptr>(out);
  }

  const SavedFunction& function_;
  const LoadedCode* code_;
  const std::vector<const void*>* constants_;
  std::vector<CUfunction> handles_;
};

CudaModule::CudaModule(SavedModule saved, int device) : saved_(std::move(saved)), device_(device) {
  for (const SavedFunction& function : saved_.functions)
    kernels_.push_back(std::make_unique<Kernel>(function, nullptr, nullptr));
}

CudaModule::CudaModule(SavedModule saved, std::shared_ptr<const Device> device,
                       std::vector<std::vector<const void*>> constants, DeviceMemory own)
    : saved_(std::move(saved)),
      device_(device->number()),
      own_(std::move(own)),
      code_(std::make_unique<LoadedCode>(std::move(device), saved_)),
      constants_(std::move(constants)) {
  for (size_t k = 0; k < saved_.functions.size(); ++k)
    kernels_.push_back(std::make_unique<Kernel>(saved_.functions[k], code_.get(), &constants_[k]));
}

CudaModule::~CudaModule() = default;

std::string CudaModule::compat() const {
  return std::string(kFormat) + " sm=" + std::to_string(saved_.sm);
}

sdk::KernelInfo CudaModule::info_of(const SavedFunction& function) const {
  constexpr uint64_t kAlign = 256;
  sdk::KernelInfo info;
  info.device = {kDLCUDA, device_};
  info.flags = BYOC_KERNEL_ASYNC | BYOC_KERNEL_MAY_ALLOC;
  info.workspace_bytes = function.program.workspace_bytes;
  info.workspace_align = kAlign;
  info.implementation = "ptx:sm_" + std::to_string(saved_.sm) + ", " +
                        std::to_string(function.program.launches.size()) + " kernels";
  info.n_in = static_cast<uint32_t>(function.n_in);
  info.n_out = static_cast<uint32_t>(function.n_out);
  info.signature = function.signature;
  for (uint64_t used : function.used)
    info.const_use.push_back(used != 0 ? BYOC_CONST_DEVICE : BYOC_CONST_UNUSED);
  return info;
}

sdk::Module::Entry CudaModule::find(std::string_view symbol) {
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (saved_.functions[k].symbol == symbol)
      return {kernels_[k].get(), info_of(saved_.functions[k])};
  }
  return {};
}

}  // namespace byoc::cuda
