// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

namespace byoc {
namespace {

std::string_view trim(std::string_view text) {
  size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

// Returns the text after `name` on its line, without a remark "why: ..." after it.
std::optional<std::string_view> header(std::string_view text, std::string_view name) {
  size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(at + name.size());
  line = line.substr(0, line.find('\n'));
  return trim(line.substr(0, line.find("why:")));
}

// Parses the words "ops=relu,add" and "refuse=tanh".
void parse_options(std::istream& words, std::map<std::string, std::string>& options) {
  for (std::string word; words >> word;) {
    size_t equals = std::min(word.find('='), word.size() - 1);
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

// Parses "a ops=relu,add refuse=tanh".
GoldenPlugin parse_plugin(std::string_view line) {
  std::stringstream words{std::string(line)};
  GoldenPlugin out;
  words >> out.id;
  parse_options(words, out.options);
  return out;
}

Status check_same(const IRModule& actual, const IRModule& expected, std::string_view what) {
  std::string why;
  if (equal(actual, expected, &why)) return {};
  return invalid(cat(what, ": ", why, "\n", print(actual)));
}

Status check_round_trip(const IRModule& module, const OpRegistry& ops) {
  std::string text = print(module);
  ConstantSource constants = [&](const ContentKey& key) {
    auto found = module.constants.find(key);
    return found == module.constants.end() ? nullptr : found->second;
  };
  auto again = parse_module(text, ops, constants);
  if (!again.ok())
    return invalid(cat("printed text does not parse: ", again.status().to_string(), "\n", text));
  return check_same(*again, module, "printed text parses to another module");
}

Status check_error(const Status& status, std::string_view expected) {
  if (status.ok()) return invalid(cat("no error, expected one with: ", expected));
  std::string text = status.to_string();
  if (text.find(expected) != std::string::npos) return {};
  return invalid(cat("the error does not contain \"", expected, "\":\n", text));
}

}  // namespace

Result<GoldenCase> parse_golden(std::string_view text) {
  constexpr std::string_view kExpect = "// ---- expect", kError = "// ---- error";
  GoldenCase out;
  out.expects_error = text.find(kExpect) == std::string_view::npos;
  std::string_view mark = out.expects_error ? kError : kExpect;
  size_t middle = text.find(mark);
  if (middle == std::string_view::npos) {
    return invalid("neither \"// ---- expect\" nor \"// ---- error\"");
  }
  out.input = text.substr(0, middle);
  out.expected = trim(text.substr(middle + mark.size()));
  auto passes = header(out.input, "// pass:");
  if (!passes) return invalid("a golden case starts with \"// pass: ...\"");
  out.passes = *passes;
  for (std::string_view rest = out.input; auto line = header(rest, "// plugin:");) {
    out.plugins.push_back(parse_plugin(*line));
    rest.remove_prefix(static_cast<size_t>(line->data() - rest.data()));
  }
  for (std::string_view rest = out.input; auto line = header(rest, "// option:");) {
    std::stringstream words{std::string(*line)};
    parse_options(words, out.options);
    rest.remove_prefix(static_cast<size_t>(line->data() - rest.data()));
  }
  return out;
}

Status check_golden(const GoldenCase& golden, const OpRegistry& ops, const RunPasses& run) {
  auto input = parse_module(golden.input, ops);
  auto first = input.ok() && !golden.passes.empty() ? run(*input, golden.passes) : input;
  if (golden.expects_error) return check_error(first.status(), golden.expected);
  if (!first.ok()) return std::move(first.status());
  BYOC_TRY_STATUS(verify(*first));
  auto expected = parse_module(golden.expected, ops);
  if (!expected.ok()) return std::move(expected.status()).at("expected text");
  BYOC_TRY_STATUS(check_same(*first, *expected, "the result is not what the case expects"));
  if (!golden.passes.empty()) {
    BYOC_TRY(IRModule second, run(*first, golden.passes));
    BYOC_TRY_STATUS(check_same(second, *first, "a second run changes the result"));
  }
  return check_round_trip(*first, ops);
}

std::vector<std::string> golden_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".ir") {
      out.push_back(std::filesystem::relative(entry.path(), folder).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace byoc
