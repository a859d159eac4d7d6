// SPDX-License-Identifier: Apache-2.0
#pragma once
// The manifest of an artifact of several programs: entry, label and key of the manifest of each.
#include "byoc/runtime/sizes.h"
#include "runtime/artifact/manifest.h"

namespace byoc {

struct SizeRecord {
  std::string label;
  ContentKey
      manifest;  // the section with the manifest of this size, whose list of sections is empty
  std::string entry = {};
};

struct SizesManifest {
  std::vector<SizeRecord> sizes;
  std::vector<Section> sections;  // in file order
};

std::string write_sizes_manifest(const std::string& producer, const SizesManifest& manifest);
/// Errors: kDataLoss, slug "artifact-corrupt".
Result<SizesManifest> read_sizes_manifest(std::string_view text);

/// Checks that there is a size, that entries have names and are together, and that the sizes of
/// each have other labels, and inputs with the same names and dtypes and other extents. Errors:
/// slug "executable".
Status check_sizes(std::span<const SizedExecutable> sizes);
/// Returns the number of sizes that the first entry has.
size_t sizes_of_first(std::span<const SizedExecutable> sizes);

}  // namespace byoc
