// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <sstream>

#include "core/tools/measure/subject.h"
#include "core/tools/model/tuning.h"

namespace byoc::driver {
namespace {

Status word_error(const std::string& flag, const std::string& word, const std::string& why) {
  return cli::usage_error(cat(flag, ": \"", word, "\" ", why))
      .with_help(
          "words: compiler=A,B default=ID level=N threads=N target=CPU exact-sums strict "
          "plugin-option=ID.NAME=VALUE tuning-log=FILE model=FILE");
}

template <class T>
bool parse_number(const std::string& text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

using Setter = std::function<bool(const std::string& value)>;

/// Returns a setter for each word; it returns false when the value is not valid.
std::map<std::string, Setter> setters(SubjectRequest& to, uint32_t& threads) {
  ModelOptions& model = to.model;
  auto text = [](std::string& target) {
    return [&target](const std::string& value) { return target = value, !value.empty(); };
  };
  auto flag = [](bool& target) {
    return [&target](const std::string& value) { return target = true, value.empty(); };
  };
  return {
      {"compiler",
       [&model](const std::string& value) { return model.compilers = {value}, !value.empty(); }},
      {"default", text(model.default_codegen)},
      {"target", text(model.target)},
      {"model", text(model.model)},
      {"tuning-log",
       [&model](const std::string& value) { return model.tuning_logs = {value}, !value.empty(); }},
      {"level", [&model](const std::string& value) { return parse_number(value, model.level); }},
      {"threads", [&threads](const std::string& value) { return parse_number(value, threads); }},
      {"exact-sums", flag(model.exact_sums)},
      {"strict", flag(model.strict)},
      {"plugin-option", [&model](const std::string& value) {
         return model.plugins.options.push_back(value), !value.empty();
       }}};
}

}  // namespace

Result<SubjectRequest> other_request(const SubjectRequest& request, const std::string& text,
                                     uint32_t& threads, const std::string& flag) {
  SubjectRequest out = request;
  out.model.tuning = std::make_shared<TuningUse>();  // of this configuration alone
  auto known = setters(out, threads);
  std::istringstream words(text);
  bool is_empty = true;
  for (std::string word; words >> word; is_empty = false) {
    size_t equals = std::min(word.find('='), word.size());
    auto found = known.find(word.substr(0, equals));
    if (found == known.end()) return word_error(flag, word, "is no setting");
    if (!found->second(word.substr(std::min(equals + 1, word.size()))))
      return word_error(flag, word, "has no valid value");
  }
  if (is_empty) return word_error(flag, text, "names no other configuration");
  const bool by_cost = std::any_of(
      out.model.compilers.begin(), out.model.compilers.end(),
      [](const std::string& list) { return cat(",", list, ",").find(",auto,") != list.npos; });
  if (!by_cost && !out.model.places) out.model.place.clear(), out.model.plan.clear();
  return out;
}

}  // namespace byoc::driver
