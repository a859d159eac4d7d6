// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "library/dnnl_compat.h"

namespace byoc::onednn {

/// Returns a layout in oneDNN's notation: "abcd" is row-major, "acdb" has channels last, "aBcd8b"
/// has them in blocks of eight. Returns "opaque" for other layouts.
std::string format_text(const Desc& desc);

}  // namespace byoc::onednn
