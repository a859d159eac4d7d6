// SPDX-License-Identifier: Apache-2.0
#pragma once
// Artifacts that have several programs and their weights once: one for each of several sizes of the
// model's inputs, and several models, the entries, such as prefill and decode.
#include <span>
#include <vector>

#include "byoc/runtime/artifact.h"

namespace byoc {

/// A program for one choice of the model's open sizes.
struct SizedExecutable {
  std::string label;      ///< the choice, "N=4", "T=1..64"; empty in an artifact of one size
  Executable executable;  ///< its inputs differ from those of the others in extents alone
  /// The model in an artifact of several, "decode"; the sizes of an entry follow one another.
  /// Empty in an artifact of one model.
  std::string entry = {};
};

/// Writes an artifact with these sizes, as save_artifact does. Bytes that several sizes name are
/// written once. One size without a label gives the file of save_artifact. Errors: as
/// save_artifact; slug "executable" for no size, for several entries of which one has no name, for
/// sizes of an entry that are apart, and for sizes of an entry with equal labels, or with inputs
/// that differ in names or dtypes or in nothing.
Status save_artifact_sizes(std::span<const SizedExecutable> sizes, const std::string& path);
/// Reads an artifact of one or more sizes, in the order of save_artifact_sizes. Errors: as
/// load_artifact.
Result<std::vector<SizedExecutable>> load_artifact_sizes(const std::string& path);
/// Reads an artifact from memory, which is copied. Errors: as load_artifact.
Result<std::vector<SizedExecutable>> load_artifact_bytes(std::span<const std::byte> artifact);

/// Returns the names of the entries, in order; none for an artifact of one model without a name.
std::vector<std::string> entries_of(std::span<const SizedExecutable> sizes);
/// Finds the sizes of one entry. Without a name: of the only one. Errors: slug "unknown-entry",
/// with the names that there are; slug "artifact-entries" for no name where there are several.
Result<std::span<const SizedExecutable>> find_entry(std::span<const SizedExecutable> sizes,
                                                    std::string_view name);
/// Returns them, without the others. Errors: as find_entry.
Result<std::vector<SizedExecutable>> take_entry(std::vector<SizedExecutable> sizes,
                                                std::string_view name);

/// Compares each part of these with its hash, also the constants that load_artifact leaves until
/// they are first read: after a load and this, every byte of the file is the one that was written.
/// Errors: kDataLoss, slug "artifact-corrupt". Cost: O(bytes).
Status check_contents(std::span<const SizedExecutable> sizes);

/// Returns "N=1: x f32[1,8]; N=4: x f32[4,8]" for messages, at most eight of them.
std::string describe_sizes(std::span<const SizedExecutable> sizes);
/// Returns the error for inputs that no size has: slug "input-size". `given` is "x f32[2,8]",
/// `described` the result of describe_sizes.
Status no_such_size(const std::string& given, const std::string& described);

}  // namespace byoc
