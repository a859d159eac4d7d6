// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of compiling functions by a plugin, as bytes without handles. It is shared by the IR
// (attribute external_mods), the artifact and the runtime.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byoc/base/buffer.h"
#include "byoc/base/dtype.h"

namespace byoc {

/// The type of a tensor at run time: extents are numbers, or bounds of what each run counts or has
/// as sizes of its inputs.
struct TensorSpec {
  DType dtype = DType::kF32;  ///< element type
  std::vector<int64_t> dims;  ///< the extents; the bounds of counted and of open ones
  uint32_t counted = 0;       ///< bit d: each run counts dim d, which is at most dims[d]
  bool is_counted(size_t d) const { return (counted >> d & 1) != 0; }  ///< bit d of `counted`
  /// Empty, or per dim its size_expression.h text where it is open, "" where it is not.
  std::vector<std::string> open = {};
  bool is_open() const { return !open.empty(); }  ///< true when some dim is open
  /// Returns true when dim d is open.
  bool is_open(size_t d) const { return !open.empty() && !open[d].empty(); }
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};
/// Appends "f32[1,3,32,32]", "f32[<=100,B*T<=512]".
void print_to(std::string& out, const TensorSpec& spec);
/// Reads the text that print_to writes. Errors: kInvalidArgument, slug "type-syntax", with the text
/// that was found.
Result<TensorSpec> parse_tensor_spec(std::string_view text);
/// Returns the bytes of a compact tensor, with the bounds of counted and open dims. Errors:
/// kOutOfRange when it does not fit in 63 bits.
Result<int64_t> size_bytes(const TensorSpec& spec);
int64_t num_elements(const TensorSpec& spec);  ///< dims checked before

/// A constant of an external function.
struct ExternalConstant {
  std::string name;  ///< the name in the graph, "c0"
  ContentKey key;    ///< the bytes are in the module's pool
  TensorSpec type;   ///< dtype and extents
  uint8_t use = 2;   ///< byoc_const_use: 0 unused 1 copied 2 kept 3 packed 4 on the device
  friend bool operator==(const ExternalConstant&, const ExternalConstant&) = default;
};

/// A function of the module that was equal to a compiled one and is run by its kernel.
struct ExternalAlias {
  std::string symbol;             ///< the function's name
  std::vector<std::string> locs;  ///< the user's names of its ops, each once
  friend bool operator==(const ExternalAlias&, const ExternalAlias&) = default;
};

/// Holds all that calling and planning memory need, so that the plugin is not called again for it.
struct ExternalFunction {
  std::string symbol;                                   ///< the name; unique in the module
  uint32_t n_in = 0, n_out = 0;                         ///< the numbers of inputs and outputs
  std::vector<ExternalConstant> constants;              ///< in the order the plugin was given them
  std::vector<std::pair<ContentKey, uint64_t>> packed;  ///< save's packed constants, with alignment
  std::vector<std::pair<uint32_t, uint32_t>> inplace;   ///< (input, output) that may share memory
  /// The needs of a run, in bytes; byoc_kernel_flags.
  uint64_t workspace_bytes = 0, workspace_align = 1, flags = 0;
  std::string implementation;      ///< in the plugin's words, may be empty
  std::vector<std::string> sizes;  ///< the open sizes that its kernel is given, in this order
  /// Empty: it runs on the host. Else DLPack's type of its device, and the device's number.
  std::vector<uint32_t> device;
  /// With a device: byoc_place per input, then per output; empty: all are on the device.
  std::vector<uint8_t> placement;
  /// Returns true when an argument is on the device; inputs are counted first, then outputs.
  bool is_on_device(size_t argument) const {
    return !device.empty() && (placement.empty() || placement[argument] == 0);
  }
  double flops = 0;               ///< the operations of the ops inside
  uint64_t ops = 0;               ///< the number of ops inside
  std::vector<std::string> locs;  ///< the user's names of those ops, each once
  /// Empty in an Executable, whose steps have symbols and locs of their own.
  std::vector<ExternalAlias> aliases;
  friend bool operator==(const ExternalFunction&, const ExternalFunction&) = default;
};

/// The result of one plugin's compile.
struct ExternalModule {
  /// The plugin that compiled it, and the texts that load receives again.
  std::string plugin, plugin_version, compat, options_json;
  /// Low half: byoc_module_flags (BYOC_MODULE_NATIVE: blob is an ELF object). High half: those
  /// byoc_compile_flags that load receives again.
  uint64_t flags = 0;
  std::vector<ExternalFunction> functions;  ///< in the order of the request
  std::shared_ptr<const Buffer> blob;       ///< the bytes that the plugin's save wrote
  /// With BYOC_MODULE_PACKED: what packed_get returned in compile, as (hash of its key, contents),
  /// each once, ordered by the first.
  std::vector<std::pair<ContentKey, ContentKey>> packed;
};
/// Compares contents; blobs are compared by bytes.
bool operator==(const ExternalModule& a, const ExternalModule& b);

}  // namespace byoc
