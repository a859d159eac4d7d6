// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as values. An error caused by a model, a file, a plugin or the machine is returned as
// Status or Result<T>; a bug of byoc stops in BYOC_CHECK (check.h). No exception leaves a
// public function.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace byoc {

/// The 16 canonical codes and three of byoc's; the numbers are those of the plugin ABI.
enum class Code : uint32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
  kDeclined = 17,
  kStaleArtifact = 18,
  kBadGraph = 19,
};
std::string_view code_name(Code code);  ///< "invalid-argument"

/// Success, or an error: `message` describes the fault with the value at fault, `where` is the file
/// or node, `help` is the next step for the user, `slug` is a stable short name that tests and
/// users can match.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);  ///< Makes an error; kOk is not allowed.
  Status(const Status& other);             ///< Copies the error.
  Status& operator=(const Status& other);  ///< Replaces the error.
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return detail_ == nullptr; }                     ///< true without an error
  Code code() const { return detail_ ? detail_->code : Code::kOk; }  ///< kOk without an error
  const std::string& message() const;  ///< the fault; empty without an error
  /// A short stable name that tests and users match; may be empty.
  const std::string& slug() const;
  const std::string& where() const;         ///< the place, outermost first; may be empty
  const std::string& help() const;          ///< the next step for the user; may be empty
  Status&& with_slug(std::string slug) &&;  ///< Sets the slug.
  Status&& with_help(std::string help) &&;  ///< Sets the help.
  /// Adds a place; an outer place is put before an inner one: "model.onnx: node "Conv_0"".
  Status&& at(std::string_view place) &&;
  /// Returns "error[slug]: message\n  where\n  help: ...", as the commands print it.
  std::string to_string() const;

 private:
  struct Detail {
    Code code;
    std::string slug, message, where, help;
  };
  std::unique_ptr<Detail> detail_;
};

/// A value or an error.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Holds a value.
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  /// Holds an error; an ok Status is not allowed.
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design
  bool ok() const { return value_.has_value(); }         ///< true when there is a value
  Status& status() { return status_; }                   ///< the error; ok when there is a value
  const Status& status() const { return status_; }       ///< the error; ok when there is a value
  T& operator*() & { return *value_; }                   ///< the value; ok() must be true
  const T& operator*() const& { return *value_; }        ///< the value; ok() must be true
  T&& operator*() && { return *std::move(value_); }      ///< the value; ok() must be true
  T* operator->() { return &*value_; }                   ///< the value; ok() must be true
  const T* operator->() const { return &*value_; }       ///< the value; ok() must be true

 private:
  std::optional<T> value_;
  Status status_;
};

/// Appends the text of a printable value: numbers, strings, and types with `void
/// print_to(std::string&, const T&)`.
inline void print_to(std::string& out, std::string_view text) { out.append(text); }
/// Appends the text.
inline void print_to(std::string& out, const std::string& text) { out.append(text); }
/// Appends the text up to the null byte.
inline void print_to(std::string& out, const char* text) { out.append(text); }
inline void print_to(std::string& out, char c) { out.push_back(c); }  ///< Appends the character.
/// Appends "true" or "false".
inline void print_to(std::string& out, bool value) { out.append(value ? "true" : "false"); }
void print_to(std::string& out, double value);  ///< shortest form that reads back equal
/// Appends the text of the same f64.
inline void print_to(std::string& out, float value) { print_to(out, double{value}); }
/// Appends the decimal digits.
template <class T>
requires std::is_integral_v<T>
void print_to(std::string& out, T value) { out.append(std::to_string(value)); }

/// Returns the texts of all parts, joined.
template <class... Ts>
std::string cat(const Ts&... parts) {
  std::string out;
  (print_to(out, parts), ...);
  return out;
}

/// Makes a kInvalidArgument.
inline Status invalid(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
/// Makes a kNotFound.
inline Status not_found(std::string m) { return {Code::kNotFound, std::move(m)}; }
/// Makes a kUnimplemented.
inline Status unimplemented(std::string m) { return {Code::kUnimplemented, std::move(m)}; }
/// Makes a kDataLoss.
inline Status data_loss(std::string m) { return {Code::kDataLoss, std::move(m)}; }
/// Makes a kFailedPrecondition.
inline Status failed(std::string m) { return {Code::kFailedPrecondition, std::move(m)}; }

}  // namespace byoc

#define BYOC_CONCAT_(a, b) a##b
#define BYOC_CONCAT(a, b) BYOC_CONCAT_(a, b)
/// BYOC_TRY(auto x, f());   declares x as f()'s value, or returns f()'s error from this function.
#define BYOC_TRY(declaration, expression) \
  BYOC_TRY_(BYOC_CONCAT(byoc_result_, __LINE__), declaration, expression)
#define BYOC_TRY_(result, declaration, expression) \
  auto result = (expression);                      \
  if (!result.ok()) [[unlikely]]                   \
    return std::move(result).status();             \
  declaration = *std::move(result)
/// BYOC_TRY_STATUS(f());   returns f()'s error from this function, if it is one.
#define BYOC_TRY_STATUS(expression)             \
  do {                                          \
    ::byoc::Status byoc_status_ = (expression); \
    if (!byoc_status_.ok()) [[unlikely]]        \
      return byoc_status_;                      \
  } while (false)
