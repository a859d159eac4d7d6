// SPDX-License-Identifier: Apache-2.0
// byoc_fuzz: random graphs by every choice of plugins against the reference kernels.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "byoc/te/target.h"
#include "byoc/text/text.h"
#include "byoc/translate/policies.h"
#include "core/process/child.h"
#include "core/process/faults.h"
#include "grow.h"
#include "reduce.h"
#include "report.h"
#include "runtime/cli/command.h"
#include "support/temp_folder.h"

namespace byoc::fuzz {
namespace {

constexpr uint64_t kBatch = 10;  // graphs per process: a crash costs the others nothing
const std::vector<std::string> kStyles = {"cnn", "transformer", "noise", "images", "chains"};

struct Options {
  uint64_t seed = 1, count = 100;
  std::string style, output = "fuzz-faults", plugins;
  std::vector<std::string> compilers, computes, plugin_options;
  std::string target = "native";
  int level = -1;
  uint32_t threads = 0, configurations = 2, jobs = 1, timeout_s = 60, most_tries = 200,
           most_faults = 20;
  bool opens = false, nests = false, keeps = false, show = false, coverage = false;
  bool shares = false;
};

Result<Style> style_of(const Options& options, uint64_t seed, std::string& name) {
  // Seven of ten graphs are noise, the style with all ops; the graphs of transformers are large.
  const uint64_t turn = seed % 10;
  name = !options.style.empty() ? options.style : kStyles[turn < 2 ? 0 : turn < 3 ? 1 : 2];
  for (size_t k = 0; k < kStyles.size(); ++k) {
    if (kStyles[k] == name) return static_cast<Style>(k);
  }
  return cli::usage_error(
      cat("--style is cnn, transformer, noise, images or chains, got \"", name, "\""));
}

Case case_of(const Options& options, uint64_t seed) {
  std::string name;
  return random_case(seed, *style_of(options, seed, name));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string piece; std::getline(in, piece, separator);) out.push_back(piece);
  return out;
}

/// Returns the configurations of one list of plugins: each level, the default twice.
std::vector<Configuration> configurations_of(const std::string& list) {
  std::vector<Configuration> out;
  for (int level : {2, 0, 2, 1})
    out.push_back({split(list, ','), level, 1 + static_cast<uint32_t>(out.size() % 2)});
  return out;
}

/// Returns the configurations that the options leave. Lists with plugins that are used only when
/// they are named are configurations of their own.
std::vector<Configuration> choices_of(const Options& options) {
  std::vector<Configuration> all = all_configurations(), out;
  std::set<std::vector<std::string>> known;
  for (const Configuration& configuration : all) known.insert(configuration.compilers);
  for (const std::string& list : options.compilers) {
    if (!known.insert(split(list, ',')).second) continue;
    for (Configuration& more : configurations_of(list)) all.push_back(std::move(more));
  }
  for (Configuration configuration : all) {
    bool listed = options.compilers.empty();
    for (const std::string& list : options.compilers)
      listed |= split(list, ',') == configuration.compilers;
    if (!listed || (options.level >= 0 && options.level != configuration.level)) continue;
    if (options.threads > 0) configuration.threads = options.threads;
    configuration.computes = options.computes;
    configuration.target = options.target;
    configuration.opens = options.opens;
    configuration.nests = options.nests;
    configuration.keeps = options.keeps;
    configuration.shares = options.shares;
    out.push_back(configuration);
  }
  return out;
}

/// Returns the numbers of a graph's configurations: the next ones in a cycle through all.
std::vector<size_t> chosen(const Options& options, uint64_t seed, size_t choices) {
  std::set<size_t> out;
  for (uint64_t k = 0; k < options.configurations; ++k)
    out.insert((seed * options.configurations + k) * 7 % choices);
  return {out.begin(), out.end()};
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

/// Runs seeds [begin, end) in a child process. Sends "graph" for each, and "fault" with its
/// configuration, kind and difference.
std::string run_batch(const Options& options, const std::vector<Configuration>& choices,
                      uint64_t begin, uint64_t end) {
  process::name_faults();
  auto plugins = load_plugins(false), keeping_nan = load_plugins(true);
  for (uint64_t seed = begin; seed < end; ++seed) {
    process::progress_to(seed << 8, seed - begin, end - begin);
    process::doing(cat("the graph of seed ", seed));
    Case graph = case_of(options, seed);
    auto wanted = evaluate_case(graph, kOracleSeed, sums_of(choices[0]));
    if (!wanted.ok()) {
      process::send_line("undetermined");
      continue;
    }
    const auto& used = must_keep_nan(graph) ? keeping_nan : plugins;
    for (size_t k : chosen(options, seed, choices.size())) {
      process::progress_to(seed << 8 | (k + 1), seed - begin, end - begin);
      process::doing(cat("seed ", seed, ", ", flags_of(choices[k])));
      Outcome outcome = check(graph, choices[k], *wanted, used);
      process::send_line("check");
      for (const std::string& name : outcome.implementations)
        process::send_line(cat("kernel\t", one_line(name)));
      if (outcome.failed()) {
        process::send_line(cat("fault\t", seed, "\t", k, "\t", static_cast<int>(outcome.kind), "\t",
                               one_line(outcome.what)));
      }
    }
    process::send_line("graph");
  }
  return "";
}

struct Tally {
  uint64_t graphs = 0, checks = 0, undetermined = 0;
  std::vector<Fault> faults;
  std::map<std::string, uint64_t> kernels;  // by implementation
};

void add_lines(const Options& options, const std::vector<Configuration>& choices,
               const std::string& lines, Tally& tally) {
  for (const std::string& line : split(lines, '\n')) {
    std::vector<std::string> words = split(line, '\t');
    if (line == "graph") ++tally.graphs;
    else if (line == "check") ++tally.checks;
    else if (line == "undetermined") ++tally.undetermined;
    else if (words.size() > 1 && words[0] == "kernel") ++tally.kernels[words[1]];
    if (words.empty() || words[0] != "fault") continue;
    Fault fault{.seed = std::stoull(words[1]), .configuration = choices[std::stoull(words[2])]};
    (void)style_of(options, fault.seed, fault.style);
    fault.outcome = {static_cast<Outcome::Kind>(std::stoi(words[3])),
                     words.size() > 4 ? words[4] : ""};
    tally.faults.push_back(std::move(fault));
  }
}

/// Adds the seed and the configuration at which a child ended.
void add_crash(const Options& options, const std::vector<Configuration>& choices,
               const process::ChildResult& child, Tally& tally) {
  const uint64_t seed = child.item >> 8, k = child.item & 0xff;
  Fault fault{.seed = seed, .configuration = choices[k == 0 ? 0 : k - 1]};
  (void)style_of(options, seed, fault.style);
  const bool hung = child.end.kind == process::End::kTimedOut;
  fault.outcome = {hung ? Outcome::kHang : Outcome::kCrash,
                   one_line(cat(child.defect, " ", child.printed))};
  tally.faults.push_back(std::move(fault));
}

/// Prints faults as they are found; they are reduced at the end.
void print_faults(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    std::printf("fault: seed %llu (%s) %s: %s: %s\n", static_cast<unsigned long long>(fault.seed),
                fault.style.c_str(), flags_of(fault.configuration).c_str(),
                std::string(kind_name(fault.outcome.kind)).c_str(), fault.outcome.what.c_str());
  }
  std::fflush(stdout);
}

struct Range {
  uint64_t begin, end;
};

/// Runs all seeds in batches. The seeds after a crash in its batch are run in another process.
Tally run_all(const Options& options, const std::vector<Configuration>& choices) {
  std::vector<Range> ranges;
  const uint64_t end = options.seed + options.count;
  for (uint64_t begin = options.seed; begin < end; begin += kBatch)
    ranges.push_back({begin, std::min(begin + kBatch, end)});
  Tally tally;
  // The cache of llvm's kernels serves the other configurations of the same graphs alone: the
  // user's cache may have kernels of another version, and a large one takes time.
  test::TempFolder cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  while (!ranges.empty() && !process::interrupted()) {
    std::filesystem::remove_all(cache.file("byoc"));
    const size_t now = std::min<size_t>(ranges.size(), 2 * options.jobs);
    const size_t before = tally.faults.size();
    process::ChildLimits limits{.timeout_s = options.timeout_s};
    auto results = process::run_in_children(limits, now, options.jobs, [&](size_t k) {
      return run_batch(options, choices, ranges[k].begin, ranges[k].end);
    });
    std::vector<Range> left(ranges.begin() + static_cast<std::ptrdiff_t>(now), ranges.end());
    for (size_t k = now; k-- > 0;) {
      add_lines(options, choices, results[k].result, tally);
      if (results[k].finished || results[k].end.kind == process::End::kInterrupted) continue;
      add_crash(options, choices, results[k], tally);
      const uint64_t next = (results[k].item >> 8) + 1;
      if (results[k].item > 0 && next < ranges[k].end)
        left.insert(left.begin(), {next, ranges[k].end});
    }
    ranges = std::move(left);
    const auto first = tally.faults.begin() + static_cast<std::ptrdiff_t>(before);
    std::stable_sort(first, tally.faults.end(),
                     [](const Fault& a, const Fault& b) { return a.seed < b.seed; });
    print_faults({first, tally.faults.end()});
    std::fprintf(stderr, "%llu graphs, %llu checks, %zu faults\n",
                 static_cast<unsigned long long>(tally.graphs),
                 static_cast<unsigned long long>(tally.checks), tally.faults.size());
  }
  return tally;
}

/// Reduces the faults and writes a folder for each that differs from the ones before in its ops or
/// its plugins.
void report(const Options& options, const std::vector<Fault>& faults) {
  std::set<std::string> seen;
  size_t written = 0;
  for (Fault fault : faults) {
    if (written == options.most_faults) break;
    std::printf("%s by %s\n  seed %llu: %s\n", std::string(kind_name(fault.outcome.kind)).c_str(),
                flags_of(fault.configuration).c_str(), static_cast<unsigned long long>(fault.seed),
                fault.outcome.what.c_str());
    Case graph = case_of(options, fault.seed);
    Reduced reduced =
        reduce(graph, fault.configuration, fault.outcome, options.most_tries, options.timeout_s);
    fault.outcome = reduced.outcome;
    std::string signature = cat(kind_name(fault.outcome.kind), " ", ops_of(reduced.graph));
    if (!seen.insert(signature).second) {
      std::printf("  reduced: %s, as before\n", ops_of(reduced.graph).c_str());
      continue;
    }
    ++written;
    std::string folder = cat(options.output, "/", fault.style, "-", fault.seed, "-", written);
    Status status = write_fault(fault, reduced.graph, folder);
    std::printf("  reduced to %zu ops in %zu tries: %s\n%s  repeat: %s\n  replay: %s\n",
                reduced.graph.steps.size(), reduced.tries, fault.outcome.what.c_str(),
                print(to_module(reduced.graph), {.elide = 32}).c_str(), command_of(fault).c_str(),
                status.ok() ? cat("byoc replay ", folder).c_str() : status.to_string().c_str());
    std::fflush(stdout);
  }
}

/// Prints how often kernels of each implementation ran. Returns false when a compute that the
/// options name had none.
bool print_kernels(const Options& options, const std::map<std::string, uint64_t>& kernels) {
  for (const auto& [name, count] : kernels)
    std::printf("%8llu kernels: %s\n", static_cast<unsigned long long>(count), name.c_str());
  for (const std::string& rule : options.computes) {
    if (rule.find('=') != rule.npos || rule.starts_with("by-") || rule.starts_with("only-") ||
        rule.starts_with("not-"))
      continue;
    const bool is_used = std::ranges::any_of(
        kernels, [&](const auto& kernel) { return kernel.first.find(rule) != rule.npos; });
    if (!is_used) std::printf("no kernel has the compute %s\n", rule.c_str());
    if (!is_used) return false;
  }
  return true;
}

/// Prints the ops that no graph of the seeds has.
int print_coverage(const Options& options) {
  std::map<std::string, uint64_t> counts;
  for (const OpDef* op : all_ops().all()) {
    if (!op->is_annotation && !op->sizes && !op->inputs.empty())
      counts[op->name] = 0;  // the fuzzer's graphs have numbers
  }
  for (uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
    for (const Step& step : case_of(options, seed).steps) ++counts[step.op->name];
  }
  std::string missing;
  for (const auto& [name, count] : counts) {
    std::printf("%8llu %s\n", static_cast<unsigned long long>(count), name.c_str());
    if (count == 0) missing += " " + name;
  }
  if (missing.empty()) return cli::kDone;
  std::printf("no graph has:%s; add a Family for it in tests/fuzz/grow_*.cc\n", missing.c_str());
  return cli::kFailed;
}

Result<int> run(const Options& options) {
  std::string style;
  BYOC_TRY_STATUS(style_of(options, options.seed, style).status());
  std::vector<Configuration> choices = choices_of(options);
  if (choices.empty()) {
    return cli::usage_error("no configuration has that -O; the levels are 0 to 2");
  }
  if (auto target = te::parse_target(options.target); !target.ok())
    return cli::usage_error(cat("--target: ", target.status().message()));
  if (auto rules = te::parse_rules(options.computes, all_ops()); !rules.ok())
    return cli::usage_error(cat("--compute: ", rules.status().message()));
  if (!options.plugins.empty()) set_plugin_folder(options.plugins);
  for (const std::string& text : options.plugin_options) {
    if (!set_plugin_option(text))
      return cli::usage_error(cat("--plugin-option expects ID.NAME=VALUE, not \"", text, "\""));
  }
  if (options.shares) share_all_loops();
  const auto plugins = load_plugins(false);
  for (const Configuration& choice : choices) {
    for (const std::string& id : choice.compilers) BYOC_TRY_STATUS(plugins->get(id).status());
  }
  if (options.show) {
    for (uint64_t seed = options.seed; seed < options.seed + options.count; ++seed)
      std::printf("// seed %llu\n%s", static_cast<unsigned long long>(seed),
                  print(to_module(case_of(options, seed)), {.elide = 8}).c_str());
    return cli::kDone;
  }
  if (options.coverage) return print_coverage(options);
  process::catch_interrupts();
  Tally tally = run_all(options, choices);
  if (!process::interrupted()) report(options, tally.faults);
  std::printf(
      "%s%llu graphs, %llu checks in %zu configurations, %llu graphs not determined: %zu "
      "faults\n",
      process::interrupted() ? "interrupted after " : "",
      static_cast<unsigned long long>(tally.graphs), static_cast<unsigned long long>(tally.checks),
      choices.size(), static_cast<unsigned long long>(tally.undetermined), tally.faults.size());
  const bool has_computes = options.computes.empty() || print_kernels(options, tally.kernels);
  if (process::interrupted()) return cli::kInterrupted;
  return tally.faults.empty() && has_computes ? cli::kDone : cli::kFailed;
}

}  // namespace
}  // namespace byoc::fuzz

int main(int argc, char** argv) {
  using byoc::cli::Command;
  byoc::fuzz::Options options;
  byoc::cli::CommonOptions common;
  Command root{
      .name = "byoc_fuzz",
      .about = "run random graphs by every choice of plugins, and compare with the reference"};
  root.examples = {
      {"byoc_fuzz --count 300", "300 graphs, each in two configurations"},
      {"byoc_fuzz --seed 17 --count 1 --compiler onednn,llvm -O 2", "one graph again"},
      {"byoc_fuzz --seed 17 --count 1 --show", "print the graph"},
      {"byoc_fuzz --style transformer --count 1000 --configurations 45 --jobs 2", "much"}};
  root.options = {
      {"--seed", "N", "the first graph (1)", &options.seed},
      {"--count", "K", "how many graphs (100)", &options.count},
      {"--style", "STYLE",
       "cnn, transformer or noise; else these in turn; or images, of convolutions alone; or "
       "chains of convolutions of large images",
       &options.style},
      {"--compiler", "LIST", "plugins in order, as onednn,llvm; may be given several times",
       &options.compilers},
      {"-O,--level", "LEVEL", "0, 1 or 2; else all in turn", &options.level},
      {"--compute", "RULE",
       "the way to compute ops, as for byoc: not-direct, winograd, direct; may be repeated",
       &options.computes},
      {"--target", "CPU", "the machine to compile for, as for byoc", &options.target},
      {"--open", "", "compile for open sizes, and run at several", &options.opens},
      {"--nest", "", "compile with a part of each graph in the bodies of if or loop",
       &options.nests},
      {"--keep", "", "compile with results as next values of parameters, and run several steps",
       &options.keeps},
      {"--threads", "N", "of a run; else 1 and 2 in turn", &options.threads},
      {"--share-loops", "", "each worker does a share of each parallel loop, of short ones, too",
       &options.shares},
      {"--configurations", "K", "configurations that each graph meets (2)",
       &options.configurations},
      {"--jobs", "N", "processes at a time (1)", &options.jobs},
      {"--timeout", "S", "seconds for one graph in one configuration (60)", &options.timeout_s},
      {"--output", "DIR", "where replay folders of faults go (fuzz-faults)", &options.output},
      {"--most-tries", "N", "runs to reduce one fault (200)", &options.most_tries},
      {"--most-faults", "N", "faults that are reduced and written (20)", &options.most_faults},
      {"--plugin-option", "ID.NAME=VALUE",
       "an option of a plugin, as llvm.families=-winograd; may be repeated",
       &options.plugin_options},
      {"--plugins", "DIR", "where the plugins are; else in the build folder", &options.plugins},
      {"--show", "", "print the graphs, run nothing", &options.show},
      {"--coverage", "", "count the ops of the graphs, run nothing", &options.coverage}};
  root.run = [&] { return byoc::fuzz::run(options); };
  return byoc::cli::run_command_line(root, common, argc, argv);
}
