// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options, watch and results of the functions of byoc/c/tools.h.
#include <span>
#include <variant>

#include "byoc/model.h"
#include "runtime/c/handles.h"

namespace byoc::c {

/// An option of one function beside those of compiling. It takes precedence over one of the same
/// name. A list gets one more value each time.
using Target = std::variant<bool*, std::string*, int*, double*, uint32_t*, uint64_t*,
                            std::vector<std::string>*>;
struct Extra {
  std::string_view name;
  Target to;
};

/// Reads options of a function that takes no model. Errors: slug "usage".
Status read_options(const byoc_options* options, std::span<const Extra> extras);
/// Reads options of compiling, "input" and `extras`. `watch` must live as long as the result.
/// Errors: slug "usage".
Result<ModelRequest> read_request(const char* model, const byoc_options* options,
                                  const byoc_watch* watch, std::vector<Extra> extras);

/// Gives the caller a text, which byoc_text_free frees.
Status give_text(const std::string& text, char** out);

}  // namespace byoc::c
