// SPDX-License-Identifier: Apache-2.0
// The programs of table/, every plugin against the reference. Refused ops go to json and are
// counted: the table has the number of ops that each plugin must take, so that a lost op fails the
// test of its program.
#include <gtest/gtest.h>

#include <algorithm>

#include "programs.h"
#include "verify/table/table.h"

namespace byoc::test {
namespace {

const std::vector<Program>& all_programs() {
  static const std::vector<Program> all = [] {
    std::vector<Program> out;
    for (auto* subject : {programs_of_convolutions, programs_of_residuals, programs_of_pools,
                          programs_of_layouts, programs_of_products, programs_of_functions}) {
      for (const Program& program : subject()) out.push_back(program);
    }
    return out;
  }();
  return all;
}

class Plugins : public testing::TestWithParam<Program> {};

TEST_P(Plugins, AgreeWithTheReference) {
  auto plugins = built_plugins();
  auto built = [&](std::vector<std::string> compilers, int level) {
    return built_by(plugins, with_constants(GetParam().text), std::move(compilers), level);
  };
  std::vector<Tensor> reference = execute(built({"json"}, 0), plugins);
  expect_close(execute(built({"json"}, 2), plugins), reference);
  for (int level : {2, 0}) {
    SCOPED_TRACE(level);
    Executable onednn = built({"onednn"}, level);  // alone it gets what it calls slow, too
    expect_close(execute(onednn, plugins), reference);
    if (plugins->find("llvm") != nullptr) {  // built where LLVM is installed
      Executable llvm = built({"llvm"}, level);
      expect_close(execute(llvm, plugins), reference);
      EXPECT_EQ(ops_of(llvm, "json"), 0u) << "a default codegen takes every op";
    }
    for (const char* id : {"xnnpack", "openblas"}) {  // likewise
      if (plugins->find(id) == nullptr) continue;
      SCOPED_TRACE(id);
      expect_close(execute(built({id, "json"}, level), plugins), reference);
    }
    if (std::string_view(GetParam().name).ends_with("_in_pieces") && level > 0) {
      EXPECT_EQ(ops_of(onednn, "json") + ops_of(onednn, "llvm"), 0u) << "read as one op";
    }
    // At level 0 each op is a region, and reshapes between regions have no step.
    if (GetParam().onednn >= 0 && level > 0) {
      EXPECT_EQ(ops_of(onednn, "onednn"), static_cast<uint64_t>(GetParam().onednn));
    }
  }
}

// A lost op changes the sum.
TEST(PluginsOfLibraries, TakeAsManyOpsOfTheTableAsBefore) {
  auto plugins = built_plugins();
  for (const auto& [id, expected] : {std::pair("xnnpack", 204u), std::pair("openblas", 89u)}) {
    if (plugins->find(id) == nullptr) continue;
    uint64_t ops = 0;
    for (const Program& program : all_programs())
      ops += ops_of(built_by(plugins, with_constants(program.text), {id, "json"}, 2), id);
    EXPECT_EQ(ops, expected) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Plugins, testing::ValuesIn(all_programs()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace byoc::test
