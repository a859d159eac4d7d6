// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "library/dnnl_compat.h"

namespace byoc::onednn {

/// A layout in oneDNN's words: "abcd" is row-major, "acdb" has channels last, "aBcd8b" has them in
/// blocks of eight. "opaque" where it is not of that kind.
std::string format_text(const Desc& desc);

}  // namespace byoc::onednn
