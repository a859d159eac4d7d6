// SPDX-License-Identifier: Apache-2.0
// The ops whose functions with open sizes a plugin leaves to the default codegen, although it takes
// them with numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "byoc/compile.h"
#include "core/conform/open/open_samples.h"
#include "support/paths.h"

namespace byoc::conform {
namespace {

std::shared_ptr<const PluginSet> plugins(const std::string& id) {
  PluginSearch search;
  search.files = {cat(BYOC_PLUGIN_DIR, "/libbyoc_", id, ".so"),
                  cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so")};
  return PluginSet::load(search);
}

class Takes {
 public:
  explicit Takes(std::string id) : id_(std::move(id)) {
    options_.plugins = plugins(id_);
    options_.compilers = {id_};
    options_.default_codegen = "json";
  }
  // Returns true where the plugin takes the op of a program.
  bool operator()(const IRModule& module) const {
    Result<IRModule> parts = partition_for(module, options_);
    return parts.ok() && std::ranges::any_of(parts->functions, [&](const auto& entry) {
             return entry.second.attr("compiler") == id_;
           });
  }

 private:
  std::string id_;
  BuildOptions options_;
};

struct Count {
  size_t open = 0, taken = 0;  // samples of open sizes whose form with numbers the plugin takes
  std::string example;         // one that it does not take
};

std::map<std::string, Count> counts_of(const std::string& id) {
  const Takes takes(id);
  std::map<std::string, Count> out;
  for (const OpDef* op : ops_to_check()) {
    for (const Program& given : programs_of(*op, Level::kCore)) {
      for (const Program& program : {given, with_constants(given, 1)}) {
        if (program.dtype != given.dtype || !takes(program.module)) continue;
        Count& count = out[op->name];
        for (const OpenSample& sample : opened(program)) {
          ++count.open;
          if (takes(sample.module)) ++count.taken;
          else if (count.example.empty()) count.example = sample.label;
        }
      }
    }
  }
  return out;
}

// Returns the ops for which `is` is true.
std::string names(const std::map<std::string, Count>& counts,
                  const std::function<bool(const Count&)>& is) {
  std::string out;
  for (const auto& [op, count] : counts) {
    if (is(count)) out += cat(out.empty() ? "" : " ", op);
  }
  return out;
}

// Returns an example of each op that is not taken whole.
std::string examples(const std::map<std::string, Count>& counts) {
  std::string out;
  for (const auto& [op, count] : counts) {
    if (count.taken < count.open)
      out += cat(count.taken, " of ", count.open, ", not ", count.example, "\n");
  }
  return out;
}

// An op that leaves a list here is faster for open sizes: json runs what llvm leaves.
TEST(OpenOps, LlvmTakesWhatItTakesWithNumbers) {
  const auto counts = counts_of("llvm");
  EXPECT_EQ(names(counts, [](const Count& c) { return c.open > 0 && c.taken == 0; }), "")
      << examples(counts);
  EXPECT_EQ(names(counts, [](const Count& c) { return c.taken > 0 && c.taken < c.open; }),
            "deform_rows grid_sample gru lrn lstm max_pool mean_variance_norm power reshape "
            "reverse_sequence roi_align slice")
      << examples(counts);
  // Inference refuses their samples with an open first or second dim.
  EXPECT_EQ(names(counts, [](const Count& c) { return c.open == 0; }),
            "conv2d_integers conv2d_nchwc_integers dequantize_blocks expand matmul_packed");
}

}  // namespace
}  // namespace byoc::conform
