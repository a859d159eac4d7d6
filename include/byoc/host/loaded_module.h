// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of loading a module by its plugin: kernels and the facts about them.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "byoc/base/external.h"
#include "byoc/plugin/abi.h"

namespace byoc {

/// The addresses of constants in the memory of a device.
using DeviceAddresses = std::map<ContentKey, const void*>;

/// Handles of a loaded external module. Its kernels live as long as it does, and it must not
/// outlive the PluginSet. Movable only.
class LoadedModule {
 public:
  /// The info of a kernel after this load; the workspace may differ from the one saved at compile,
  /// because it depends on the machine and on the number of threads.
  struct Kernel {
    byoc_kernel* handle = nullptr;  ///< the plugin's; lives as long as the module
    /// Scratch memory of a run, bytes; byoc_kernel_flags.
    uint64_t workspace_bytes = 0, workspace_align = 1, flags = 0;
    std::vector<std::pair<uint32_t, uint32_t>> inplace;  ///< (input, output)
    /// The use of each constant of the function.
    std::vector<uint8_t> const_use;
    std::string implementation;    ///< a name for reports, may be empty
    std::string signature;         ///< the arguments' types; empty when the plugin gives none
    std::string open_workspace;    ///< the bytes of the workspace by sizes; empty: workspace_bytes
    std::vector<uint32_t> device;  ///< as in ExternalFunction
    std::vector<uint8_t> placement;  ///< likewise
  };
  LoadedModule() = default;
  /// Owns a module that `table` made.
  LoadedModule(const byoc_plugin* table, byoc_module* module);
  LoadedModule(LoadedModule&&) noexcept;             ///< Moves; the source is empty.
  LoadedModule& operator=(LoadedModule&&) noexcept;  ///< Releases its own module, then moves.
  ~LoadedModule();
  const byoc_plugin* table() const { return table_; }  ///< the plugin's table
  /// The kernel of the function with that index.
  byoc_kernel* kernel(size_t function) const { return kernels_[function].handle; }
  /// Returns all kernels, one per function of the module, in their order.
  const std::vector<Kernel>& kernels() const { return kernels_; }

 private:
  friend class Plugin;
  const byoc_plugin* table_ = nullptr;
  byoc_module* module_ = nullptr;
  std::vector<Kernel> kernels_;
};

}  // namespace byoc
