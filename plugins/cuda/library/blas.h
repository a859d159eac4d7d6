// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of matrices by cuBLASLt.
#include <memory>
#include <type_traits>

#include "plugins/cuda/code/launch.h"
#include "plugins/cuda/driver/device.h"
#include "plugins/cuda/library/blas_api.h"

namespace byoc::cuda {

/// A product that is ready to run. run: thread-safe.
class BlasProduct {
 public:
  virtual ~BlasProduct() = default;
  /// Returns the bytes of device memory that a run needs, aligned to 256 bytes.
  virtual uint64_t workspace_bytes() const = 0;
  /// Enqueues the product. Throws the library's error, which names the call: BYOC_UNAVAILABLE for a
  /// device that is lost, BYOC_RESOURCE_EXHAUSTED for memory.
  virtual void run(CUdeviceptr a, CUdeviceptr b, CUdeviceptr d, CUdeviceptr workspace,
                   CUstream stream) const = 0;
};

/// The library on one device. Thread-safe.
class Blas {
 public:
  /// Opens it; null, and the reason with the cure, where it cannot be used. `option`: as in
  /// open_library.
  static std::shared_ptr<const Blas> open(const std::string& option,
                                          std::shared_ptr<const Device> device, std::string& why);
  virtual ~Blas() = default;
  virtual std::string version() const = 0;  ///< "12.4.5"
  /// Prepares a product; null, and the reason, where the library has no algorithm for it. Throws
  /// other errors of the library.
  virtual std::unique_ptr<const BlasProduct> plan(const MatrixProduct& product,
                                                  std::string& why) const = 0;
};

}  // namespace byoc::cuda
