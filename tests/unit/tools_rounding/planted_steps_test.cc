// SPDX-License-Identifier: Apache-2.0
// An error of three steps in the middle of networks that ONNX Runtime's tool has quantised
// (tests/models/quantized/stored) is found by byoc verify, and named.
//
// Layers whose functions are equal share one compiled kernel, which has the names of the first. So
// the error is planted in all roundings of one type, as a wrong kernel would have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "byoc/op/registry.h"
#include "byoc/text/text.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

const std::string kStored = cat(BYOC_TEST_DATA, "/models/quantized/stored/");

constexpr std::array kRoundings = {"quantize", "requantize", "add_integers", "round"};

struct Rounding {
  std::string type;
  std::vector<std::string> nodes;  // the names of those of this type
};

/// Returns the rounding in the middle of a module, with the others of its type.
Rounding middle_of(const IRModule& module) {
  std::vector<std::pair<std::string, std::string>> all;  // type and name
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call == nullptr || std::ranges::count(kRoundings, call->op->name) == 0) continue;
      if (!node.types[0]->shape.empty()) all.emplace_back(cat(node.types[0]), node.loc.text());
    }
  }
  Rounding out;
  if (all.empty()) return out;
  out.type = all[all.size() / 2].first;
  for (const auto& [type, name] : all) {
    if (type == out.type) out.nodes.push_back(name);
  }
  return out;
}

class PlantedSteps : public testing::TestWithParam<std::string> {};

TEST_P(PlantedSteps, AreFoundAndNamed) {
  Byoc byoc;
  const std::string model = cat(kStored, GetParam(), ".onnx --plugin ", BYOC_BUILD_DIR,
                                "/tests/support/plugins/libbyoc_a.so --compiler a");
  ASSERT_EQ(byoc(cat("partition ", model, " -o ", byoc.file("regions.ir"))).code, 0);
  Result<IRModule> regions = read_module(byoc.file("regions.ir"), all_ops());
  ASSERT_TRUE(regions.ok()) << regions.status().to_string();
  const Rounding rounding = middle_of(*regions);
  for (const char* ops : {"*", "quantize,requantize,add_integers,round"}) {
    const Json json =
        byoc.json(cat("verify ", model, " --plugin-option a.ops='", ops,
                      "' --plugin-option a.spoil=quantize,requantize,add_integers,round",
                      " --plugin-option a.spoil_by=3 --plugin-option 'a.spoil_type=", rounding.type,
                      "' -o ", byoc.file("piece")));
    ASSERT_TRUE(json["bad_region"].is_object()) << ops << ": " << json;
    EXPECT_EQ(json["passed"], false);
    EXPECT_EQ(json["bad_region"]["confirmed"], true) << json["bad_region"];
    std::vector<std::string> names;
    for (const Json& one : json["bad_region"]["smallest"]) names.push_back(one["name"]);
    EXPECT_THAT(names, testing::Contains(testing::AnyOfArray(rounding.nodes)));
    EXPECT_LE(names.size(), 5u);
  }
}

std::vector<std::string> networks() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::recursive_directory_iterator(kStored)) {
    if (file.path().extension() == ".onnx")
      out.push_back(
          cat(file.path().parent_path().filename().string(), "/", file.path().stem().string()));
  }
  std::ranges::sort(out);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Stored, PlantedSteps, testing::ValuesIn(networks()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '/', '_');
  return name;
});

}  // namespace
}  // namespace byoc::test
