// SPDX-License-Identifier: Apache-2.0
// Errors, options, cancelling and versions of byoc/c/byoc.h.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "byoc/base/no_memory.h"
#include "byoc/base/version.h"
#include "byoc/host/register.h"
#include "runtime/c/handles.h"

namespace byoc::c {

namespace {

/// The error for a failed allocation has no Status, which would be allocated: it is this address,
/// and its texts are constants.
alignas(byoc_error) constinit std::byte no_memory_place[sizeof(byoc_error)];
constexpr const char* kNoMemoryMessage = "an allocation failed";
constexpr const char* kNoMemoryHelp =
    "raise the limit of memory (ulimit -v), or end other programs";
constexpr const char* kNoMemoryText =
    "error[no-memory]: an allocation failed\n  help: raise the limit of memory (ulimit -v), or end "
    "other programs";

bool is_no_memory(const byoc_error* error) {
  return static_cast<const void*>(error) == no_memory_place;
}

/// Returns a text of an error.
const char* text_of(const byoc_error* error, const char* of_no_memory,
                    const std::string& (Status::*text)() const) {
  if (error == nullptr) return "";
  return is_no_memory(error) ? of_no_memory : (error->status.*text)().c_str();
}

}  // namespace

byoc_error* no_memory_error() noexcept { return reinterpret_cast<byoc_error*>(no_memory_place); }

byoc_error* error_of(Status status) noexcept {
  if (status.ok()) return nullptr;
  try {
    std::string text = status.to_string();
    return new byoc_error{std::move(status), std::move(text)};
  } catch (...) {
    return no_memory_error();
  }
}

Status status_of(const byoc_error* error) {
  return is_no_memory(error) ? no_memory() : error->status;
}

Status null_argument(const char* name) {
  return invalid(cat("the argument `", name, "` is NULL")).with_slug("null-argument");
}

Result<const Cancellation*> cancellation_of(const byoc_watch* watch) {
  if (watch == nullptr) return nullptr;
  constexpr size_t kLeast = offsetof(byoc_watch, user) + sizeof(watch->user);
  if (watch->size < kLeast) {
    return invalid(cat("byoc_watch.size is ", watch->size, ", expected at least ", kLeast))
        .with_slug("watch-size")
        .with_help("set it to sizeof(byoc_watch)");
  }
  return watch->cancel != nullptr ? &watch->cancel->cancellation : nullptr;
}

}  // namespace byoc::c

using namespace byoc;
using namespace byoc::c;

const char* byoc_version(void) { return version().data(); }
uint32_t byoc_c_api_minor(void) { return BYOC_C_API_MINOR; }

byoc_error* byoc_error_new(enum byoc_code code, const char* message) {
  std::underlying_type_t<byoc_code> number;
  std::memcpy(&number, &code, sizeof number);  // in C any number may be passed
  return guarded([&]() -> Status {
    const bool is_known = number > BYOC_OK && number <= BYOC_BAD_GRAPH;
    return Status(is_known ? static_cast<Code>(number) : Code::kUnknown,
                  message == nullptr ? "" : message);
  });
}
enum byoc_code byoc_error_code(const byoc_error* error) {
  if (error == nullptr) return BYOC_OK;
  return is_no_memory(error) ? BYOC_RESOURCE_EXHAUSTED
                             : static_cast<enum byoc_code>(error->status.code());
}
const char* byoc_error_slug(const byoc_error* error) {
  return text_of(error, "no-memory", &Status::slug);
}
const char* byoc_error_message(const byoc_error* error) {
  return text_of(error, kNoMemoryMessage, &Status::message);
}
const char* byoc_error_where(const byoc_error* error) { return text_of(error, "", &Status::where); }
const char* byoc_error_help(const byoc_error* error) {
  return text_of(error, kNoMemoryHelp, &Status::help);
}
const char* byoc_error_text(const byoc_error* error) {
  if (error == nullptr) return "";
  return is_no_memory(error) ? kNoMemoryText : error->text.c_str();
}
void byoc_error_free(byoc_error* error) {
  if (!is_no_memory(error)) delete error;
}
void byoc_text_free(char* text) { std::free(text); }

byoc_error* byoc_options_new(byoc_options** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(out);
    *out = new byoc_options;
    return {};
  });
}
byoc_error* byoc_options_set(byoc_options* options, const char* name, const char* value) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(options);
    BYOC_C_REQUIRE(name);
    options->values.emplace_back(name, value == nullptr ? "" : value);
    return {};
  });
}
void byoc_options_free(byoc_options* options) { delete options; }

byoc_error* byoc_canceller_new(byoc_canceller** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(out);
    *out = new byoc_canceller;
    return {};
  });
}
void byoc_canceller_cancel(byoc_canceller* canceller) {
  if (canceller != nullptr) canceller->cancellation.cancel();
}
void byoc_canceller_free(byoc_canceller* canceller) { delete canceller; }

byoc_error* byoc_register_plugin(const byoc_plugin* table) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(table);
    return register_plugin(table);
  });
}
const byoc_host* byoc_plugin_host(void) { return host_table(); }
void byoc_shutdown(void) {
  (void)guarded([]() -> Status {
    shutdown_plugins();
    return {};
  });
}
