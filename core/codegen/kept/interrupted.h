// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/host/plugins.h"

namespace byoc {

inline bool is_interrupted(const CompileOptions& options) {
  return options.cancel != nullptr && options.cancel->is_cancelled();
}

/// Returns the result of a compile that the user has interrupted, as Plugin::compile returns it.
inline CompileResult interrupted(const Plugin& plugin) {
  CompileResult out;
  out.status = Status(Code::kCancelled, cat(plugin.id(), ": interrupted")).with_slug("interrupted");
  return out;
}

}  // namespace byoc
