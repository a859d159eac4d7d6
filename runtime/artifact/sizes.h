// SPDX-License-Identifier: Apache-2.0
#pragma once
// The manifest of an artifact of several sizes: the label of each, and the key of its own manifest.
#include "byoc/runtime/sizes.h"
#include "runtime/artifact/manifest.h"

namespace byoc {

struct SizeRecord {
  std::string label;
  ContentKey
      manifest;  // the section with the manifest of this size, whose list of sections is empty
};

struct SizesManifest {
  std::vector<SizeRecord> sizes;
  std::vector<Section> sections;  // in file order
};

std::string write_sizes_manifest(const std::string& producer, const SizesManifest& manifest);
/// Errors: kDataLoss, slug "artifact-corrupt".
Result<SizesManifest> read_sizes_manifest(std::string_view text);

/// Checks that there is a size, that labels differ, and that inputs have the same names and dtypes
/// and differ in extents. Errors: slug "executable".
Status check_sizes(std::span<const SizedExecutable> sizes);

}  // namespace byoc
