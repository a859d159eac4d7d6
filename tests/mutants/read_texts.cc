// SPDX-License-Identifier: Apache-2.0
// Modules, graphs and patterns as texts.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "byoc/pass/pattern.h"
#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"
#include "mutants/targets.h"

namespace byoc::test {
namespace {

void require(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.to_string().c_str());
  std::abort();
}

}  // namespace

void check_module(const IRModule& module) {
  require(verify(module), "a reader accepted a module that is not valid");
  std::map<std::string, std::shared_ptr<const Buffer>> pool;
  for (const auto& [key, buffer] : module.constants) pool[key.hex()] = buffer;
  auto again = parse_module(print(module), all_ops(), [&](const ContentKey& key) {
    auto found = pool.find(key.hex());
    return found == pool.end() ? nullptr : found->second;
  });
  require(again.status(), "the text of a module does not read back");
}

bool read_ir(std::string_view text) {
  auto module = parse_module(text, all_ops());
  if (!module.ok()) return false;
  if (!verify(*module).ok()) return false;  // parsing promises less
  check_module(*module);
  return true;
}

bool read_graph(std::string_view text) {
  auto module = read_graph_json(text, all_ops(), nullptr);
  if (module.ok()) check_module(*module);
  return module.ok();
}

bool read_pattern(std::string_view text) {
  auto pattern = Pattern::parse(text);
  if (!pattern.ok()) return false;
  if (pattern->min_ops() > pattern->max_ops()) std::abort();
  static const IRModule chain = *parse_module(
      "fn main(%x: f32[2]) {\n%0 = relu(%x)\n%1 = add(%0, %x)\n%2 = tanh(%1)\nreturn %2\n}",
      all_ops());
  const Function& function = chain.function("main");
  const UseCounts uses(function);
  for (uint32_t root = 0; root < function.nodes.size(); ++root)
    (void)matches_at(*pattern, function, uses, root, 4);
  return true;
}

}  // namespace byoc::test
