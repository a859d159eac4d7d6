// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of compile: a native module with kernels that are ready to run here as well.
#include <optional>

#include "byoc/base/buffer.h"
#include "byoc/plugin/sdk/plugin.h"
#include "plugins/llvm/compile.h"
#include "plugins/llvm/loaded.h"

namespace byoc::llvm_plugin {

/// The call signature of one function of the module.
struct Signature {
  std::string symbol;
  uint32_t n_in = 0, n_out = 0;
  Workspace workspace = {};
  std::vector<std::string> constants;   // keys of the function's constants, 16 bytes each
  std::string types;                    // of inputs and outputs: byoc_kernel_info::signature
  std::vector<uint8_t> const_use = {};  // byoc_const_use per constant; empty: all are kept
  /// The constants that packed ones are made of, by number. No list: there are no packed constants;
  /// an empty one: they are made of nothing, as the tables of a Fourier transform.
  std::optional<std::vector<uint64_t>> packed_from = {};
  /// byoc_kernel_info::inplace_pairs: an input whose memory an output may take over.
  std::vector<std::pair<uint32_t, uint32_t>> inplace = {};

  bool keeps(size_t constant) const {
    return constant >= const_use.size() || const_use[constant] == BYOC_CONST_KEPT;
  }
};

/// Returns the pairs of a function that only writes new rows to a cache; none of others. Its code
/// compares the addresses, and checks all starts before it writes.
std::vector<std::pair<uint32_t, uint32_t>> inplace_of(const sdk::Graph& graph);

/// The code that makes packed constants again when load gives a module to this plugin: the host
/// lends it the constants of the function alone. One maker per function with packed constants.
struct Packing {
  ConstantCode code;
  std::string compat;  // of the machine that the code is for
};

/// The constants that a kernel reads in every run: of the host, then its own.
struct KernelConstants {
  std::vector<sdk::Held> held;  // those that are kept
  PackedConstants packed;
};

class NativeModule : public sdk::Module {
 public:
  /// constants[k]: those of function k.
  NativeModule(std::string object, std::string compat, std::vector<Signature> functions,
               std::vector<KernelConstants> constants, Packing packing);
  ~NativeModule() override;
  Entry find(std::string_view symbol) override;
  /// Saves the shared object, then the signatures, in bytes that loaders do not read.
  void save(sdk::Saver& saver) const override;
  std::string compat() const override { return compat_; }

 private:
  class Kernel;
  std::unique_ptr<sdk::Kernel> make_kernel(size_t k);

  std::string object_, compat_;
  std::vector<Signature> functions_;
  std::vector<KernelConstants> constants_;
  Packing packing_;
  std::unique_ptr<LoadedObject> loaded_;
  std::vector<std::unique_ptr<sdk::Kernel>> kernels_;
  std::string load_error_;
};

/// Reads the bytes that save wrote. Throws BYOC_DATA_LOSS.
struct SavedModule {
  std::string object;
  std::vector<Signature> functions;
  Packing packing;
};
SavedModule read_saved(std::string_view blob);

}  // namespace byoc::llvm_plugin
