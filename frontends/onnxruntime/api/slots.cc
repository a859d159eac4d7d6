// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/api/slots.h"

#include <dlfcn.h>

#include <cstring>

namespace byoc::ort {
namespace {

/// The entries of a table, each a pointer to a function.
const void* const* entries_of(const void* table) { return static_cast<const void* const*>(table); }

const void* library_of(const void* address) {
  Dl_info info;
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

Status bad_table(std::string message, const char* version) {
  return failed(std::move(message))
      .with_slug("ort-table")
      .at(cat("ONNX Runtime ", version))
      .with_help("use a published onnxruntime, 1.23 or newer");
}

/// A function of a table, to be checked.
struct Entry {
  const char* name;
  int number;
  const void* address;
};

Status check_entry(const Entry& entry, const void* library, const char* version) {
  if (entry.address != nullptr && library_of(entry.address) == library) return {};
  return bad_table(cat("place ", entry.number, " of the interface has no function of the library (",
                       entry.name, " is expected)"),
                   version);
}

Status check_statuses(const Calls& calls) {
  constexpr const char* kText = "a status that byoc made and reads";
  OrtStatus* made = calls.CreateStatus(kOrtEpFail, kText);
  if (made == nullptr) return bad_table("no status is made", calls.runtime_version.c_str());
  const bool is_same = calls.GetErrorCode(made) == kOrtEpFail &&
                       std::strcmp(calls.GetErrorMessage(made), kText) == 0;
  calls.ReleaseStatus(made);
  return is_same ? Status()
                 : bad_table("a status is read as another one", calls.runtime_version.c_str());
}

/// Makes a text with a zero byte in it, reads it, and so finds `ends_texts`.
Status check_attributes(Calls& calls) {
  constexpr char kBytes[] = {'b', '\0', 'y'};
  constexpr size_t kSize = sizeof kBytes;
  const char* version = calls.runtime_version.c_str();
  const int type = static_cast<int>(OrtAttribute::kString);
  OrtOpAttr* made = nullptr;
  BYOC_ORT_TRY(calls, CreateOpAttr("text", kBytes, kSize, type, &made));
  if (made == nullptr) return bad_table("no attribute is made", version);
  char read[kSize + 1] = {};
  size_t size = 0;
  Status status = take(calls, calls.ReadOpAttr(made, type, read, sizeof read, &size));
  calls.ReleaseOpAttr(made);
  BYOC_TRY_STATUS(std::move(status));
  calls.ends_texts = size == kSize + 1;
  const bool is_same = (size == kSize || calls.ends_texts) && std::memcmp(read, kBytes, kSize) == 0;
  return is_same ? Status() : bad_table("an attribute is read as another one", version);
}

/// Returns the table of the newest version up to `most` that there is; null: none.
const OrtApi* newest_api(const OrtApiBase& base, uint32_t most) {
  for (uint32_t version = most; version > 0; --version) {
    if (const OrtApi* api = base.get_api(version)) return api;
  }
  return nullptr;
}

int code_of(const Status& status) {
  return status.code() == Code::kInvalidArgument ? kOrtInvalidArgument : kOrtEpFail;
}

#define ORT_READ(number, name)                                                  \
  BYOC_TRY_STATUS(check_entry({#name, number, all[number]}, library, version)); \
  std::memcpy(&calls.name, &all[number], sizeof calls.name);

Status read_main(const void* const* all, const void* library, Calls& calls) {
  const char* version = calls.runtime_version.c_str();
#define ORT_SLOT(number, name, result, arguments) ORT_READ(number, name)
#define ORT_LATER_SLOT(since, number, name, result, arguments) \
  if (calls.runtime_minor >= since) {                          \
    ORT_READ(number, name)                                     \
  }
#include "frontends/onnxruntime/api/slots.inc"
  return {};
}

Status read_of_providers(const void* const* all, const void* library, Calls& calls) {
  const char* version = calls.runtime_version.c_str();
#define ORT_EP_SLOT(number, name, result, arguments) ORT_READ(number, name)
#include "frontends/onnxruntime/api/slots.inc"
  return {};
}

Status read_of_editor(const void* const* all, const void* library, Calls& calls) {
  const char* version = calls.runtime_version.c_str();
#define ORT_EDITOR_SLOT(number, name, result, arguments) ORT_READ(number, name)
#include "frontends/onnxruntime/api/slots.inc"
  return {};
}

/// Returns the 24 of "1.24.4"; 0 for another form. Requests of versions that a library does not
/// have make it print a message, so the version is read first.
uint32_t minor_of(const char* version) {
  uint32_t out = 0;
  const char* dot = std::strchr(version, '.');
  for (const char* c = dot ? dot + 1 : ""; *c >= '0' && *c <= '9'; ++c)
    out = out * 10 + static_cast<uint32_t>(*c - '0');
  return out;
}

}  // namespace

Result<Calls> read_calls(const OrtApiBase& base) {
  Calls calls;
  calls.runtime_version = base.version_text();
  calls.runtime_minor = minor_of(calls.runtime_version.c_str());
  const char* version = calls.runtime_version.c_str();
  const OrtApi* api = base.get_api(kOrtApiVersion);
  if (api == nullptr) {
    return failed(cat("ONNX Runtime ", version, " is too old for byoc"))
        .with_slug("ort-too-old")
        .with_help("install onnxruntime 1.23 or newer");
  }
  const void* const* all = entries_of(api);
  const void* library = library_of(all[0]);
  BYOC_TRY_STATUS(read_main(all, library, calls));
  const OrtEpApi* ep_api = calls.GetEpApi();
  if (ep_api == nullptr) return bad_table("it has no interface for providers", version);
  BYOC_TRY_STATUS(read_of_providers(entries_of(ep_api), library, calls));
  if (const OrtModelEditorApi* editor = calls.GetModelEditorApi())
    BYOC_TRY_STATUS(read_of_editor(entries_of(editor), library, calls));
  BYOC_TRY_STATUS(check_statuses(calls));
  BYOC_TRY_STATUS(check_attributes(calls));
  return calls;
}

OrtStatus* status_of(const OrtApiBase& base, const Status& status) {
  if (status.ok()) return nullptr;
  const OrtApi* api = newest_api(base, kOrtApiVersion);
  if (api == nullptr) return nullptr;
  OrtStatus* (*create)(int, const char*) = nullptr;
  std::memcpy(&create, entries_of(api), sizeof create);
  return create(code_of(status), status.to_string().c_str());
}

OrtStatus* status_of(const Calls& calls, const Status& status) {
  if (status.ok()) return nullptr;
  return calls.CreateStatus(code_of(status), status.to_string().c_str());
}

Status take(const Calls& calls, OrtStatus* status) {
  if (status == nullptr) return {};
  Status out = failed(calls.GetErrorMessage(status)).with_slug("onnxruntime");
  calls.ReleaseStatus(status);
  return out;
}

}  // namespace byoc::ort
