// SPDX-License-Identifier: Apache-2.0
// The memory of a process that compiles many different models stays bounded: it is as large after
// ten thousand models as after one thousand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "byoc/ir/intern.h"
#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

/// Returns the size in bytes of the pages that are private to this process.
int64_t own_bytes() {
  int64_t total = 0, resident = 0, shared = 0;
  std::ifstream("/proc/self/statm") >> total >> resident >> shared;
  return (resident - shared) * ::sysconf(_SC_PAGESIZE);
}

std::shared_ptr<const PluginSet> plugins_of(const std::string& compilers) {
  PluginSearch search;
  for (const char* id : {"json", "onednn", "llvm"}) {
    if (compilers.find(id) != std::string::npos)
      search.files.push_back(cat(BYOC_PLUGIN_DIR, "/libbyoc_", id, ".so"));
  }
  search.options["llvm"]["cache"] = "0";  // the cache on disk has its own bound
  if (compilers.find("llvm") == std::string::npos) search.options.clear();
  auto set = PluginSet::load(search);
  for (const RefusedPlugin& refused : set->refused()) ADD_FAILURE() << refused.reason;
  return set;
}

/// Returns small model number k. Its names, shapes, attributes and constants are unique.
std::string model(int k) {
  const int rows = k % 97 + 2, columns = k / 97 + 1;
  const std::string x = cat("%input_", k);
  return cat("fn main_", k, "(", x, ": f32[", rows, ",", columns, "]) {\n",  //
             "  %c = const([", k, ".5]) : f32[1]\n",                         //
             "  %0 = add(", x, ", %c) loc(\"Add_", k, "\")\n",               //
             "  %1 = leaky_relu(%0) {alpha=0.", k + 1, "} loc(\"Relu_", k, "\")\n",
             "  %2 = split(%1) {axis=0, split=[", rows - rows / 2, ",", rows / 2, "]}\n",
             "  %3 = softmax(%2#0) {axis=1}\n",
             "  %4 = sin(%0)\n",  // onednn does not take it
             "  return %2#1, %3, %4\n}");
}

struct Case {
  std::string compilers;
  // The numbers of models built before memory is measured, and between the two measurements. The
  // cache of oneDNN (kPrimitives) must be full at the first measurement.
  int warm, models;
  bool runs;  // whether each model is also loaded and run
};

constexpr const char* kPrimitives = "64";  // oneDNN keeps its last 1024 without this limit

class Growth : public ::testing::TestWithParam<Case> {
 protected:
  Growth() {
    EXPECT_EQ(::setenv("DNNL_PRIMITIVE_CACHE_CAPACITY", kPrimitives, 1), 0);
    plugins_ = plugins_of(GetParam().compilers);
    // At any time the system may join pages of the heap to a huge one, 2 MiB that count as grown.
    EXPECT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    options_.plugins = plugins_;
    for (size_t at = 0; at < GetParam().compilers.size();) {
      size_t end = std::min(GetParam().compilers.find(',', at), GetParam().compilers.size());
      options_.compilers.push_back(GetParam().compilers.substr(at, end - at));
      at = end + 1;
    }
  }
  void compile(int k) {
    InternArena arena;
    InternScope scope(arena);
    IRModule module = parse(model(k));
    module.entry = cat("main_", k);
    auto executable = build(std::move(module), options_);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    if (GetParam().runs) execute(*executable, plugins_);
  }

 private:
  std::shared_ptr<const PluginSet> plugins_;
  BuildOptions options_;
};

// Interned names, types and attributes would be more than 1 KiB per model if they were not
// freed. The caches of libraries and the holes of the allocator stay below the bound for
// any number of models.
TEST_P(Growth, StaysUnderOneMebibyteOverManyModels) {
  const auto [compilers, warm, models, runs] = GetParam();
  for (int k = 0; k < warm && !HasFatalFailure(); ++k) compile(k);
  const InternCounts values = intern_counts();
  const int64_t before = own_bytes();
  for (int k = warm; k < warm + models && !HasFatalFailure(); ++k) compile(k);
  const int64_t grown = own_bytes() - before;
  EXPECT_LE(grown, int64_t{1} << 20) << grown / models << " bytes per model";
  EXPECT_EQ(intern_counts(), values);
}

INSTANTIATE_TEST_SUITE_P(Compilers, Growth,
                         ::testing::Values(Case{"json", 1000, 9000, false},
                                           Case{"json", 200, 800, true},
                                           Case{"onednn,json", 200, 800, true},
                                           Case{"onednn,llvm", 200, 400, true}),
                         [](const auto& info) {
                           std::string name = info.param.compilers;
                           std::replace(name.begin(), name.end(), ',', '_');
                           return name + (info.param.runs ? "_run" : "_compiled");
                         });

}  // namespace
}  // namespace byoc::test
