#include "core/conform/context/sweep_result.h"

#include <algorithm>
#include <charconv>

#include "byoc/pass/passes.h"
#include "core/conform/checks/function_test.h"
#include "core/conform/context/check_context.h"
#include "core/conform/process/surroundings.h"
#include "core/conform/samples/pattern_instances.h"

namespace byoc::conform {
namespace {

constexpr int kMaxRestarts = 16;

/// Lines of the child: "check\tfinding", "accepted\top\tdtype", "refused\top", "declined\t".
class SweepChild {
 public:
  SweepChild(const Kit& kit, Subject subject, uint64_t first)
      : kit_(kit), subject_(std::move(subject)), first_(first) {}

  std::string run() {
    std::vector<const OpDef*> ops = ops_to_check();
    size_t patterns = subject_.plugin->patterns().size();
    total_ = ops.size() + patterns;
    for (const OpDef* op : ops) {
      sweep_op(*op);
      ++done_;
    }
    for (size_t k = 0; k < patterns; ++k) {
      sweep_pattern(k);
      ++done_;
    }
    return changes();
  }

 private:
  /// What is other than before, all that was done later included. Threads may wait for more work.
  std::string changes() const {
    std::string text = "surroundings\t\n";
    for (const auto& [aspect, change] : differences(before_, look_around())) {
      if (aspect != "threads") text += cat("surroundings\tit ", change, "\n");
    }
    return text;
  }

  /// Items are counted in a fixed order, so that a new child can go on behind one.
  bool is_next() {
    ++item_;
    progress_to(item_, done_, total_);
    return item_ > first_;
  }

  void sweep_op(const OpDef& op) {
    doing(cat("making programs of ", op.name));
    auto programs = programs_of(op, kit_.options().level);
    for (const Program& program : programs) {
      if (is_next()) try_program(program, false);
      if (program.domains.size() > 1 && is_next())
        try_program(with_constants(program, kit_.options().seed), true);
    }
  }

  void try_program(const Program& program, bool has_constants) {
    bool taken = verdict_on(subject_, program).accept != Verdict::kNo;
    if (!has_constants) {
      if (taken) tell(cat("accepted\t", program.op->name, "\t", program.dtype));
      else tell(cat("refused\t", program.op->name));
    }
    if (!taken) return;
    FusionKind kind = program.op->kind;
    Trial trial{program.label, program.module, program.module, program.domains, "values"};
    trial.special = most_special(*program.op);
    trial.is_exact = kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast ||
                     kind == FusionKind::kInjective;
    run(trial);
  }

  void run(const Trial& trial) {
    std::string text;
    TrialEnd end = run_trial(subject_, trial, kit_.options().seed + item_,
                             [&](std::string_view check, std::string finding) {
                               std::replace(finding.begin(), finding.end(), '\n', ' ');
                               text += cat(text.empty() ? "" : "\n", check, "\t", finding);
                             });
    if (end == TrialEnd::kDeclined) text = "declined\t";
    if (!text.empty()) tell(text);
  }

  void sweep_pattern(size_t index) {
    const PluginPattern& row = subject_.plugin->patterns()[index];
    auto pattern = Pattern::parse(row.dag_json);
    if (!pattern.ok() || pattern->max_ops() < 2) return;
    size_t wanted = kit_.is_full() ? 64 : 16;
    doing(cat("making instances of pattern ", row.name));
    for (Instance& instance : instances_of(*pattern, kit_.options().seed, 4 * wanted, wanted)) {
      if (instance.ops > 1 && is_next()) try_instance(row, instance);
    }
  }

  void try_instance(const PluginPattern& row, const Instance& instance) {
    PassContext context = context_for(subject_);
    doing(cat("judge, ", instance.label));
    auto merged = merge_composites(instance.module, {subject_.plugin->id()}, context);
    if (!merged.ok()) return tell(cat("composites\t", merged.status().message()));
    std::string name = composite_name(*subject_.plugin, row);
    bool formed = std::any_of(merged->functions.begin(), merged->functions.end(),
                              [&](auto& entry) { return entry.second.attr("composite") == name; });
    const Function& main = merged->function("main");
    bool whole = std::none_of(main.nodes.begin(), main.nodes.end(), [](const Node& node) {
      return std::holds_alternative<Call>(node.kind);
    });
    if (!formed || !whole) return;  // judged no, or another pattern took a part
    Trial trial{cat(name, " as ", instance.label), instance.module, *std::move(merged),
                instance.domains, "composites"};
    // A NaN made inside of infinities would reach an op for which it is open.
    for (const Node& node : instance.module.function("main").nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call && most_special(*call->op) != Special::kNans) trial.special = Special::kDenormals;
    }
    run(trial);
  }

  const Kit& kit_;
  Subject subject_;
  uint64_t first_, item_ = 0, done_ = 0, total_ = 0;
  Surroundings before_ = look_around();
};

/// The check that an end of the child belongs to.
std::string_view check_of(const ChildResult& child) {
  auto has = [&](std::string_view part) { return child.fault.find(part) != std::string::npos; };
  auto doing_it = [&](std::string_view part) { return child.what.find(part) != std::string::npos; };
  if (has("the workspace")) return "workspace";
  if (has("wrote to constant")) return "constants";
  if (has("wrote to input")) return "inputs";
  if (!child.fault.empty()) return "guards";
  if (doing_it("aligned to their elements")) return "misaligned";
  return doing_it("run,") ? "values" : "compiles";
}

void read_line(std::string_view line, SweepResult& out) {
  size_t tab = std::min(line.find('\t'), line.size());
  std::string check(line.substr(0, tab));
  std::string rest(line.substr(std::min(tab + 1, line.size())));
  if (check == "declined") {
    ++out.declined;
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
    out.findings[check].push_back(rest);
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

const SweepResult& Kit::sweep() {
  if (sweep_) return *sweep_;
  sweep_ = std::make_unique<SweepResult>();
  uint64_t first = 0;
  for (int k = 0; k <= kMaxRestarts && !interrupted(); ++k) {
    ChildResult child = in_child([&]() -> std::string {
      name_faults();
      auto subject = load_subject(*this);
      if (!subject.ok()) return cat("compiles\t", sentence(subject.status()));
      return SweepChild(*this, *std::move(subject), first).run();
    });
    read_lines(child.result, *sweep_);
    if (!child.printed.empty()) {
      std::string line = child.printed.substr(0, std::min<size_t>(child.printed.find('\n'), 120));
      sweep_->findings["surroundings"].push_back(cat("prints \"", line, "\"; use the host's log"));
    }
    if (child.finished) return *sweep_;
    sweep_->findings[std::string(check_of(child))].push_back(child.defect);
    if (child.item <= first) break;  // it did not come to a sample at all
    first = child.item;
  }
  sweep_->gave_up = cat("samples behind number ", first, " were not tried");
  return *sweep_;
}

}  // namespace byoc::conform
