// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/module.h"

#include <algorithm>
#include <array>

#include "byoc/plugin/sdk/host.h"

namespace byoc::cuda {
namespace {

constexpr uint64_t kWorkspaceAlign = 256;

}  // namespace

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
  /// code: null for a module that was compiled here and is not loaded. blas: null, or the library
  /// that computes the products of functions that have such a form.
  Kernel(const SavedFunction& function, const LoadedCode* code,
         const std::vector<const void*>* constants, const Blas* blas = nullptr,
         const std::string& why_no_blas = "")
      : program_(&function.program), code_(code), constants_(constants) {
    if (code == nullptr) return;
    if (!function.by_library.launches.empty()) {
      why_own_ = why_no_blas;
      if (blas != nullptr && plan_products(function.by_library, *blas)) {
        program_ = &function.by_library;
        library_ = "cuBLASLt " + blas->version();
      }
    }
    for (const Launch& launch : program_->launches)
      handles_.push_back(launch.product ? nullptr : code->function(launch.kernel));
  }

  /// Returns the bytes of the program, then those of the library, which its products share.
  uint64_t workspace_bytes() const { return own_bytes() + library_bytes_; }
  std::string text() const {
    const auto calls = static_cast<size_t>(std::ranges::count_if(
        program_->launches, [](const Launch& launch) { return launch.product.has_value(); }));
    std::string out = std::to_string(program_->launches.size() - calls) + " kernels";
    if (calls != 0) return out + ", " + std::to_string(calls) + " products by " + library_;
    return why_own_.empty() ? out : out + ", " + why_own_;
  }

  void run(const sdk::Call& call) const override {
    if (code_ == nullptr)
      throw sdk::Error(BYOC_FAILED_PRECONDITION, "the module was compiled and not loaded");
    Queue& queue = sdk::stream_of<Queue>(call.raw());
    const Device::Current current(code_->device());
    const Library& cu = code_->device().library();
    for (size_t k = 0; k < handles_.size(); ++k) {
      const Launch& launch = program_->launches[k];
      std::array<CUdeviceptr, Launch::kMostArguments> addresses;
      std::array<void*, Launch::kMostArguments> parameters;
      for (size_t a = 0; a < launch.arguments.size(); ++a) {
        addresses[a] = address(launch.arguments[a], call, queue);
        parameters[a] = &addresses[a];
      }
      if (launch.product) {
        const auto workspace = reinterpret_cast<CUdeviceptr>(call.workspace()) + own_bytes();
        products_[k]->run(addresses[0], addresses[1], addresses[2], workspace, queue.handle());
        continue;
      }
      cu.check(cu.cuLaunchKernel(handles_[k], launch.groups, 1, 1, launch.threads, 1, 1, 0,
                                 queue.handle(), parameters.data(), nullptr),
               "launching " + launch.kernel);
    }
  }

 private:
  uint64_t own_bytes() const {
    return (program_->workspace_bytes + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign;
  }
  // Prepares the products of a program; false, and why, where the library cannot compute one.
  bool plan_products(const Program& program, const Blas& blas) {
    std::vector<std::unique_ptr<const BlasProduct>> products;
    for (const Launch& launch : program.launches) {
      products.push_back(launch.product ? blas.plan(*launch.product, why_own_) : nullptr);
      if (launch.product && products.back() == nullptr) return false;
      if (launch.product)
        library_bytes_ = std::max(library_bytes_, products.back()->workspace_bytes());
    }
    products_ = std::move(products);
    return true;
  }
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
        return queue.failures().slot(program_->failures);
    }
    return reinterpret_cast<CUdeviceptr>(out);
  }

  const Program* program_;
  const LoadedCode* code_;
  const std::vector<const void*>* constants_;
  std::vector<CUfunction> handles_;                           // per launch; null for a product
  std::vector<std::unique_ptr<const BlasProduct>> products_;  // per launch; null for a kernel
  uint64_t library_bytes_ = 0;
  std::string library_, why_own_;
};

CudaModule::CudaModule(SavedModule saved, int device) : saved_(std::move(saved)), device_(device) {
  for (const SavedFunction& function : saved_.functions)
    kernels_.push_back(std::make_unique<Kernel>(function, nullptr, nullptr));
}

CudaModule::CudaModule(SavedModule saved, std::shared_ptr<const Device> device,
                       std::vector<std::vector<const void*>> constants, DeviceMemory own,
                       std::shared_ptr<const Blas> blas, std::string why_no_blas)
    : saved_(std::move(saved)),
      device_(device->number()),
      own_(std::move(own)),
      code_(std::make_unique<LoadedCode>(std::move(device), saved_)),
      blas_(std::move(blas)),
      why_no_blas_(std::move(why_no_blas)),
      constants_(std::move(constants)) {
  for (size_t k = 0; k < saved_.functions.size(); ++k) {
    kernels_.push_back(std::make_unique<Kernel>(saved_.functions[k], code_.get(), &constants_[k],
                                                blas_.get(), why_no_blas_));
    sdk::host().log(sdk::Host::kInfo, "cuda",
                    saved_.functions[k].symbol + ": " + kernels_.back()->text());
  }
}

CudaModule::~CudaModule() = default;

std::string CudaModule::compat() const {
  return std::string(kFormat) + " sm=" + std::to_string(saved_.sm);
}

sdk::KernelInfo CudaModule::info_of(size_t k) const {
  const SavedFunction& function = saved_.functions[k];
  sdk::KernelInfo info;
  info.device = {kDLCUDA, device_};
  info.flags = BYOC_KERNEL_ASYNC | BYOC_KERNEL_MAY_ALLOC;
  info.workspace_bytes = kernels_[k]->workspace_bytes();
  info.workspace_align = kWorkspaceAlign;
  info.implementation = "ptx:sm_" + std::to_string(saved_.sm) + ", " + kernels_[k]->text();
  info.n_in = static_cast<uint32_t>(function.n_in);
  info.n_out = static_cast<uint32_t>(function.n_out);
  info.signature = function.signature;
  for (uint64_t used : function.used)
    info.const_use.push_back(used != 0 ? BYOC_CONST_DEVICE : BYOC_CONST_UNUSED);
  return info;
}

sdk::Module::Entry CudaModule::find(std::string_view symbol) {
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (saved_.functions[k].symbol == symbol) return {kernels_[k].get(), info_of(k)};
  }
  return {};
}

}  // namespace byoc::cuda
