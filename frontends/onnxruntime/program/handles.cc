// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/program/handles.h"

namespace byoc::ort {

Status status_of(byoc_error* error) {
  if (error == nullptr) return {};
  Status out(static_cast<Code>(byoc_error_code(error)), byoc_error_message(error));
  if (*byoc_error_slug(error)) out = std::move(out).with_slug(byoc_error_slug(error));
  if (*byoc_error_where(error)) out = std::move(out).at(byoc_error_where(error));
  if (*byoc_error_help(error)) out = std::move(out).with_help(byoc_error_help(error));
  byoc_error_free(error);
  return out;
}

}  // namespace byoc::ort
