// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors inside a plugin are exceptions; at the ABI they become byoc_status objects.
#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "byoc/plugin/abi.h"

namespace byoc::sdk {

/// code: a byoc_code. function and node: indices in the request that is compiled, -1 = none; the
/// SDK fills in the function where it has one.
class Error : public std::exception {
 public:
  /// Makes an error. Indices: node in the graph, function in the request, -1: none.
  Error(uint32_t code, std::string message, int64_t node = -1, int64_t function = -1,
        const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE())
      : code(code),
        node(node),
        function(function),
        file(file),
        line(line),
        message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }  ///< the message
  /// The fault, and the next step for the user.
  const std::string& message() const { return message_; }

  uint32_t code;           ///< a byoc_code
  int64_t node, function;  ///< indices, -1: none
  const char* file;        ///< the source that threw; for the log
  uint32_t line;           ///< its line

 private:
  std::string message_;
};

/// Thrown in compile: the plugin does not compile this function after all; it goes to the
/// default codegen.
class Declined : public Error {
 public:
  /// Declines with a reason that users read. Indices as for Error.
  explicit Declined(std::string why, int64_t node = -1, int64_t function = -1,
                    const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE())
      : Error(BYOC_DECLINED, std::move(why), node, function, file, line) {}
};

/// Borrows the text.
constexpr byoc_str to_str(std::string_view text) { return {text.data(), text.size()}; }
/// Borrows the text.
constexpr std::string_view to_view(byoc_str text) { return {text.p ? text.p : "", text.n}; }

namespace detail {

/// Set by the entry, which two PluginSets may call at a time; the same in all of the process.
inline constinit std::atomic<const byoc_host*> host_pointer{nullptr};
inline const byoc_host* host_table() { return host_pointer.load(std::memory_order_relaxed); }

/// Carries a status that the host made back to the host.
class HostError : public std::exception {
 public:
  explicit HostError(byoc_status* status) : status_(status) {}
  HostError(HostError&& other) noexcept : status_(std::exchange(other.status_, nullptr)) {}
  ~HostError() override {
    if (status_) host_table()->status_free(status_);
  }
  const char* what() const noexcept override { return "a service of the host failed"; }
  byoc_status* take() { return std::exchange(status_, nullptr); }

 private:
  byoc_status* status_;
};

inline void check(byoc_status* status) {
  if (status) throw HostError(status);
}

inline byoc_status* make_status(uint32_t code, const char* message, int64_t function = -1,
                                int64_t node = -1, const char* file = nullptr, uint32_t line = 0) {
  return host_table()->status_new(host_table()->ctx, code, function, node, file, line,
                                  to_str(message));
}

/// Throws when a struct carries an extension that must be understood, because this SDK has none.
inline void check_understood(const byoc_hdr& header) {
  for (const byoc_ext* ext = header.ext; ext != nullptr; ext = ext->next) {
    if (!(ext->id & BYOC_EXT_MUST_UNDERSTAND)) continue;
    throw Error(BYOC_UNIMPLEMENTED, "the host requires extension " +
                                        std::to_string(ext->id & ~BYOC_EXT_MUST_UNDERSTAND) +
                                        ", which this plugin does not have");
  }
}

/// Runs f and turns an exception into a status.
template <class F>
byoc_status* guarded(F&& f) noexcept {
  try {
    f();
    return nullptr;
  } catch (HostError& e) {
    return e.take();
  } catch (const Error& e) {
    return make_status(e.code, e.what(), e.function, e.node, e.file, e.line);
  } catch (const std::bad_alloc&) {
    return make_status(BYOC_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::exception& e) {
    return make_status(BYOC_INTERNAL, e.what());
  } catch (...) {
    return make_status(BYOC_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace detail
}  // namespace byoc::sdk
