// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiled functions: the PTX and how it is launched; loaded ones have it in a device.
#include <optional>

#include "plugins/cuda/driver/queue.h"
#include "plugins/cuda/library/blas.h"
#include "plugins/cuda/saved.h"

namespace byoc::cuda {

/// Keeps code in a device while it lives.
class LoadedCode {
 public:
  /// Throws BYOC_FAILED_PRECONDITION, with the driver's log, for code that it refuses.
  LoadedCode(std::shared_ptr<const Device> device, const SavedModule& module);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  CUfunction function(const std::string& kernel) const;
  const Device& device() const { return *device_; }

 private:
  std::shared_ptr<const Device> device_;
  CUmodule handle_ = nullptr;
};

class CudaModule : public sdk::Module {
 public:
  /// A module that was compiled; its kernels cannot run.
  CudaModule(SavedModule saved, int device);
  /// A module that was loaded. constants: their addresses on the device, per function; own: those
  /// that are the module's own; blas: null, and why, where products are those of own kernels.
  CudaModule(SavedModule saved, std::shared_ptr<const Device> device,
             std::vector<std::vector<const void*>> constants, DeviceMemory own,
             std::shared_ptr<const Blas> blas, std::string why_no_blas);
  ~CudaModule() override;
  Entry find(std::string_view symbol) override;
  void save(sdk::Saver& saver) const override { saver.write(write_saved(saved_)); }
  std::string compat() const override;

 private:
  class Kernel;
  sdk::KernelInfo info_of(size_t function) const;
  SavedModule saved_;
  int device_;
  std::optional<DeviceMemory> own_;
  std::unique_ptr<LoadedCode> code_;
  std::shared_ptr<const Blas> blas_;
  std::string why_no_blas_;
  std::vector<std::vector<const void*>> constants_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // per function
};

}  // namespace byoc::cuda
