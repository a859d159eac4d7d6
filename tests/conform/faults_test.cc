// SPDX-License-Identifier: Apache-2.0
// Every check finds its fault: a plugin with one broken promise fails exactly the check of that
// promise, with a message that names the fault.
#include <sys/stat.h>

#include <algorithm>

#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Case {
  const char* plugin;  // its name in tests/faults
  const char* check;   // the one that fails
  const char* message;
  const char* arguments = "";
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.plugin; }

std::vector<std::string> failed_checks(const Json& json) {
  std::vector<std::string> names;
  for (const Json& check : json["checks"]) {
    if (check["outcome"] == "fail") names.push_back(check["name"]);
  }
  return names;
}

std::string reason_of(const Json& json, const std::string& name) {
  for (const Json& check : json["checks"]) {
    if (check["name"] == name) return check["reason"];
  }
  return "there is no such check";
}

class Fault : public testing::TestWithParam<Case> {
 protected:
  // Plugins of faulty.c set this when they are loaded.
  void SetUp() override { ::setenv("BYOC_TEST_FAULTY_RAN", "1", 1); }
};

TEST_P(Fault, FailsExactlyTheCheckOfThePromiseItBreaks) {
  const Case& c = GetParam();
  Byoc byoc;
  Json json = byoc.json(cat("check-plugin ", fault_path(c.plugin), " ", c.arguments));
  EXPECT_THAT(failed_checks(json), ElementsAre(c.check)) << json.dump(1);
  EXPECT_THAT(reason_of(json, c.check), HasSubstr(c.message));
  EXPECT_EQ(json["failed"], 1);
}

class Warning : public testing::TestWithParam<Case> {};

TEST_P(Warning, FailsNothing) {
  const Case& c = GetParam();
  Byoc byoc;
  Json json = byoc.json(cat("check-plugin ", fault_path(c.plugin), " --group 1,2"));
  EXPECT_THAT(failed_checks(json), testing::IsEmpty()) << json.dump(1);
  EXPECT_THAT(reason_of(json, c.check), HasSubstr(c.message));
}

const Case kWarnings[] = {
    {"unruly_vendor", "runpath", "warning: searches for libraries in /usr/lib/vendor, too"},
    {"unruly_joined", "threads", "warning: 1 of its threads run until shutdown"}};
INSTANTIATE_TEST_SUITE_P(Harmless, Warning, testing::ValuesIn(kWarnings),
                         [](const auto& info) { return std::string(info.param.plugin); });

const Case kCases[] = {
    {"faulty_loose_note", "strip", "is in a section that strip removes"},
    {"faulty_no_note", "manifest", "no plugin manifest in it (ELF note \"byoc\")"},
    {"faulty_bad_note", "manifest", "its manifest is not valid"},
    {"faulty_wrong_arch", "abi", "built for m68k"},
    {"faulty_wrong_major", "abi", "needs ABI 2, this byoc has 1.10"},
    {"faulty_needs_minor", "abi", "needs ABI 1.11, this byoc has 1.10"},
    {"unruly_exports", "exports",
     "exports 1 symbol in addition to byoc_plugin_entry_v1: example_entry"},
    {"unruly_unique", "unique",
     "GNU unique symbols, which the loader shares in the whole process: one_in_the_process"},
    {"faulty_unresolved", "imports", "imports symbol_that_nobody_defines, which none of lib"},
    {"unruly_textrel", "textrel", "changed when it is loaded (TEXTREL)"},
    {"unruly_stack", "stack", "requests an executable stack"},
    {"unruly_runpath", "runpath",
     "searches for libraries in \"/tmp/vendor/lib\", where others than root"},
    {"unruly_openmp", "openmp", "brings a second OpenMP runtime, libomp.so.5"},
    {"faulty_missing_library", "dependencies", "needs libbyoc_gone.so, which cannot be loaded"},
    {"faulty_entry_fails", "opens", "this machine has no such chip"},
    {"unruly_crashes", "opens", "crashed (Segmentation fault) while the entry"},
    {"unruly_hangs", "opens", "hung for 1 s while the entry", "--timeout 1"},
    {"unruly_exits", "opens", "ended the process (exit code 0) while the entry"},
    {"unruly_prints", "quiet", "prints \"hello from the plugin\""},
    {"unruly_threads", "threads", "leaves 1 thread running"},
    {"unruly_environment", "environment", "changes the environment variable OMP_NUM_THREADS"},
    {"unruly_folder", "folder", "changes the current folder from"},
    {"unruly_locale", "locale", "changes the locale from C to C.UTF-8"},
    {"unruly_signals", "signals", "changes the handler of signal 10 (User defined signal 1)"},
    {"unruly_rounding", "floats", "changes the floating-point mode"},
    {"unruly_memory", "cost", "at most 256 MiB"},
    {"faulty_null_table", "header", "its entry gave no table"},
    {"faulty_wrong_tag", "header", "its table has the wrong tag"},
    {"faulty_small_table", "header", "its table is 64 bytes"},
    {"faulty_must_understand", "header", "its table needs extension 5"},
    {"faulty_no_run", "slots", "its table has no \"run\""},
    {"faulty_wrong_id", "identity", "its table has id \"mask\", its manifest \"faulty\""},
    {"faulty_wrong_version", "identity", "its table has version \"9.9.9\""},
    {"faulty_table_major", "minor", "needs ABI 2, this byoc has 1.10"},
    {"faulty_none", "instance", "no licence", "--plugin-option faulty.fault=open"},
    {"faulty_none", "instance", "open gave no instance", "--plugin-option faulty.fault=open-null"},
    {"faulty_none", "instance", "pattern 1 is no byoc_pattern",
     "--plugin-option faulty.fault=patterns"},
    {"unruly_ends", "ends", "it accessed memory past the end of candidate_json while judge"},
    {"unruly_longer", "longer", "compile fails: example: a byoc_compile of another size"},
    {"unruly_optional", "optional", "compile fails: example: takes no extensions"},
    {"unruly_required", "required", "compile accepts an unknown extension that must be understood"},
    {"unruly_pattern_syntax", "patterns", "pattern \"odd\": "},
    {"unruly_pattern_op", "patterns", "names the op frobnicate, which byoc lacks"},
    {"unruly_pattern_never", "matchable", "pattern \"odd\": none of 64 graphs made after it"},
    {"unruly_repeatable", "repeatable", "called again yes"},
    {"unruly_concurrent", "concurrent", "with other threads running no"},
    {"unruly_reasons", "reasons", "judge of add f32[2,3,5] f32[5] gives no reason for its no"},
    {"unruly_unknown_op", "unknown_op", "with an unknown op"},
    {"unruly_unknown_dtype", "unknown_dtype", "with an unknown dtype"},
    {"unruly_unknown_attr", "unknown_attr", "with an unknown attribute"},
    {"unruly_requires", "requires", "with an unknown requirement"},
    {"unruly_compiles", "compiles", "compile fails: example: ran out of registers"},
    {"unruly_values", "values", "instead of"},
    {"unruly_empty", "empty", "run fails: example: there is nothing to do"},
    {"unruly_special", "special", "gives 0 instead of nan"},
    {"unruly_misaligned", "misaligned", "run fails: example: requires tensors aligned to 64"},
    {"unruly_offset", "offset", "tensors with a byte_offset: gives"},
    {"unruly_strided", "strided", "strided inputs: gives"},
    {"unruly_outputs", "outputs", "of output 0 f32[2,3,5] unwritten"},
    {"unruly_inputs", "inputs", "it wrote to input 0, which is read-only, while run, relu f32[7]"},
    {"unruly_constants", "constants", "it wrote to constant 0, which is read-only, while compile"},
    {"unruly_guards", "guards", "relu f32[7]: it writes outside of output 0"},
    {"unruly_overread", "guards",
     "it accessed memory past the end of input 0 while run, relu f32[7]"},
    {"unruly_workspace", "workspace", "it accessed memory past the end of the workspace while run"},
    {"unruly_in_place", "in_place", "an output in its input's memory: gives"},
    {"unruly_composites", "composites", "example.add_relu as add relu"},
    {"unruly_spans_backwards", "spans",
     "spans requested: it records a span that cannot be kept: \"work\" ends 1 ns before it begins"},
    {"unruly_spans_early", "spans", " ns before the run does"},
    {"unruly_spans_late", "spans", " ns after the run"},
    {"unruly_spans_crossing", "spans",
     "the spans \"first\" and \"work\" overlap, and neither lies inside of the other"},
    {"unruly_spans_nameless", "spans", "it records a span without a name"},
    {"unruly_spans_node", "spans", "the span \"work\" is of node 3, the graph has 1"},
    {"unruly_spans_call", "spans", "it records a span of another call_id"},
    {"unruly_spans_pairs", "spans",
     "\"work\" has 3 strings of details, keys and values come in pairs"},
    {"unruly_spans_unasked", "spans", "it records spans although the call has no SPANS"},
    {"unruly_run_prints", "surroundings", "prints \"seven elements\"; use the host's log"},
    {"unruly_run_rounding", "surroundings", "relu f32[7]: run leaves the floating-point mode"},
    {"unruly_run_locale", "surroundings", "it changes the locale from C to C.UTF-8"},
    {"unruly_knobs", "knobs", "the field \"kind\" is missing"},
    {"unruly_knobs_repeat", "knobs_repeat", "the knob space of a second call is another"},
    {"unruly_points", "points", "{\"block\":\"16384\",\"unroll\":\"4\"}"},
    {"unruly_outside", "outside", "\"unroll\":\"1\"} is compiled"},
    {"unruly_first_guess", "first_guess", "is not the one without a point"},
    {"unruly_repeated", "values", "add f32[2,3,5] f32[2,3,5], one value twice: gives"},
    {"unruly_other_values", "other_values", "relu f32[7], another run with other values: gives"},
    {"unruly_large_values", "large_values", "values far from 0: gives 100 instead of 1"},
    {"unruly_linked", "linked", "example_main_0: gives"},
    {"unruly_large_tensors", "large_tensors", "relu f32[3,67,129]: gives"},
    {"unruly_one_model", "one_model", "with one worker: "},
    {"unruly_workers", "workers", "with 4 workers: "},
    {"unruly_at_once", "at_once", "by 4 threads at once: "},
    {"unruly_elsewhere", "elsewhere", "output 0 gives"},
    {"sizes_refuses", "open_compiles", "with open dims 0: compile fails: sizes: needs numbers"},
    {"sizes_bounds", "open_values", "it accessed memory past the end of"},
    {"sizes_least", "open_values", "of output 0"},
    {"sizes_shared", "open_threads", "another result while other threads run other sizes"},
    {"groups_unreadable", "groups", "group \"pair\" has the node 2, and the graph has 2 nodes"},
    {"groups_overlap", "legal_groups",
     "group \"pair\" of pairs_of_ops is refused: \"first\" and \"second\" belong also to group"},
    {"groups_repeat", "groups_repeat", ", called again \"pair"},
    {"groups_names", "groups_repeat", ", under other names \"pairrenamed\""},
    {"groups_declines", "group_kernels", "compile declines the function of its own group"},
    {"groups_values", "group_kernels", "group \"pair\" of relu f32["},
};

// Faults of every run, and a compile that declines everything: one verdict each, with its cure.
TEST(CheckPlugin, GivesAFaultOfEveryRunOneVerdict) {
  struct Always {
    const char *plugin, *reason, *cure;
  };
  for (const Always& one :
       {Always{"unruly_run_fails", "run fails: example: the chip is too hot",
               "refuse in judge, or decline"},
        Always{"unruly_run_crashes", "crashed (Aborted) while run, ",
               "libbyoc_unruly_run_crashes.so --group 5"},
        Always{"unruly_run_exits", "ended the process (exit code 3) while run, ",
               "never ends the process"}}) {
    Byoc byoc;
    Json json = byoc.json(cat("check-plugin ", fault_path(one.plugin)));
    EXPECT_THAT(failed_checks(json), ElementsAre("values")) << json.dump(1);
    EXPECT_THAT(reason_of(json, "values"), HasSubstr(one.reason));
    EXPECT_THAT(reason_of(json, "ends"), HasSubstr("its first function does not run, see group 5"));
    for (const Json& check : json["checks"]) {
      if (check["name"] != "values") continue;
      EXPECT_THAT(check["cure"].get<std::string>(), HasSubstr(one.cure));
    }
    for (const Json& pattern : json["patterns_not_run"])
      EXPECT_NE(pattern, "example.relu") << one.plugin << " has run it";
  }
}

TEST(CheckPlugin, FailsNothingWhereCompileDeclinesEverything) {
  Byoc byoc;
  Json json = byoc.json(cat("check-plugin ", fault_path("unruly_declines")));
  EXPECT_THAT(failed_checks(json), testing::IsEmpty()) << json.dump(1);
  EXPECT_THAT(reason_of(json, "longer"), HasSubstr("compile fails: example: takes nothing today"));
}

TEST(CheckPlugin, GivesTheTimeoutToEachOfManyRuns) {
  Byoc byoc;
  Json json = byoc.json(
      cat("check-plugin ", fault_path("unruly_run_sleeps"), " --group correctness --timeout 1"));
  EXPECT_THAT(failed_checks(json), ElementsAre("time")) << json.dump(1);
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string arguments = info.param.arguments;
  std::string fault = arguments.substr(arguments.rfind('=') + 1);
  std::string name =
      cat(info.param.plugin, "_", arguments.find('=') == arguments.npos ? "" : fault);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(CheckPlugin, Fault, testing::ValuesIn(kCases), test_name);

TEST(CheckPlugin, FindsAPluginThatAnybodyMayChange) {
  Byoc byoc;
  std::string copy = byoc.file("libopen.so");
  std::filesystem::copy_file(fault_path("unruly_none"), copy);
  ::chmod(copy.c_str(), 0666);
  Json json = byoc.json("check-plugin " + copy);
  EXPECT_THAT(failed_checks(json), ElementsAre("file"));
  EXPECT_THAT(reason_of(json, "file"), HasSubstr("anyone may change it (mode 0666)"));
}

TEST(CheckPlugin, FindsAFileThatIsNoLibrary) {
  Byoc byoc;
  Json json = byoc.json("check-plugin " + byoc.write("libtext.so", "not a library"));
  EXPECT_THAT(failed_checks(json), ElementsAre("elf"));
  EXPECT_THAT(reason_of(json, "elf"), HasSubstr("not an ELF file"));
}

TEST(CheckPlugin, FindsALibraryThatIsCutShort) {
  Byoc byoc;
  std::string whole = get(fault_path("unruly_none"));
  const size_t loaded = whole.size() / 4;  // inside of what is loaded: symbol tables come after it
  for (size_t size : {size_t{70}, size_t{600}, loaded}) {
    Json json =
        byoc.json("check-plugin --group 1 " + byoc.write("libcut.so", whole.substr(0, size)));
    EXPECT_THAT(failed_checks(json), testing::Not(testing::IsEmpty())) << size;
  }
}

}  // namespace
}  // namespace byoc::test
