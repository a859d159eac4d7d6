// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of the process's ONNX Runtime, found by their places in its tables.
#include <string>

#include "byoc/base/status.h"
#include "frontends/onnxruntime/api/types.h"

namespace byoc::ort {

/// A pointer per row of slots.inc. Immutable once made; the functions may be called by any thread.
struct Calls {
#define ORT_SLOT(number, name, result, arguments) result(*name) arguments = nullptr;
#define ORT_EP_SLOT ORT_SLOT
#define ORT_EDITOR_SLOT ORT_SLOT
#define ORT_LATER_SLOT(since, number, name, result, arguments) \
  ORT_SLOT(number, name, result, arguments)
#include "frontends/onnxruntime/api/slots.inc"
  std::string runtime_version;  ///< "1.23.2"
  uint32_t runtime_minor = 0;   ///< 23
  bool ends_texts = false;      ///< ReadOpAttr appends a zero byte to texts; false: 1.23
};

/// Reads the tables and checks them: each function lies in the library of the table, and a status
/// and an attribute that are made can be read again. Errors: slug "ort-too-old", for ONNX Runtime
/// before 1.23; slug "ort-table", for a table of another form.
Result<Calls> read_calls(const OrtApiBase& base);

/// Makes the answer to ONNX Runtime: null for an ok status. A `Calls` need not be there, as any
/// version of the table has the function that makes a status; null when it has none.
OrtStatus* status_of(const OrtApiBase& base, const Status& status);
OrtStatus* status_of(const Calls& calls, const Status& status);

/// Turns an answer of ONNX Runtime into a Status and frees it.
Status take(const Calls& calls, OrtStatus* status);

/// Returns take(...) when it is an error.
#define BYOC_ORT_TRY(calls, call) BYOC_TRY_STATUS(take(calls, (calls).call))

}  // namespace byoc::ort
