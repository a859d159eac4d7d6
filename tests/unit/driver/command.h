// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the `byoc` command as a child process and captures its output streams and exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <string>

#include "byoc/base/json.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {

struct Ran {
  int code = -1;
  std::string out, err;
};

class Byoc {
 public:
  explicit Byoc(std::string program = std::string(BYOC_BUILD_DIR) + "/bin/byoc")
      : program_(std::move(program)) {
    setenv("BYOC_TUNING_PATH", "", 0);  // results do not depend on the log that comes with byoc
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  /// Writes a file in the test's folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    put(file(name), text);
    return file(name);
  }
  /// Runs `byoc arguments` in a shell.
  Ran operator()(const std::string& arguments) const {
    std::string line = program_ + " " + arguments + " >" + file(".out") + " 2>" + file(".err");
    int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), get(file(".out")),
            get(file(".err"))};
  }
  /// Runs `byoc arguments` and returns the JSON value that it prints.
  Json json(const std::string& arguments) const {
    auto value = parse_json((*this)(arguments + " --json").out);
    EXPECT_TRUE(value.ok()) << arguments << ": " << value.status().to_string();
    return value.ok() ? *value : Json();
  }

 private:
  std::string program_;
  TempFolder folder_;
};

/// A model of two ops that every plugin supports.
inline constexpr const char* kTwoOps = R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("first")
  %1 = tanh(%0) loc("second")
  return %1
})";

}  // namespace byoc::test
