#include "core/conform/context/check_context.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "byoc/base/check.h"
#include "byoc/base/json.h"
#include "core/conform/context/load_facts.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/samples/samples.h"

namespace byoc::conform {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Group kGroups[] = {
    {1, "static"}, {2, "load"}, {3, "table"}, {4, "capability"}, {5, "correctness"}};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (size_t from = 0; from < text.size();) {
    size_t to = std::min(text.find('\n', from), text.size());
    out.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

/// Runs checks, each once, after those it needs.
class Runner {
 public:
  explicit Runner(Kit& kit) : kit_(kit) {}

  /// Recursion as deep as needs are nested, which is written down in the tables.
  const Finished& finish(const Check& check) {
    if (auto known = finished_.find(check.name); known != finished_.end()) return known->second;
    Finished out{&check, {}, 0};
    for (std::string_view name : words(check.needs)) {
      if (finish(by_name(name)).answer.outcome == Outcome::kPass) continue;
      if (out.answer.outcome == Outcome::kPass) out.answer = skip(cat("needs ", name));
    }
    auto start = Clock::now();
    if (out.answer.outcome == Outcome::kPass) out.answer = check.run(kit_);
    out.wall_ns = static_cast<double>((Clock::now() - start) / std::chrono::nanoseconds(1));
    return finished_.emplace(check.name, std::move(out)).first->second;
  }

 private:
  static const Check& by_name(std::string_view name) {
    for (const Check& check : all_checks()) {
      if (check.name == name) return check;
    }
    BYOC_CHECK(false, "no check is called ", name);
  }
  Kit& kit_;
  std::map<std::string_view, Finished> finished_;
};

Status check_option_ids(Kit& kit) {
  for (const auto& [id, values] : kit.options().options) {
    if (!kit.manifest().ok() || kit.manifest()->id == id) continue;
    return invalid(cat("--plugin-option is for \"", id, "\", the plugin is \"", kit.manifest()->id,
                       "\""))
        .with_slug("usage");
  }
  return {};
}

}  // namespace

Answer pass(std::string note) { return {Outcome::kPass, std::move(note), {}}; }
Answer fail(std::string reason) { return {Outcome::kFail, reason, {reason}}; }
Answer skip(std::string reason) { return {Outcome::kSkip, std::move(reason), {}}; }
Answer judged_by(std::vector<std::string> findings, std::string note) {
  if (findings.empty()) return pass(std::move(note));
  std::string more = findings.size() > 1 ? cat(" (and ", findings.size() - 1, " more)") : "";
  return {Outcome::kFail, findings[0] + more, std::move(findings)};
}

std::string sentence(const Status& status) {
  return status.help().empty() ? status.message() : cat(status.message(), "; ", status.help());
}

Kit::Kit(const Options& options) : options_(options) {}
Kit::~Kit() = default;

std::string Kit::options_json() const {
  Json json = Json::object();
  for (const auto& [id, values] : options_.options) {
    for (const auto& [name, value] : values) json[name] = value;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Result<ElfImage>& Kit::elf() {
  if (!elf_) elf_ = read_elf(options_.path);
  return *elf_;
}

const Result<PluginManifest>& Kit::manifest() {
  if (manifest_) return *manifest_;
  if (elf().ok()) manifest_ = read_manifest(elf()->file->bytes());
  else manifest_ = Result<PluginManifest>(elf().status());
  return *manifest_;
}

ChildResult Kit::in_child(const std::function<std::string()>& work) const {
  return run_in_child({options_.timeout_s, options_.progress}, work);
}

Answer Kit::judged_in_child(const std::function<std::vector<std::string>()>& work) const {
  ChildResult child = in_child([&] {
    std::string text;
    for (std::string& finding : work()) {
      std::replace(finding.begin(), finding.end(), '\n', ' ');
      text += finding + "\n";
    }
    return text;
  });
  if (!child.finished) return fail(child.defect);
  return judged_by(lines(child.result));
}

std::span<const Check> all_checks() {
  static const std::vector<Check>& all = *[] {
    auto* checks = new std::vector<Check>;
    for (auto rows : {static_checks(), load_checks(), table_checks(), capability_checks(),
                      correctness_checks()})
      checks->insert(checks->end(), rows.begin(), rows.end());
    return checks;
  }();
  return all;
}

std::span<const Group> all_groups() { return kGroups; }

Result<Outcomes> run_checks(const Options& options, std::span<const int> groups,
                            const std::function<void(const Finished&)>& finished) {
  catch_interrupts();
  Kit kit(options);
  BYOC_TRY_STATUS(check_option_ids(kit));
  Runner runner(kit);
  Outcomes out;
  for (const Check& check : all_checks()) {
    if (std::find(groups.begin(), groups.end(), check.group) == groups.end()) continue;
    const Finished& one = runner.finish(check);
    if (interrupted()) return Status(Code::kCancelled, "interrupted").with_slug("interrupted");
    finished(one);
    out.checks.push_back(one);
  }
  if (kit.manifest().ok()) out.id = kit.manifest()->id, out.version = kit.manifest()->version;
  if (std::find(groups.begin(), groups.end(), 5) != groups.end()) {
    out.ops = kit.sweep().ops;
    out.not_covered = ops_without_samples();
  }
  return out;
}

}  // namespace byoc::conform
