// SPDX-License-Identifier: Apache-2.0
#include "byoc/options.h"

#include <algorithm>
#include <charconv>

#include "byoc/base/check.h"
#include "byoc/base/json.h"

namespace byoc {
namespace {

const OptionInfo* find(std::string_view name) {
  auto at = std::ranges::find(option_table(), name, &OptionInfo::name);
  return at == option_table().end() ? nullptr : &*at;
}

template <class T>
bool parse(const std::string& text, T& to) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

bool of_json(const Json& json, bool& to) {
  if (json.is_boolean()) to = json.get<bool>();
  return json.is_boolean();
}
template <std::integral T>
bool of_json(const Json& json, T& to) {
  if (json.is_number_integer()) to = json.get<T>();
  return json.is_number_integer();
}
bool of_json(const Json& json, std::string& to) {
  if (json.is_string()) to = json.get<std::string>();
  return json.is_string();
}
bool of_json(const Json& json, std::vector<std::string>& to) {
  if (!json.is_array()) return false;
  to.clear();
  for (const Json& item : json) {
    if (!of_json(item, to.emplace_back())) return false;
  }
  return true;
}

Json to_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

}  // namespace

std::string flag_of(const OptionInfo& option) {
  return option.flag.empty() ? cat("--", option.name) : std::string(option.flag);
}

OptionValues::OptionValues() {
  for (const OptionInfo& option : option_table()) values_.emplace(option.name, option.fallback);
}

OptionValue& OptionValues::at(std::string_view name) {
  auto found = values_.find(name);
  BYOC_CHECK(found != values_.end(), "no option ", name, " in the table");
  return found->second;
}

const OptionValue& OptionValues::at(std::string_view name) const {
  return const_cast<OptionValues&>(*this).at(name);
}

bool OptionValues::read(const OptionInfo& option, const std::string& text) {
  OptionValue& value = at(option.name);
  if (auto* is_on = std::get_if<bool>(&value)) return *is_on = true, text.empty();
  if (auto* number = std::get_if<int>(&value)) return parse(text, *number);
  if (auto* number = std::get_if<uint32_t>(&value)) return parse(text, *number);
  if (auto* word = std::get_if<std::string>(&value)) return *word = text, !text.empty();
  auto& list = std::get<std::vector<std::string>>(value);
  if (!option.adds) list.clear();
  list.push_back(text);
  return !text.empty();
}

Status apply(const OptionValues& options, BuildOptions& to) {
  for (const OptionInfo& option : option_table()) {
    if (option.set != nullptr) BYOC_TRY_STATUS(option.set(options.at(option.name), to));
  }
  return {};
}

Json given_json(const OptionValues& options) {
  Json out = Json::object();
  for (const OptionInfo& option : option_table()) {
    if (options.is_given(option)) out[std::string(option.name)] = to_json(options.at(option.name));
  }
  return out;
}

std::string function_options_json(const BuildOptions& options) {
  Json out = Json::object();
  for (const OptionInfo& option : option_table()) {
    if (!option.is_of_functions) continue;
    BYOC_CHECK(option.get != nullptr, "the option ", option.name, " cannot be read back");
    const OptionValue value = option.get(options);
    if (value != option.fallback) out[std::string(option.name)] = to_json(value);
  }
  return out.dump();
}

Status read_function_options(std::string_view text, BuildOptions& to) {
  BYOC_TRY(Json json, parse_json(text));
  if (!json.is_object()) return invalid("the options are no object");
  for (const auto& [name, item] : json.items()) {
    const OptionInfo* option = find(name);
    if (option == nullptr || !option->is_of_functions)
      return invalid(cat("there is no option \"", name, "\" of functions"));
    OptionValue value = option->fallback;
    const bool is_good = std::visit([&item](auto& held) { return of_json(item, held); }, value);
    if (!is_good) return invalid(cat("the option \"", name, "\" is of another kind"));
    BYOC_TRY_STATUS(option->set(value, to));
  }
  return {};
}

uint32_t compile_flags(const BuildOptions& options) {
  uint32_t flags = 0;
  if (options.exact_sums) flags |= BYOC_STRICT_FP;
  if (options.shared_weights) flags |= BYOC_SHARED_WEIGHTS;
  if (options.compile_only) flags |= BYOC_COMPILE_ONLY;
  return flags;
}

}  // namespace byoc
