// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "core/tools/measure/subject.h"
#include "core/tools/model/tuning.h"

namespace byoc::driver {
namespace {

Status word_error(const std::string& flag, const std::string& word, const std::string& why) {
  std::string words;
  for (const OptionInfo& option : option_table()) {
    if (option.part == OptionPart::kModel) continue;
    words += cat(option.name, option.value.empty() ? "" : "=", option.value, " ");
  }
  return cli::usage_error(cat(flag, ": \"", word, "\" ", why))
      .with_help(cat("words: ", words, "model=FILE"));
}

/// Sets what a word names. Returns false when the value is not valid.
bool set(ModelOptions& model, uint32_t& threads, const OptionInfo* option,
         const std::string& value) {
  if (option == nullptr) return model.model = value, !value.empty();
  if (!model.values.read(*option, value)) return false;
  if (option->name == option::kThreads.name)
    threads = std::exchange(model[option::kThreads], uint32_t{1});
  return true;
}

}  // namespace

Result<SubjectRequest> other_request(const SubjectRequest& request, const std::string& text,
                                     uint32_t& threads, const std::string& flag) {
  SubjectRequest out = request;
  out.model.tuning = std::make_shared<TuningUse>();  // of this configuration alone
  std::istringstream words(text);
  bool is_empty = true;
  for (std::string word; words >> word; is_empty = false) {
    size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    auto found = std::ranges::find_if(option_table(), [&](const OptionInfo& option) {
      return option.name == name && option.part != OptionPart::kModel;
    });
    const bool is_row = found != option_table().end();
    if (!is_row && name != "model") return word_error(flag, word, "is no setting");
    if (!set(out.model, threads, is_row ? &*found : nullptr,
             word.substr(std::min(equals + 1, word.size()))))
      return word_error(flag, word, "has no valid value");
  }
  if (is_empty) return word_error(flag, text, "names no other configuration");
  const bool by_cost = std::ranges::any_of(
      out.model[option::kCompiler],
      [](const std::string& list) { return cat(",", list, ",").find(",auto,") != list.npos; });
  if (!by_cost && !out.model.places)
    out.model[option::kPlace].clear(), out.model[option::kPlan].clear();
  return out;
}

}  // namespace byoc::driver
