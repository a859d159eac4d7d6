// SPDX-License-Identifier: Apache-2.0
#pragma once
// The handles of byoc/c/byoc.h, and the way in which its functions end.
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "byoc/c/byoc.h"
#include "byoc/host/cancellation.h"
#include "byoc/runtime/session.h"
#include "byoc/runtime/sizes.h"

struct byoc_error {
  byoc::Status status;
  std::string text;
};
struct byoc_options {
  std::vector<std::pair<std::string, std::string>> values;  // in the order they were set
};
struct byoc_canceller {
  byoc::Cancellation cancellation;
};
struct byoc_program {
  std::vector<byoc::SizedExecutable> sizes;
};
struct byoc_session {
  std::shared_ptr<const byoc::PluginSet> plugins;  // outlives the session
  std::unique_ptr<byoc::Session> session;
};
struct byoc_context {
  const byoc::Session& session;
  std::unique_ptr<byoc::Context> context;
};

namespace byoc::c {

/// Returns the error as a handle, NULL for an ok status. Never throws: without memory it is the one
/// error that is made before.
byoc_error* error_of(Status status) noexcept;
byoc_error* no_memory_error() noexcept;
/// Returns a copy of the error's status. `error` is not NULL.
Status status_of(const byoc_error* error);

/// Runs the body of a function. No exception leaves it.
template <class Body>
byoc_error* guarded(Body&& body) noexcept {
  try {
    return error_of(body());
  } catch (const std::bad_alloc&) {
    return no_memory_error();
  } catch (const std::exception& e) {
    try {
      return error_of(Status(Code::kInternal, cat("a defect of byoc: ", e.what())));
    } catch (...) {
      return no_memory_error();
    }
  }
}

/// Returns the error for an argument that must not be NULL.
Status null_argument(const char* name);

/// Gives the caller a handle, or the error.
template <class Handle>
Status give(Result<std::unique_ptr<Handle>> made, Handle** out) {
  if (!made.ok()) return std::move(made.status());
  *out = made->release();
  return {};
}

/// Returns the canceller's, null where the watch has none. Errors: slug "watch-size" for a `size`
/// with which it has not all members of minor 1.
Result<const Cancellation*> cancellation_of(const byoc_watch* watch);

}  // namespace byoc::c

/// Returns an error of the function when an argument is NULL.
#define BYOC_C_REQUIRE(argument) \
  if ((argument) == nullptr) return ::byoc::c::null_argument(#argument)
