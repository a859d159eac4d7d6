// SPDX-License-Identifier: Apache-2.0
#pragma once
// The manifest in a plugin file's ELF note, read without loading the file.
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "byoc/base/status.h"
#include "runtime/plugin_file/byte_source.h"

namespace byoc {

struct PluginManifest {
  std::string id, version, arch;
  int64_t abi_major = 0, min_host_minor = 0;
  std::optional<int64_t> priority;  // absent: only the table has it
  bool keeps_compiles = false, has_parallel_compiles = false, takes_weights_as_inputs = false;
  bool has_devices = false;
};

/// Errors: kInvalidArgument, kFailedPrecondition when the file is not an ELF shared object
/// of this machine.
Status check_shared_object(const ByteSource& file);
Status check_shared_object(std::span<const std::byte> file);
/// Reads the manifest. Errors name the actual kind of file, with the cure as help: not an ELF
/// shared object, another processor, no manifest, a malformed one.
Result<PluginManifest> read_manifest(const ByteSource& file);
Result<PluginManifest> read_manifest(std::span<const std::byte> file);
/// Errors: kDataLoss when the file ends before the segments and sections that its headers describe,
/// or when these headers cannot be right; those of check_shared_object.
Status check_complete(const ByteSource& file);
/// Errors: kFailedPrecondition when this byoc is not the host that `manifest` needs.
Status check_abi(const PluginManifest& manifest);
/// [a-z][a-z0-9_-]*, at most 64 letters: ids occur in symbols, file names and commands.
bool is_plugin_id(std::string_view id);

}  // namespace byoc
