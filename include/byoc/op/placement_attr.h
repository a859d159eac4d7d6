// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one attribute that every op has besides its own.
#include <string_view>

namespace byoc {

/// The attribute of a call that pins the op to a plugin ("llvm") or bans plugins from it
/// ("!llvm,!json") when plugins are chosen by cost. Plugins do not receive it.
inline constexpr std::string_view kPlacementAttribute = "placement";

}  // namespace byoc
