// SPDX-License-Identifier: Apache-2.0
#pragma once
// Artifacts that have a program for each of several sizes of the model's inputs, and weights once.
#include <span>
#include <vector>

#include "byoc/runtime/artifact.h"

namespace byoc {

/// A program for one choice of the model's open sizes.
struct SizedExecutable {
  std::string label;      ///< the choice, "N=4", "T=1..64"; empty in an artifact of one size
  Executable executable;  ///< its inputs differ from those of the others in extents alone
};

/// Writes an artifact with these sizes, as save_artifact does. Bytes that several sizes name are
/// written once. One size without a label gives the file of save_artifact. Errors: as
/// save_artifact; slug "executable" for no size, for equal labels, and for inputs that differ in
/// names or dtypes or in nothing.
Status save_artifact_sizes(std::span<const SizedExecutable> sizes, const std::string& path);
/// Reads an artifact of one or more sizes, in the order of save_artifact_sizes. Errors: as
/// load_artifact.
Result<std::vector<SizedExecutable>> load_artifact_sizes(const std::string& path);
/// Reads an artifact from memory, which is copied. Errors: as load_artifact.
Result<std::vector<SizedExecutable>> load_artifact_bytes(std::span<const std::byte> artifact);

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
