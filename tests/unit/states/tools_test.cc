// SPDX-License-Identifier: Apache-2.0
// States in every command that takes a model: one row per command, and a command that declares
// --state without a row fails. Values are worked out by hand.
#include <algorithm>
#include <functional>
#include <map>

#include "core/driver/commands/commands.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

#ifdef BYOC_HAS_LLVM
const std::string kCompiler = " --compiler llvm";
#else
const std::string kCompiler = " --compiler json";
#endif
const std::string kShort = " --warmup 0 --min-time 0.02 --rounds 2";

// A first run from zeros computes known values; from other states all of them differ.
struct Model {
  std::string name, text, flags;
  double largest;  // of the output, after one run with the inputs
  std::string inputs;
};

const std::vector<Model> kStateful = {
    {"sum",
     R"(fn main(%x: f32[4], %past: f32[4]) {output_names=["present","twice"]} {
  %two = const(2.0) : f32[]
  %0 = add(%past, %x)
  %1 = multiply(%0, %two)
  return %0, %1
})",
     " --state past=present", 8, " --input x=1,2,3,4"},
    // Reads a row of a table by a counter, which leaves the table after four runs.
    {"counter",
     R"(fn main(%x: f32[2], %n: i64[1]) {output_names=["next","y"]} {
  %one = const([1]) : i64[1]
  %table = const([10.0,20.0,30.0,40.0]) : f32[4]
  %next = add(%n, %one)
  %row = gather(%table, %n) {axis=0}
  %y = add(%x, %row)
  return %next, %y
})",
     " --state n=next", 12, " --input x=1,2"},
    // Reads the only row of a table: the second run from zeros is refused, and so is a random n.
    {"one_row",
     R"(fn main(%x: f32[2], %n: i64[1]) {output_names=["next","y"]} {
  %one = const([1]) : i64[1]
  %table = const([10.0]) : f32[1]
  %next = add(%n, %one)
  %row = gather(%table, %n) {axis=0}
  %y = add(%x, %row)
  return %next, %y
})",
     " --state n=next", 12, " --input x=1,2"},
    // Rounds, so that the limits of outputs are computed by further runs of the reference.
    {"rounded",
     R"(fn main(%x: f32[4], %past: i8[4]) {output_names=["present","y"]} {
  %0 = round(%x)
  %1 = cast(%0) {to=i8}
  %2 = add(%past, %1)
  %3 = cast(%2) {to=f32}
  return %2, %3
})",
     " --state past=present", 4, " --input x=1,2,3.2,4.4"}};

// A command on one model; returns "" when what it printed is right.
struct Call {
  const Byoc& byoc;
  const Model& model;
  std::string arguments;  // the model with its states and compiler
};
using Check = std::function<std::string(const Call&)>;

std::string ran(const Call& call, const std::string& line) {
  const Ran ran = call.byoc(line);
  return ran.code == 0 ? "" : line + "\n" + ran.err;
}

// Runs a command whose exit code shows that it is right.
Check passes(const std::string& command, const std::string& more = "") {
  return [=](const Call& call) { return ran(call, command + " " + call.arguments + more); };
}

std::string check_run(const Call& call) {
  for (const char* more : {"", " --profile"}) {
    const Json out = call.byoc.json("run " + call.arguments + call.model.inputs + more);
    if (!out.contains("outputs")) return "run" + std::string(more) + " failed";
    if (out["outputs"].size() != 1 || out["outputs"][0]["max"] != call.model.largest)
      return out.dump();
  }
  return "";
}

// The outputs are those of the reference, which ran once from zeros.
std::string check_bench(const Call& call) {
  for (const char* more : {"", " --region 0"}) {
    const Ran bench = call.byoc("bench " + call.arguments + kShort + more);
    if (bench.code != 0) return more + bench.err;
    const bool is_checked = call.arguments.find("llvm") != std::string::npos;
    if (is_checked && bench.out.find("outputs agree with json's") == std::string::npos)
      return more + bench.out;
  }
  return "";
}

std::string check_report(const Call& call) {
  const std::string page = call.byoc.file("page.html");
  const Json out = call.byoc.json("report " + call.arguments + kShort + " -o " + page);
  if (!out.contains("configurations")) return "report failed";
  const Json& bench = out["configurations"][0]["bench"];
  return bench.is_null() || !(bench["configurations"][0]["median_ns"] > 0.0) ? out.dump() : "";
}

// Each region that was written is right when it runs again.
std::string check_dump(const Call& call) {
  const std::string folder = call.byoc.file("regions_" + call.model.name);
  const std::string failed = ran(call, "dump " + call.arguments + " -o " + folder);
  return failed.empty() ? ran(call, "replay " + folder) : failed;
}

std::string check_place(const Call& call) {
  const std::string without = call.arguments.substr(0, call.arguments.rfind(" --compiler"));
  return ran(call, "place " + without + " --improve 0 --rounds 1 --min-time 0.02");
}

std::string check_compile(const Call& call) {
  const std::string artifact = call.byoc.file(call.model.name + ".byoc");
  const std::string failed = ran(call, "compile " + call.arguments + " -o " + artifact);
  if (!failed.empty()) return failed;
  const Json out = call.byoc.json("run " + artifact + call.model.inputs);
  return out["outputs"][0]["max"] == call.model.largest ? "" : out.dump();
}

std::string check_tune(const Call& call) {
  const std::string log = call.byoc.file(call.model.name + ".jsonl");
  return ran(call, "tune " + call.arguments + " --trials 1 --jobs 1 --log " + log);
}

const std::map<std::string, Check> kChecks = {{"opt", passes("opt")},
                                              {"print", passes("print")},
                                              {"partition", passes("partition")},
                                              {"explain", passes("explain")},
                                              {"compile", check_compile},
                                              {"run", check_run},
                                              {"bench", check_bench},
                                              {"verify", passes("verify", " --steps 3")},
                                              {"dump", check_dump},
                                              {"place", check_place},
                                              {"report", check_report},
                                              {"tune", check_tune}};

bool takes_states(const cli::Command& command) {
  return std::ranges::any_of(command.options,
                             [](const cli::Option& one) { return one.names == "--state"; });
}

TEST(EveryTool, HasARow) {
  cli::CommonOptions common;
  for (const cli::Command& command : driver::byoc_command(common).commands)
    EXPECT_EQ(takes_states(command), kChecks.contains(command.name)) << command.name;
}

TEST(EveryTool, TakesAModelWithStates) {
  const Byoc byoc;
  for (const Model& model : kStateful) {
    const std::string file = byoc.write(model.name + ".ir", model.text);
    for (const auto& [command, check] : kChecks)
      EXPECT_EQ(check({byoc, model, file + model.flags + kCompiler}), "")
          << command << " of " << model.name;
  }
}

}  // namespace
}  // namespace byoc::test
