// SPDX-License-Identifier: Apache-2.0
#include "core/c/read_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "byoc/base/nearest.h"

namespace byoc::c {
namespace {

template <class T>
bool read_number(const std::string& text, T& to) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

bool read(const std::string& text, bool& to) { return to = true, text.empty(); }
bool read(const std::string& text, std::string& to) { return to = text, !text.empty(); }
bool read(const std::string& text, int& to) { return read_number(text, to); }
bool read(const std::string& text, double& to) { return read_number(text, to); }
bool read(const std::string& text, uint32_t& to) { return read_number(text, to); }
bool read(const std::string& text, uint64_t& to) { return read_number(text, to); }
bool read(const std::string& text, std::vector<std::string>& to) {
  return to.push_back(text), !text.empty();
}

/// Reads one option into `extras`; returns false when it is not among them.
Result<bool> read_extra(const std::string& name, const std::string& value,
                        std::span<const Extra> extras) {
  auto extra = std::ranges::find(extras, name, &Extra::name);
  if (extra == extras.end()) return false;
  if (std::visit([&value](auto* to) { return c::read(value, *to); }, extra->to)) return true;
  return invalid(cat("the option ", name, " has no valid value: \"", value, "\""))
      .with_slug("usage");
}

Status unknown(const std::string& name, std::span<const OptionInfo> rows,
               std::span<const Extra> extras) {
  std::vector<std::string> known;
  for (const OptionInfo& row : rows) known.emplace_back(row.name);
  for (const Extra& extra : extras) known.emplace_back(extra.name);
  return not_found(cat("no option \"", name, "\"", did_you_mean(name, known))).with_slug("usage");
}

/// Returns the values in the order they were set.
std::span<const std::pair<std::string, std::string>> values_of(const byoc_options* options) {
  if (options == nullptr) return {};
  return options->values;
}

OnProgress progress_of(const byoc_watch* watch) {
  if (watch == nullptr || watch->progress == nullptr) return nullptr;
  return [watch](std::string_view what, uint64_t done, uint64_t total) {
    watch->progress(watch->user, std::string(what).c_str(), done, total);
  };
}

}  // namespace

Status read_options(const byoc_options* options, std::span<const Extra> extras) {
  for (const auto& [name, value] : values_of(options)) {
    BYOC_TRY(const bool is_read, read_extra(name, value, extras));
    if (!is_read) return unknown(name, {}, extras);
  }
  return {};
}

Result<ModelRequest> read_request(const char* model, const byoc_options* options,
                                  const byoc_watch* watch, std::vector<Extra> extras) {
  ModelRequest out;
  out.path = model;
  BYOC_TRY(out.cancel, cancellation_of(watch));
  out.progress = progress_of(watch);
  extras.push_back({"input", &out.inputs});
  for (const auto& [name, value] : values_of(options)) {
    BYOC_TRY(const bool is_read, read_extra(name, value, extras));
    if (is_read) continue;
    const auto rows = option_table();
    if (std::ranges::count(rows, name, &OptionInfo::name) == 0) return unknown(name, rows, extras);
    BYOC_TRY_STATUS(set_option(out, name, value));
  }
  return out;
}

Status give_text(const std::string& text, char** out) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return {};
}

}  // namespace byoc::c
