// SPDX-License-Identifier: Apache-2.0
// Declares states: pairs of an input and an output, by name. With "past=present":
//   before: fn main(%x: f32[2], %past: f32[2]) {output_names=["y","present"]} { ... }
//   after:  fn main(%x: f32[2], %past: f32[2]) {output_names=["y","present"],
//             state_inputs=["past"], state_outputs=["present"]} { ... }
#include <algorithm>

#include "byoc/base/nearest.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/states.h"
#include "byoc/op/op.h"
#include "byoc/pass/bind.h"
#include "core/bind/entry.h"

namespace byoc {
namespace {

using namespace simplify;

constexpr std::string_view kUpdateRows = "update_rows";

// The words of exporters for an input that is a state, and for its output.
struct Convention {
  std::string_view past, present;
};
constexpr Convention kConventions[] = {
    {"past_key_values", "present"}, {"past_key_values", "present_key_values"}, {"past", "present"}};

// Returns the text without blanks at its ends.
std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
}

std::optional<uint32_t> output_number(const Strings& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<uint32_t>(found - names.begin());
}

class Declarer {
 public:
  explicit Declarer(const Function& entry)
      : entry_(entry), inputs_(input_names(entry)), outputs_(result_names(entry)) {}

  // Adds "past=present" or "past = present". A name may contain a "=": the text is split where both
  // parts are names.
  Status add(const std::string& text) {
    if (text == "auto") return add_by_names();
    for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
      const auto input = input_number(entry_, trimmed(text.substr(0, at)));
      const auto output = output_number(outputs_, trimmed(text.substr(at + 1)));
      if (!input || !output) continue;
      states_.push_back({*input, *output});
      return {};
    }
    return wrong(text);
  }
  std::vector<StatePair> take() { return std::move(states_); }

 private:
  Status wrong(const std::string& text) const {
    const size_t at = text.find('=');
    if (at == text.npos || at == 0 || at + 1 == text.size()) {
      return invalid(cat("\"", text, "\" is not of the form PAST=PRESENT"))
          .with_slug("state-syntax")
          .with_help("an input and the output with its next value: past=present; or auto");
    }
    const std::string input = trimmed(text.substr(0, at));
    if (!input_number(entry_, input)) return unknown("input", input, inputs_);
    return unknown("output", trimmed(text.substr(at + 1)), outputs_);
  }

  static Status unknown(std::string_view what, const std::string& name, const Strings& known) {
    std::string list;
    for (const std::string& one : known) list += cat(list.empty() ? "" : ", ", one);
    return not_found(cat("the model has no ", what, " \"", name, "\"", did_you_mean(name, known)))
        .with_slug("unknown-state")
        .with_help(cat("its ", what, "s: ", list.empty() ? "none" : list));
  }

  // Returns the outputs that have the name of the input in a convention's words.
  std::vector<uint32_t> outputs_for(const std::string& input) const {
    std::vector<uint32_t> out;
    for (const Convention& words : kConventions) {
      const size_t at = input.find(words.past);
      if (at == input.npos) continue;
      std::string name = input;
      name.replace(at, words.past.size(), words.present);
      const auto output = output_number(outputs_, name);
      if (output && std::find(out.begin(), out.end(), *output) == out.end()) out.push_back(*output);
    }
    return out;
  }

  Status add_by_names() {
    const size_t before = states_.size();
    for (uint32_t k = 0; k < inputs_.size(); ++k) {
      const std::vector<uint32_t> found = outputs_for(inputs_[k]);
      if (found.size() > 1) {
        return invalid(cat("the input \"", inputs_[k], "\" may be a state with \"",
                           outputs_[found[0]], "\" or with \"", outputs_[found[1]], "\""))
            .with_slug("state-syntax")
            .with_help(cat("choose one: --state ", inputs_[k], "=", outputs_[found[0]]));
      }
      if (!found.empty()) states_.push_back({k, found[0]});
    }
    if (states_.size() > before) return {};
    return not_found("no input and output of the model are named as past and present")
        .with_slug("unknown-state")
        .with_help("name the states, as in --state past=present");
  }

  const Function& entry_;
  const Strings inputs_, outputs_;
  std::vector<StatePair> states_;
};

// The rows that are written over a value, as far as there are any, and that value.
struct WrittenRows {
  ValueId over;
  std::vector<ValueId> rows;  // the last ones first
};

WrittenRows rows_written(const Function& entry, ValueId value) {
  WrittenRows out{value, {}};
  for (;;) {
    auto* call = std::get_if<Call>(&entry.nodes[out.over.node].kind);
    if (call == nullptr || call->op->name != kUpdateRows) return out;
    const std::span<const ValueId> args = entry.args(call->args);
    out.rows.push_back(args[1]);
    out.over = args[0];
  }
}

// Refuses a pair whose output is another input with new rows.
Status check_not_crossed(const Function& entry, const StatePair& pair) {
  const WrittenRows written = rows_written(entry, entry.results[pair.result]);
  const bool is_input = std::holds_alternative<Param>(entry.nodes[written.over.node].kind);
  if (written.rows.empty() || !is_input || written.over.node == pair.param) return {};
  const Strings inputs = input_names(entry), outputs = result_names(entry);
  const std::string &other = inputs[written.over.node], &output = outputs[pair.result];
  return invalid(cat("the state \"", inputs[pair.param], "\" would become \"", output,
                     "\", which is \"", other, "\" with new rows"))
      .with_slug("state-crossed")
      .with_help(cat("--state ", other, "=", output));
}

// Returns the types of the rows that make the result of the parameter; "" when more changes.
std::string rows_of(const Function& entry, const StatePair& pair) {
  const WrittenRows written = rows_written(entry, entry.results[pair.result]);
  if (written.over.node != pair.param) return {};
  std::string out;
  for (ValueId rows : written.rows) {
    const Result<TensorSpec> type = program_type(*entry.type(rows));
    if (!type.ok()) return {};
    out = cat(*type, out.empty() ? "" : " ", out);
  }
  return out;
}

}  // namespace

Result<IRModule> bind_states(IRModule module, const std::vector<std::string>& pairs,
                             const PassContext&) {
  if (pairs.empty()) return module;
  BYOC_TRY(const Function* known, entry_function(module));
  Declarer declarer(*known);
  for (const std::string& pair : pairs) BYOC_TRY_STATUS(declarer.add(pair));
  Function& entry = module.function(module.entry);
  set_states(entry, declarer.take());
  BYOC_TRY(const std::vector<StatePair> states, states_of(entry));
  for (const StatePair& pair : states) BYOC_TRY_STATUS(check_not_crossed(entry, pair));
  return module;
}

Result<IRModule> note_state_rows(IRModule module) {
  Function* entry = module.find(module.entry);
  if (entry == nullptr) return module;
  BYOC_TRY(const std::vector<StatePair> states, states_of(*entry));
  Strings all;
  for (const StatePair& pair : states) all.push_back(rows_of(*entry, pair));
  if (!all.empty()) entry->attrs.set(kStateRowsAttr, std::move(all));
  return module;
}

}  // namespace byoc
