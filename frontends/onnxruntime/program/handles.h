// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles of byoc's C API that free themselves, and its errors as Status.
#include <memory>

#include "byoc/base/status.h"
#include "byoc/c/byoc.h"

namespace byoc::ort {

template <auto free>
struct Frees {
  void operator()(auto* handle) const { free(handle); }
};
using OptionsHandle = std::unique_ptr<byoc_options, Frees<byoc_options_free>>;
using ProgramHandle = std::unique_ptr<byoc_program, Frees<byoc_program_free>>;
using SessionHandle = std::unique_ptr<byoc_session, Frees<byoc_session_free>>;
using ContextHandle = std::unique_ptr<byoc_context, Frees<byoc_context_free>>;

/// Turns an error of the C API into a Status and frees it.
Status status_of(byoc_error* error);

}  // namespace byoc::ort
