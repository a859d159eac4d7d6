// SPDX-License-Identifier: Apache-2.0
#pragma once
// The manifest of an artifact: an Executable as JSON; the bytes are in the sections.
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "byoc/runtime/artifact.h"
#include "runtime/artifact/reordered.h"

namespace byoc {

/// Bytes that occur once in the file, named by their content. A section with `from` has none of its
/// own: its elements are those of another section in another order. One with `file` is a part of a
/// file of the model, or has the elements of that part in another order.
struct Section {
  ContentKey key;
  uint64_t size = 0;
  std::vector<ContentKey> from = {};   // one or none
  std::vector<std::string> file = {};  // one or none
  std::vector<uint64_t> place = {};    // with `file`: offset and bytes of the part
  ElementOrder order = {};
  bool is_stored() const { return from.empty() && file.empty(); }
};

/// Returns the keys of all constants, packed ones too, that the executable has the bytes of, with
/// repetitions.
std::vector<ContentKey> constant_keys(const Executable& executable);

/// Returns the bytes that the executable has (constants, packed constants, blobs), each once,
/// ordered by key, with those of its fallback and the fallback's manifest. Errors:
/// kInvalidArgument, slug "executable", for bytes that are missing.
Result<std::vector<std::shared_ptr<const Buffer>>> sections_of(const Executable& executable);
/// Returns the constants that a Session reads only where a `fill` of packed_get needs them.
std::set<ContentKey> read_later(std::span<const Executable* const> executables);
/// Returns the table of sections that are all stored.
std::vector<Section> table_of(const std::vector<std::shared_ptr<const Buffer>>& sections);
/// Returns the table of sections that these executables have. Those of read_later get `from` where
/// a packed constant has their elements in another order. Cost: O(bytes of those).
std::vector<Section> table_of(std::span<const Executable* const> executables,
                              const std::vector<std::shared_ptr<const Buffer>>& sections);

/// Returns the same text for the same executable. Text that is not UTF-8
/// gets replacement characters.
std::string write_manifest(const Executable& executable, const std::vector<Section>& sections);

/// Returns the manifest of its fallback, which exists, as a section.
std::shared_ptr<const Buffer> fallback_manifest(const Executable& executable);

struct Manifest {
  Executable executable;               // without buffers
  std::vector<ContentKey> blobs;       // one per module of the executable
  std::vector<Section> sections;       // in file order
  std::optional<ContentKey> fallback;  // of the section with the manifest of the fallback
};
/// Parses a manifest. Errors: kDataLoss, slug "artifact-corrupt", with the path of the value that
/// is wrong.
Result<Manifest> read_manifest(std::string_view text);

}  // namespace byoc
