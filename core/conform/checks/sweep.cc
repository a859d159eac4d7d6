// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/sweep_result.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/conform/checks/function_test.h"
#include "core/conform/checks/taken_sample.h"
#include "core/conform/context/check_context.h"
#include "core/conform/context/ends.h"
#include "core/conform/examples/example_functions.h"
#include "core/conform/process/process_state.h"
#include "core/process/child.h"
#include "core/process/faults.h"

namespace byoc::conform {
namespace {

constexpr int kMaxRestarts = 16;

/// The runs of one pattern's instances of a style, and of one op, that are tried; the functions of
/// an example.
constexpr size_t kStyled = 8, kExampleFunctions = 256;

/// Writes a finding as "check\ttext" or "check\ttext\tcure".
std::string line_of(const Finding& found) {
  std::string text = found.text;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return cat(found.check, "\t", text, found.cure.empty() ? "" : "\t", found.cure);
}

/// Runs the sweep in a child, which sends lines: those of findings, "accepted\top\tdtype",
/// "refused\top", "declined\t", "ran\tpattern\tkernels", and "testing\tcheck" before a function
/// whose values decide that check.
class SweepChild {
 public:
  SweepChild(const CheckContext& context, LoadedPlugin tested, uint64_t first)
      : context_(context), tested_(std::move(tested)), first_(first) {}

  std::string run() {
    std::vector<const OpDef*> ops = ops_to_check();
    size_t patterns = tested_.plugin->patterns().size();
    const std::vector<Example>& examples = context_.options().examples;
    total_ = ops.size() + patterns + examples.size();
    for (const PluginPattern& row : tested_.plugin->patterns()) note_ran(row, 0);
    for (const OpDef* op : ops) {
      sweep_op(*op);
      ++done_;
    }
    for (size_t k = 0; k < patterns; ++k) {
      sweep_pattern(k);
      ++done_;
    }
    for (const Example& example : examples) {
      sweep_example(example);
      ++done_;
    }
    return changes();
  }

 private:
  /// Returns lines about changes of the process since this object was constructed. Threads are left
  /// out, because they may wait for more work.
  std::string changes() const {
    std::string text = "surroundings\t\n";
    for (const auto& [aspect, change] : differences(before_, read_process_state())) {
      if (aspect != "threads") text += cat("surroundings\tit ", change, "\n");
    }
    return text;
  }

  /// Begins the samples of an op, of a style of a pattern, or of an example. A block has numbers of
  /// its own: items keep theirs where an earlier child has ended a block before its last one.
  /// Returns false when an earlier child has done all of it.
  bool begin_block() {
    constexpr int kBits = 16;
    item_ = ++block_ << kBits;
    return (block_ + 1) << kBits > first_;
  }
  /// Counts items, in a fixed order. Returns false for those that an earlier child has done.
  bool is_next() {
    ++item_;
    process::progress_to(item_, done_, total_);
    return item_ > first_;
  }

  void sweep_op(const OpDef& op) {
    if (!begin_block()) return;
    process::doing(cat("making programs of ", op.name));
    bool has_repeated = false;
    for (const Program& program : kept_programs_of(op, context_.options().level)) {
      if (is_next()) try_program(program);
      if (program.domains.size() > 1 && is_next())
        try_variant(with_constants(program, context_.options().seed));
      const auto repeated = has_repeated ? std::nullopt : with_repeated_operand(program);
      has_repeated = has_repeated || repeated;
      if (repeated && is_next()) try_variant(*repeated);
    }
  }

  /// Runs the op as it is, and counts it.
  void try_program(const Program& program) {
    const bool taken = verdict_on(tested_, program).accept != Verdict::kNo;
    if (taken) process::send_line(cat("accepted\t", program.op->name, "\t", program.dtype));
    else process::send_line(cat("refused\t", program.op->name));
    if (taken) run_program(program);
  }

  void try_variant(const Program& program) {
    if (verdict_on(tested_, program).accept != Verdict::kNo) run_program(program);
  }

  void run_program(const Program& program) {
    FusionKind kind = program.op->kind;
    FunctionTest test{program.label, program.module, program.module, program.domains, "values"};
    test.special = most_special(*program.op);
    test.is_exact = kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast ||
                    kind == FusionKind::kInjective;
    test.is_watched = watched_.insert(program.op).second;
    const bool is_empty = has_no_elements(program.module.function("main"));
    if (is_empty && failed_.contains(program.op)) return;  // it fails with elements, too
    const std::optional<uint32_t> pattern =
        tested_.plugin->patterns().empty() ? std::nullopt : pattern_of(tested_, program.module);
    if (pattern) note_trying(tested_.plugin->patterns()[*pattern]);
    if (!run(test)) return;
    if (has_failed_ && !is_empty) failed_.insert(program.op);
    if (pattern) note_ran(tested_.plugin->patterns()[*pattern], 1);
  }

  static bool has_no_elements(const Function& main) {
    for (const Node& node : main.nodes) {
      for (size_t k = 0; k < node.types.size(); ++k) {
        if (*num_elements(node.types[k]->shape) == 0) return true;
      }
    }
    return false;
  }

  /// Names the pattern whose kernel may end this process.
  void note_trying(const PluginPattern& row) const {
    process::send_line(cat("trying\t", composite_name(*tested_.plugin, row)));
  }

  void note_ran(const PluginPattern& row, uint64_t kernels) const {
    process::send_line(cat("ran\t", composite_name(*tested_.plugin, row), "\t", kernels));
  }

  /// Returns whether the kernel was run.
  bool run(const FunctionTest& test) {
    process::send_line(cat("testing\t", test.value_check));
    std::string text;
    bool has_run = false;
    has_failed_ = false;
    FunctionTestEnd end = run_function_test(
        tested_, test, context_.options().seed + item_, [&](const Finding& found) {
          const bool is_value = found.check == test.value_check;
          has_run = has_run || is_value;
          has_failed_ |= is_value && found.text.find("run fails: ") != found.text.npos;
          text += cat(text.empty() ? "" : "\n", line_of(found));
        });
    if (end == FunctionTestEnd::kDeclined) text = "declined\t";
    if (!text.empty()) process::send_line(text);
    return has_run;
  }

  void sweep_pattern(size_t index) {
    const PluginPattern& row = tested_.plugin->patterns()[index];
    auto pattern = Pattern::parse(row.dag_json);
    if (!pattern.ok() || pattern->max_ops() < 2) return;
    const size_t count = context_.is_full() ? 64 : 16;
    const size_t most = context_.is_full() ? 64 : kStyled;
    sweep_style(row, *pattern, {}, 4 * count, most);
    sweep_style(row, *pattern, {.repeats_operands = true}, count, kStyled);
    if (has_constants(*pattern))
      sweep_style(row, *pattern, {.has_exporter_values = true}, 64 * count, kStyled);
  }

  /// Makes graphs of a style, and runs those that judge accepts, at most `most` of them; then some
  /// without elements, unless runs of the others fail.
  void sweep_style(const PluginPattern& row, const Pattern& pattern, InstanceStyle style,
                   size_t tries, size_t most) {
    if (!begin_block()) return;
    process::doing(cat("making instances of pattern ", row.name));
    if (!run_instances(row, pattern, style, tries, most)) return;
    style.is_empty = true;
    run_instances(row, pattern, style, tries / 8, kStyled);
  }

  /// Returns false when a run fails.
  bool run_instances(const PluginPattern& row, const Pattern& pattern, InstanceStyle style,
                     size_t tries, size_t most) {
    size_t runs = 0;
    bool is_good = true;
    for_instances_of(pattern, context_.options().seed, tries, style, [&](const Instance& instance) {
      if (instance.ops < 2 || !is_next()) return true;
      const bool has_run = try_instance(row, instance);
      runs += has_run;
      is_good = is_good && !(has_run && has_failed_);
      return runs < most;
    });
    return is_good;
  }

  /// Returns whether a kernel was run.
  bool try_instance(const PluginPattern& row, const Instance& instance) {
    auto merged = as_composite(tested_, row, instance);
    if (!merged.ok()) {
      process::send_line(cat("composites\t", merged.status().message()));
      return false;
    }
    if (!*merged) return false;
    FunctionTest test{cat(composite_name(*tested_.plugin, row), " as ", instance.label),
                      instance.module, **std::move(merged), instance.domains, "composites"};
    test.is_chain = true;
    // An op may compute NaN from infinities; the next op's result for NaN may be undetermined.
    for (const Node& node : instance.module.function("main").nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call && most_special(*call->op) != Special::kNans) test.special = Special::kDenormals;
    }
    test.is_watched = watched_.insert(&row).second;
    note_trying(row);
    const bool has_run = run(test);
    if (has_run) note_ran(row, 1);
    return has_run;
  }

  void sweep_example(const Example& example) {
    if (!begin_block()) return;
    process::doing(cat("partitioning the example ", example.name));
    auto functions = example_functions(tested_, example, kExampleFunctions);
    if (!functions.ok())
      return process::send_line(
          cat("examples\t", example.name, ": ", sentence(functions.status())));
    for (ExampleFunction& one : *functions) {
      if (is_next()) try_example(std::move(one));
    }
  }

  void try_example(ExampleFunction one) {
    FunctionTest test{one.label, std::move(one.reference), std::move(one.compiled), {}, "examples"};
    test.domains.resize(test.reference.function("main").num_params());
    test.is_chain = test.is_watched = true;
    test.special = Special::kNone;
    if (!run(test)) return;
    for (const PluginPattern& row : tested_.plugin->patterns()) {
      if (one.names.contains(composite_name(*tested_.plugin, row))) note_ran(row, 1);
    }
  }

  const CheckContext& context_;
  LoadedPlugin tested_;
  uint64_t first_, block_ = 0, item_ = 0, done_ = 0, total_ = 0;
  std::set<const void*> watched_;  // ops and patterns of which a kernel was run many times
  std::set<const OpDef*> failed_;  // ops whose run fails
  bool has_failed_ = false;        // the run of the last function
  ProcessState before_ = read_process_state();
};

/// Returns the check that fails, given how the child ended, and the check of the last function.
std::string_view check_of(const process::ChildResult& child, std::string_view tested) {
  auto has = [&](std::string_view part) { return child.fault.find(part) != std::string::npos; };
  auto doing_it = [&](std::string_view part) { return child.what.find(part) != std::string::npos; };
  if (has("the workspace")) return "workspace";
  if (has("wrote to constant")) return "constants";
  if (has("wrote to input")) return "inputs";
  if (!child.fault.empty()) return "guards";
  if (doing_it("aligned to their elements")) return "misaligned";
  return doing_it("run,") && !tested.empty() ? tested : "compiles";
}

void read_line(std::string_view line, SweepResult& out) {
  size_t tab = std::min(line.find('\t'), line.size());
  std::string check(line.substr(0, tab));
  std::string rest(line.substr(std::min(tab + 1, line.size())));
  if (check == "testing") {
    out.tested = rest;
  } else if (check == "trying") {
    out.trying = rest;
  } else if (check == "declined") {
    ++out.declined;
  } else if (check == "ran") {
    const size_t split = rest.find('\t');
    out.ran[rest.substr(0, split)] += rest.ends_with("\t1") ? 1 : 0;
  } else if (check == "refused") {
    ++out.ops[rest].refused;
  } else if (check == "accepted") {
    size_t split = rest.find('\t');
    OpCoverage& row = out.ops[rest.substr(0, split)];
    ++row.accepted;
    std::string dtype = rest.substr(split + 1);
    if (std::find(row.dtypes.begin(), row.dtypes.end(), dtype) == row.dtypes.end())
      row.dtypes.push_back(dtype);
  } else if (rest.empty()) {
    ++out.tried[check];
  } else {
    tab = std::min(rest.find('\t'), rest.size());
    out.add(check, rest.substr(0, tab), rest.substr(std::min(tab + 1, rest.size())));
  }
}

void read_lines(std::string_view text, SweepResult& out) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) read_line(text.substr(0, end), out);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

}  // namespace

const SweepResult& CheckContext::sweep() {
  if (sweep_) return *sweep_;
  sweep_ = std::make_unique<SweepResult>();
  uint64_t first = 0;
  for (int k = 0; k <= kMaxRestarts && !process::interrupted(); ++k) {
    process::ChildResult child = in_child([&]() -> std::string {
      process::name_faults();
      auto tested = load_plugin(*this);
      if (!tested.ok()) return cat("compiles\t", sentence(tested.status()));
      return SweepChild(*this, *std::move(tested), first).run();
    });
    read_lines(child.result, *sweep_);
    if (!child.printed.empty()) {
      std::string line = child.printed.substr(0, std::min<size_t>(child.printed.find('\n'), 120));
      sweep_->findings["surroundings"].push_back(cat("prints \"", line, "\"; use the host's log"));
    }
    if (child.finished) return *sweep_;
    if (child.what.starts_with("run")) ++sweep_->ran[sweep_->trying];
    sweep_->add(std::string(check_of(child, sweep_->tested)), child.defect, cure_of(child));
    if (child.item <= first) break;  // it did not come to a sample at all
    first = child.item;
  }
  sweep_->gave_up = cat("samples after number ", first, " were not tried");
  return *sweep_;
}

}  // namespace byoc::conform
