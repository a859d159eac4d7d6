// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/states.h"

#include <algorithm>
#include <map>

#include "byoc/base/nearest.h"
#include "byoc/ir/dim.h"

namespace byoc {
namespace {

Strings param_names(const Function& entry) {
  Strings names;
  for (size_t k = 0; k < entry.num_params(); ++k)
    names.push_back(std::get<Param>(entry.nodes[k].kind).name.str());
  return names;
}

Result<uint32_t> number_of(const std::string& name, const Strings& names, const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<uint32_t>(found - names.begin());
  std::string list;
  for (const std::string& known : names) list += cat(list.empty() ? "" : ", ", known);
  return not_found(cat("the model has no ", what, " \"", name, "\"", did_you_mean(name, names)))
      .with_slug("unknown-state")
      .with_help(list.empty() ? cat("the model has no ", what) : cat("the model has: ", list));
}

Status check_types(const Function& entry, const StatePair& pair, const std::string& input,
                   const std::string& output) {
  const TypeId before = entry.nodes[pair.param].types[0],
               after = entry.type(entry.results[pair.result]);
  if (before != after) {
    return invalid(
               cat("the state \"", input, "\" is ", before, ", and \"", output, "\" is ", after))
        .with_slug("state-type")
        .with_help(
            "a run gives a state back with the type that it got: an output that grows with "
            "each run is no state");
  }
  if (is_static(before->shape)) return {};
  return invalid(
             cat("the state \"", input, "\" is ", before, ", which has a size without a number"))
      .with_slug("state-type")
      .with_help("give it one, as in --shape N=1");
}

}  // namespace

Strings result_names(const Function& entry) {
  Strings names = entry.attrs.strings("output_names");
  for (size_t k = names.size(); k < entry.results.size(); ++k) names.push_back(cat("output", k));
  return names;
}

Result<std::vector<StatePair>> states_of(const Function& entry) {
  const Strings inputs = entry.attrs.strings(kStateInputsAttr),
                outputs = entry.attrs.strings(kStateOutputsAttr);
  if (inputs.size() != outputs.size())
    return invalid(cat("the model has ", inputs.size(), " inputs and ", outputs.size(),
                       " outputs that are states"))
        .with_slug("ir-invalid");
  const Strings params = param_names(entry), results = result_names(entry);
  std::vector<StatePair> out;
  std::map<uint32_t, std::string> other_of_input, other_of_output;
  for (size_t k = 0; k < inputs.size(); ++k) {
    StatePair& pair = out.emplace_back();
    BYOC_TRY(pair.param, number_of(inputs[k], params, "input"));
    BYOC_TRY(pair.result, number_of(outputs[k], results, "output"));
    BYOC_TRY_STATUS(check_types(entry, pair, inputs[k], outputs[k]));
    auto twice = [&](const char* what, const std::string& name, const std::string& first,
                     const std::string& second) {
      return invalid(
                 first == second
                     ? cat("the state \"", inputs.back(), "=", outputs.back(), "\" is given twice")
                     : cat("the ", what, " \"", name, "\" is in two states, with \"", first,
                           "\" and with \"", second, "\""))
          .with_slug("state-twice")
          .with_help("name each input and each output once; auto finds pairs, too");
    };
    auto [input, is_new_input] = other_of_input.emplace(pair.param, outputs[k]);
    if (!is_new_input) return twice("input", inputs[k], input->second, outputs[k]);
    auto [output, is_new_output] = other_of_output.emplace(pair.result, inputs[k]);
    if (!is_new_output) return twice("output", outputs[k], output->second, inputs[k]);
  }
  return out;
}

void set_states(Function& entry, const std::vector<StatePair>& states) {
  entry.attrs.erase(kStateInputsAttr);
  entry.attrs.erase(kStateOutputsAttr);
  entry.attrs.erase(kStateRowsAttr);
  if (states.empty()) return;
  const Strings params = param_names(entry), results = result_names(entry);
  Strings inputs, outputs;
  for (const StatePair& pair : states) {
    inputs.push_back(params[pair.param]);
    outputs.push_back(results[pair.result]);
  }
  entry.attrs.set(kStateInputsAttr, std::move(inputs));
  entry.attrs.set(kStateOutputsAttr, std::move(outputs));
}

IRModule without_states(IRModule module) {
  if (Function* entry = module.find(module.entry)) set_states(*entry, {});
  return module;
}

}  // namespace byoc
