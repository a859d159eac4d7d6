// SPDX-License-Identifier: Apache-2.0
#pragma once
// libcuda, opened while the program runs.
#include <memory>
#include <string>
#include <type_traits>

#include "byoc/plugin/sdk/error.h"
#include "plugins/cuda/driver/api.h"

namespace byoc::cuda {

/// The entry points of one driver. Thread-safe; lives as long as something refers to it.
class Library {
 public:
#define BYOC_CUDA_TYPED(name, type) std::add_pointer_t<type> name = nullptr;
  BYOC_CUDA_ENTRY_POINTS(BYOC_CUDA_TYPED)
#undef BYOC_CUDA_TYPED
  /// Opens the library and initialises it. Throws BYOC_UNAVAILABLE with the cure: no driver, one
  /// that is older than kLeastVersion, or one without a device.
  static std::shared_ptr<const Library> open(const std::string& path);

  static constexpr int kLeastVersion = 11000;  ///< of CUDA 11.0, that sm_80 needs
  int version() const { return version_; }     ///< as cuDriverGetVersion counts

  /// Throws the error of a call: BYOC_RESOURCE_EXHAUSTED for memory of the device,
  /// BYOC_UNAVAILABLE for a device that is lost, else BYOC_INTERNAL. `what` was tried.
  void check(CUresult result, const std::string& what) const {
    if (result != kSuccess) fail(result, what);
  }
  [[noreturn]] void fail(CUresult result, const std::string& what) const;

 private:
  Library() = default;
  int version_ = 0;
};

/// Returns "12.4" for 12040.
std::string version_text(int version);

}  // namespace byoc::cuda
