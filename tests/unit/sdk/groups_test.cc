// SPDX-License-Identifier: Apache-2.0
// The slot `partition` of plugins of the SDK: there only where the class overrides it, and what it
// writes. The host is a table of this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/plugin/sdk.h"

namespace byoc::sdk {
namespace {

constexpr std::string_view kTwoOps =
    R"({"format":"byoc.graph","version":1,"types":[{"dtype":"f32","shape":[2]}],
        "inputs":[{"name":"x","type":0}],
        "nodes":[{"op":"relu","version":1,"args":[["i",0]],"types":[0],"attrs":{}},
                 {"op":"exp","version":1,"args":[["n",0,0]],"types":[0],"attrs":{}}],
        "outputs":[["n",1,0]]})";

class Ungrouped : public Plugin {
 public:
  std::vector<Pattern> patterns() const override { return {}; }
};

/// Overrides the function where nothing else can name it.
class Grouping : public Ungrouped {
  std::vector<Group> partition(CompileRequest& request) override {
    std::vector<Group> out;
    const auto& nodes = request.functions[0].graph.nodes;
    for (size_t k = 0; k + 1 < nodes.size(); ++k) {
      if (nodes[k].op == "relu") out.push_back({"pair", {k, k + 1}});
    }
    return out;
  }
};
class Inheriting : public Grouping {};

template <class P>
byoc_plugin table_of() {
  return detail::Glue<P>::table("x", "1.0.0", {});
}

TEST(GroupsOfTheSdk, AreASlotOfThePluginsThatOverrideIt) {
  EXPECT_EQ(table_of<Ungrouped>().partition, nullptr);
  EXPECT_NE(table_of<Grouping>().partition, nullptr);
  EXPECT_NE(table_of<Inheriting>().partition, nullptr);
}

uint32_t code_of_refusal = 0;
byoc_status* refuse(byoc_host_ctx*, uint32_t code, int64_t, int64_t, const char*, uint32_t,
                    byoc_str) {
  code_of_refusal = code;
  static int status;
  return reinterpret_cast<byoc_status*>(&status);
}

/// Returns what the slot writes about `n` functions of the graph; "failed" for a status.
template <class P>
std::string written(std::string_view graph, uint64_t n = 1) {
  byoc_host host{};
  host.h = {sizeof host, BYOC_TAG_HOST, nullptr};
  host.status_new = refuse;
  detail::host_pointer = &host;
  byoc_instance* instance = nullptr;
  EXPECT_EQ(detail::Glue<P>::open(&host, {}, &instance), nullptr);
  byoc_function function{};
  function.h = {sizeof function, BYOC_TAG_FUNCTION, nullptr};
  function.symbol = to_str("f");
  function.graph_json = to_str(graph);
  const byoc_function* pointer = &function;
  byoc_compile request{};
  request.h = {sizeof request, BYOC_TAG_COMPILE, nullptr};
  request.functions = &pointer;
  request.n_functions = n;
  std::string text;
  byoc_sink sink{};
  sink.h = {sizeof sink, BYOC_TAG_SINK, nullptr};
  sink.u = &text;
  sink.write = [](void* u, const void* bytes, uint64_t size) noexcept -> byoc_status* {
    static_cast<std::string*>(u)->append(static_cast<const char*>(bytes), size);
    return nullptr;
  };
  byoc_status* status = detail::Glue<P>::partition(instance, &request, &sink);
  detail::Glue<P>::close(instance);
  return status == nullptr ? text : "failed";
}

TEST(GroupsOfTheSdk, AreWrittenAsJson) {
  EXPECT_EQ(nlohmann::json::parse(written<Grouping>(kTwoOps)),
            nlohmann::json::parse(R"({"groups":[{"name":"pair","nodes":[0,1]}]})"));
}

TEST(GroupsOfTheSdk, AreNothingWithoutGroups) { EXPECT_EQ(written<Ungrouped>(kTwoOps), ""); }

TEST(GroupsOfTheSdk, AreOfOneFunction) {
  EXPECT_EQ(written<Grouping>(kTwoOps, 0), "failed");
  EXPECT_EQ(code_of_refusal, uint32_t{BYOC_INVALID_ARGUMENT});
}

}  // namespace
}  // namespace byoc::sdk
