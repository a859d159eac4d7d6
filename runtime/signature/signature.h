// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "byoc/base/status.h"

namespace byoc {

/// Returns true when BYOC_TRUSTED_KEYS names keys: files are then loaded with a signature only.
bool requires_signatures();

/// Checks the signature PATH.minisig of a file with these contents by the keys of
/// BYOC_TRUSTED_KEYS; returns ok when that is empty. Thread-safe. Cost: O(bytes). Errors:
/// kUnauthenticated, slug "signature": no signature, one by another key, a wrong one, or one that
/// cannot be read; slug "signature-key": a key that cannot be read; slug "signature-library": there
/// is no libsodium.
Status check_signature(const std::string& path, std::span<const std::byte> contents);
/// Does the same for a file that is not read yet.
Status check_signature(const std::string& path);

}  // namespace byoc
