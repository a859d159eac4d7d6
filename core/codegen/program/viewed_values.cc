// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/program/viewed_values.h"

#include <numeric>
#include <unordered_set>

#include "byoc/ir/dim.h"
#include "byoc/pass/codegen.h"

namespace byoc {
namespace {

bool is_extern(const Node& node) { return std::holds_alternative<Extern>(node.kind); }

bool is_fixed(const TensorType& type) { return is_static(type.shape) && !has_open(type.shape); }

}  // namespace

std::vector<uint32_t> viewed_values(const Function& function, const std::vector<uint32_t>& first,
                                    const ValueDevices& devices,
                                    const std::vector<JoinedPlace>& joined) {
  std::vector<uint32_t> root(first.back());
  std::iota(root.begin(), root.end(), 0u);
  const Strings names = function.attrs.strings(kJoinsAttr);
  const std::unordered_set<std::string> joins(names.begin(), names.end());
  const auto number = [&](ValueId value) { return first[value.node] + value.output; };
  std::vector<bool> is_result(first.back()), is_made(first.back()), is_part(first.back());
  for (ValueId result : function.results) is_result[number(result)] = true;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    for (uint32_t k = first[node]; k < first[node + 1]; ++k)
      is_made[k] = is_extern(function.nodes[node]);
  }
  for (uint32_t value = 0; value < joined.size(); ++value) {
    if (joined[value].is_part) is_part[value] = is_part[joined[value].whole] = true;
  }
  for (uint32_t node = 0; node < function.nodes.size() && !joins.empty(); ++node) {
    const Node& view = function.nodes[node];
    const auto args = function.args(view);
    if (!is_extern(view) || args.size() != 1 || view.types.size() != 1 ||
        !joins.contains(std::get<Extern>(view.kind).symbol.str()) || devices.runs_on_device(view) ||
        devices.of(function, args[0]) != ValueDevices::kHost || !is_fixed(*view.types[0]) ||
        !is_fixed(*function.type(args[0])))
      continue;
    const uint32_t value = first[node], of = root[number(args[0])];
    if (is_part[value] || is_part[of] || is_part[number(args[0])]) continue;
    if (is_result[value] && (!is_made[of] || is_result[of])) continue;
    if (is_result[value]) is_result[of] = true;
    root[value] = of;
  }
  return root;
}

}  // namespace byoc
