// SPDX-License-Identifier: Apache-2.0
// A default codegen whose slot `partition` writes the text of the option "reply". With "fail" it
// fails, with "request" it writes what it was given. With -DMINOR=7 it is of a minor that had the
// slot reserved, and the slot is garbage.
#include <byoc/plugin/sdk.h>

#ifndef MINOR
#define MINOR BYOC_ABI_MINOR
#endif
#ifndef FLAGS
#define FLAGS BYOC_PLUGIN_DEFAULT
#endif

namespace {
using namespace byoc::sdk;

std::string reply;  // the tests open one instance at a time

class Groups : public Plugin {
  void open(const Options& options) override { reply = options.get("reply"); }
  std::vector<Pattern> patterns() const override { return {}; }
};

// Returns two groups of the first two nodes, of which the second is named by facts of the request.
std::string groups_about(const byoc_compile& request) {
  const Graph graph = parse_graph(to_view(request.functions[0]->graph_json));
  std::string facts;
  for (const Node& node : graph.nodes) facts += node.op + " ";
  auto add = [&](uint64_t n, const char* of) { facts += std::to_string(n) + of; };
  add(graph.inputs.size(), " in ");
  add(graph.outputs.size(), " out ");
  add(request.functions[0]->n_consts, " consts ");
  add(request.n_functions, " functions ");
  add(request.threads, " threads ");
  add(request.flags, " flags ");
  facts += std::string(to_view(request.functions[0]->symbol));
  detail::Json groups = detail::Json::array();
  for (const std::string& name : {std::string("first"), facts})
    groups.push_back({{"name", name}, {"nodes", {0, 1}}});
  return detail::Json{{"groups", groups}}.dump();
}

byoc_status* partition(byoc_instance*, const byoc_compile* request, const byoc_sink* out) {
  if (reply == "fail") {
    const byoc_host* host = detail::host_table();
    return host->status_new(host->ctx, BYOC_UNAVAILABLE, -1, -1, nullptr, 0,
                            to_str("cannot decide today"));
  }
  const std::string text = reply == "request" ? groups_about(*request) : reply;
  return out->write(out->u, text.data(), text.size());
}

byoc_plugin table() {
  byoc_plugin t = detail::Glue<Groups>::table("groups", "1.0.0", {.flags = FLAGS});
  t.abi_minor = MINOR;
  t.partition = partition;
  if (MINOR < 8) t.partition = reinterpret_cast<decltype(t.partition)>(uintptr_t{8});
  return t;
}

}  // namespace

BYOC_MANIFEST("groups", "1.0.0");
extern "C" byoc_status* byoc_plugin_entry_v1(const byoc_host* host,
                                             const byoc_plugin** out) noexcept {
  static const byoc_plugin kTable = table();
  detail::host_pointer = host;
  *out = &kTable;
  return nullptr;
}
