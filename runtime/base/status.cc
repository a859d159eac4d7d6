// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/status.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "byoc/base/check.h"
#include "byoc/base/defect.h"

namespace byoc {

std::string_view code_name(Code code) {
  static constexpr std::string_view kNames[] = {"ok",
                                                "cancelled",
                                                "unknown",
                                                "invalid-argument",
                                                "deadline-exceeded",
                                                "not-found",
                                                "already-exists",
                                                "permission-denied",
                                                "resource-exhausted",
                                                "failed-precondition",
                                                "aborted",
                                                "out-of-range",
                                                "unimplemented",
                                                "internal",
                                                "unavailable",
                                                "data-loss",
                                                "unauthenticated",
                                                "declined",
                                                "stale-artifact",
                                                "bad-graph"};
  auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

Status::Status(Code code, std::string message)
    : detail_(std::make_unique<Detail>(Detail{code, {}, std::move(message), {}, {}})) {
  BYOC_CHECK(code != Code::kOk, "an error needs a code: ", detail_->message);
}

Status::Status(const Status& other)
    : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
  return *this;
}

namespace {
const std::string kEmpty;
}  // namespace

const std::string& Status::message() const { return detail_ ? detail_->message : kEmpty; }
const std::string& Status::slug() const { return detail_ ? detail_->slug : kEmpty; }
const std::string& Status::where() const { return detail_ ? detail_->where : kEmpty; }
const std::string& Status::help() const { return detail_ ? detail_->help : kEmpty; }

Status&& Status::with_slug(std::string slug) && {
  if (detail_) detail_->slug = std::move(slug);
  return std::move(*this);
}

Status&& Status::with_help(std::string help) && {
  if (detail_) detail_->help = std::move(help);
  return std::move(*this);
}

Status&& Status::at(std::string_view place) && {
  if (detail_) {
    detail_->where = detail_->where.empty() ? std::string(place) : cat(place, ": ", detail_->where);
  }
  return std::move(*this);
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  std::string out = "error";
  if (!slug().empty()) out += cat("[", slug(), "]");
  out += cat(": ", message());
  if (!where().empty()) out += cat("\n  ", where());
  if (!help().empty()) out += cat("\n  help: ", help());
  return out;
}

void print_to(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

namespace {
constinit char failed_text[1024];  // the message of the first failed check
constinit std::atomic<size_t> failed_size{0};
constinit std::atomic<DefectReporter> defect_reporter{nullptr};
}  // namespace

std::string_view failed_check() {
  return {failed_text, failed_size.load(std::memory_order_acquire)};
}

void set_defect_reporter(DefectReporter reporter) { defect_reporter = reporter; }
bool reports_defects() { return defect_reporter.load() != nullptr; }
std::string report_defect(std::string_view what) {
  const DefectReporter reporter = defect_reporter;
  return reporter ? reporter(what) : "";
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  static std::atomic_flag is_second;
  const std::string text = cat("internal error at ", file, ":", line, ": ", condition,
                               " does not hold", message.empty() ? "" : ": ", message);
  std::fprintf(stderr, "byoc: %s\n", text.c_str());
  if (!is_second.test_and_set()) {
    const size_t size = text.copy(failed_text, sizeof failed_text);
    failed_size.store(size, std::memory_order_release);
  }
  std::abort();
}

}  // namespace byoc
