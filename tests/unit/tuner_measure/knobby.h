// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks of the plugin knobby, whose options are the values of its knobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/text/text.h"
#include "byoc/tune/task.h"
#include "core/tuner/measure/measurer.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {

inline std::string knobby_path() {
  return std::string(BYOC_BUILD_DIR) + "/tests/unit/tuner_measure/libbyoc_knobby.so";
}

/// One relu of 4096 elements with the space how x work.
class Knobby {
 public:
  Knobby(const std::string& how, const std::string& work, int64_t elements = 4096) {
    flags_ = {"--plugin",          knobby_path(),     "--plugin-option",
              "knobby.how=" + how, "--plugin-option", "knobby.work=" + work};
    PluginSearch search;
    search.files = {knobby_path()};
    search.folders = {BYOC_PLUGIN_DIR};
    search.ids = {"knobby", "json"};
    search.options["knobby"] = {{"how", how}, {"work", work}};
    build_.plugins = PluginSet::load(search);
    build_.compilers = {"knobby"};
    build_.default_codegen = "json";
    auto module = parse_module(
        cat("fn main(%x: f32[", elements, "]) {\n  %0 = relu(%x)\n", "  return %0\n}\n"),
        all_ops());
    EXPECT_TRUE(module.ok()) << module.status().to_string();
    auto tasks = tune::extract_tasks(*std::move(module), build_);
    EXPECT_TRUE(tasks.ok()) << tasks.status().to_string();
    if (tasks.ok()) tasks_ = *std::move(tasks);
    EXPECT_EQ(tasks_.size(), 1U);
  }

  const std::vector<tune::Task>& tasks() const { return tasks_; }
  const BuildOptions& build() const { return build_; }
  tune::MeasureOptions options() const {
    tune::MeasureOptions out;
    out.program = std::string(BYOC_BUILD_DIR) + "/bin/byoc";
    out.plugin_flags = flags_;
    out.reference = "json";
    out.run_limit = std::chrono::seconds(3);  // the machine may be busy
    return out;
  }

 private:
  std::vector<std::string> flags_;
  BuildOptions build_;
  std::vector<tune::Task> tasks_;
};

inline tune::Point point(const std::string& how, const std::string& work) {
  return {{"how", how}, {"work", work}};
}

}  // namespace byoc::test
