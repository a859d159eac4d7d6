// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/program/entry_arguments.h"

#include <sstream>

#include "byoc/ir/dim.h"
#include "byoc/ir/states.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

// Gives 0, 1, ... to all numbers below n but those of `last`, then the rest to these in order.
std::vector<uint32_t> numbers_with_last(size_t n, const std::vector<uint32_t>& last) {
  std::vector<uint32_t> out(n, UINT32_MAX);
  for (size_t k = 0; k < last.size(); ++k)
    out[last[k]] = static_cast<uint32_t>(n - last.size() + k);
  uint32_t next = 0;
  for (uint32_t& number : out) {
    if (number == UINT32_MAX) number = next++;
  }
  return out;
}

Result<ProgramState> state_with(const std::string& rows) {
  ProgramState state;
  std::istringstream texts(rows);
  for (std::string text; texts >> text;) {
    BYOC_TRY(TensorSpec type, parse_tensor_spec(text));
    state.rows.push_back(std::move(type));
  }
  return state;
}

}  // namespace

Result<TensorSpec> spec_of(const Function& function, ValueId value) {
  const TensorType& type = *function.type(value);
  Result<TensorSpec> out = program_type(type);
  if (out.ok()) return out;
  return invalid(cat(node_name(function, value.node), " has type ", type,
                     ", which has a size without a number"))
      .with_slug("symbolic-shape")
      .with_help("bind the sizes, as in --shape N=1");
}

Result<EntryArguments> add_arguments(const Function& entry, Program& program) {
  BYOC_TRY(const std::vector<StatePair> states, states_of(entry));
  const Strings rows = entry.attrs.strings(kStateRowsAttr), names = result_names(entry);
  std::vector<uint32_t> params, results;
  for (size_t k = 0; k < states.size(); ++k) {
    params.push_back(states[k].param);
    results.push_back(states[k].result);
    BYOC_TRY(ProgramState state, state_with(k < rows.size() ? rows[k] : ""));
    program.states.push_back(std::move(state));
  }
  EntryArguments out{numbers_with_last(entry.num_params(), params),
                     numbers_with_last(entry.results.size(), results)};
  program.inputs.resize(entry.num_params());
  for (uint32_t k = 0; k < entry.num_params(); ++k) {
    BYOC_TRY(TensorSpec type, spec_of(entry, {k, 0}));
    program.inputs[out.input_of[k]] = {std::get<Param>(entry.nodes[k].kind).name.str(),
                                       std::move(type)};
  }
  program.outputs.resize(entry.results.size());
  for (uint32_t k = 0; k < entry.results.size(); ++k) {
    BYOC_TRY(TensorSpec type, spec_of(entry, entry.results[k]));
    program.outputs[out.output_of[k]] = {names[k], std::move(type)};
  }
  return out;
}

}  // namespace byoc
