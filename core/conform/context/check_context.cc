// SPDX-License-Identifier: Apache-2.0
#include "core/conform/context/check_context.h"

#include <algorithm>
#include <set>

#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "byoc/plugin/manifest.h"
#include "core/conform/context/ends.h"
#include "core/conform/context/load_facts.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/samples/samples.h"
#include "runtime/host/registered_plugins.h"

namespace byoc::conform {
namespace {

constexpr Group kGroups[] = {{1, "static"},      {2, "load"},  {3, "table"},  {4, "capability"},
                             {5, "correctness"}, {6, "knobs"}, {7, "groups"}, {8, "open"},
                             {9, "device"},      {10, "use"}};

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

std::optional<RegisteredPlugin> registered_as(std::string_view id) {
  for (RegisteredPlugin& plugin : registered_plugins()) {
    if (plugin.id == id) return plugin;
  }
  return std::nullopt;
}

/// Fills in the places of a command line, FILE and N, in the cure of a crash.
std::string with_places(std::string cure, const Options& options, int group) {
  const auto fill = [&](std::string_view place, const std::string& by) {
    if (const size_t at = cure.find(place); at != cure.npos) cure.replace(at, place.size(), by);
  };
  if (!options.path.empty()) fill("check-plugin FILE", cat("check-plugin ", options.path));
  fill("--group N", cat("--group ", group));
  return cure;
}

/// Runs checks, each once and after those that it needs.
class Runner {
 public:
  explicit Runner(CheckContext& context) : context_(context) {}

  /// Runs the checks that `check` needs, then `check`. The depth of the recursion is that of the
  /// needs in the tables.
  const Finished& finish(const Check& check) {
    if (auto known = finished_.find(check.name); known != finished_.end()) return known->second;
    Finished out{&check, {}, 0};
    for (std::string_view name : words(check.needs)) {
      if (is_done(finish(by_name(name)))) continue;
      if (out.answer.outcome == Outcome::kPass) out.answer = skip(cat("needs ", name));
    }
    const uint64_t begin_ns = now_ns();
    if (out.answer.outcome == Outcome::kPass) {
      out.answer = needs_a_file(check) ? skip("this process registered it: there is no file")
                                       : check.run(context_);
    }
    out.answer.cure = with_places(std::move(out.answer.cure), context_.options(), check.group);
    out.wall_ns = ns_since(begin_ns);
    return finished_.emplace(check.name, std::move(out)).first->second;
  }

  /// Returns a check that another one needed and that failed; null for others.
  const Finished* failed(const Check& check) const {
    auto known = finished_.find(check.name);
    const bool has_failed =
        known != finished_.end() && known->second.answer.outcome == Outcome::kFail;
    return has_failed ? &known->second : nullptr;
  }

 private:
  /// Returns true for a check of the file, when there is none.
  bool needs_a_file(const Check& check) const {
    const bool is_of_file = check.group == 1 || check.name == "dependencies";
    return is_of_file && !context_.options().registered.empty();
  }
  bool is_done(const Finished& one) const {
    return one.answer.outcome == Outcome::kPass || needs_a_file(*one.check);
  }
  static const Check& by_name(std::string_view name) {
    for (const Check& check : all_checks()) {
      if (check.name == name) return check;
    }
    BYOC_CHECK(false, "no check is called ", name);
  }
  CheckContext& context_;
  std::map<std::string_view, Finished> finished_;
};

/// Makes the samples that children of these groups use, once and not in each child.
void make_samples(Level level, std::span<const int> groups) {
  constexpr int kFirstWithSamples = 3;
  if (std::ranges::none_of(groups, [](int group) { return group >= kFirstWithSamples; })) return;
  for (const OpDef* op : ops_to_check()) {
    (void)kept_programs_of(*op, Level::kCore);
    (void)kept_programs_of(*op, level);
  }
}

Status check_option_ids(CheckContext& context) {
  for (const auto& [id, values] : context.options().options) {
    if (!context.manifest().ok() || context.manifest()->id == id) continue;
    return invalid(cat("--plugin-option is for \"", id, "\", the plugin is \"",
                       context.manifest()->id, "\""))
        .with_slug("usage");
  }
  return {};
}

}  // namespace

Answer pass(std::string note) { return {Outcome::kPass, std::move(note)}; }
Answer fail(std::string reason) { return {Outcome::kFail, reason, {reason}}; }
Answer unfinished(const process::ChildResult& child) {
  Answer out = fail(child.defect);
  out.cure = cure_of(child);
  return out;
}
Answer skip(std::string reason) { return {Outcome::kSkip, std::move(reason), {}}; }
Answer judged_by(std::vector<std::string> findings, std::string note) {
  if (findings.empty()) return pass(std::move(note));
  std::string more = findings.size() > 1 ? cat(" (and ", findings.size() - 1, " more)") : "";
  return {Outcome::kFail, findings[0] + more, std::move(findings)};
}

std::string sentence(const Status& status) {
  return status.help().empty() ? status.message() : cat(status.message(), "; ", status.help());
}

bool is_registered(std::string_view id) { return registered_as(id).has_value(); }

std::optional<byoc_plugin> CheckContext::registered_table() const {
  const auto plugin = registered_as(options_.registered);
  return plugin ? std::optional(plugin->table) : std::nullopt;
}

CheckContext::CheckContext(const Options& options) : options_(options) {}
CheckContext::~CheckContext() = default;

std::string CheckContext::options_json() const {
  Json json = Json::object();
  for (const auto& [id, values] : options_.options) {
    for (const auto& [name, value] : values) json[name] = value;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Result<ElfImage>& CheckContext::elf() {
  if (!elf_) elf_ = read_elf(options_.path);
  return *elf_;
}

const Result<PluginManifest>& CheckContext::manifest() {
  if (manifest_) return *manifest_;
  if (const auto plugin = registered_as(options_.registered))
    return manifest_.emplace(PluginManifest{plugin->id, plugin->version, BYOC_MANIFEST_ARCH});
  if (!elf().ok()) return manifest_.emplace(elf().status());
  Result<ByteSource> file = ByteSource::open(options_.path);
  return manifest_.emplace(file.ok() ? read_manifest(*file)
                                     : Result<PluginManifest>(std::move(file.status())));
}

process::ChildResult CheckContext::in_child(const std::function<std::string()>& work) const {
  return process::run_in_child(limits_of(options_), work);
}

Answer CheckContext::judged_in_child(const std::function<std::vector<std::string>()>& work) const {
  process::ChildResult child = in_child([&] {
    std::string text;
    for (std::string& finding : work()) {
      std::replace(finding.begin(), finding.end(), '\n', ' ');
      text += finding + "\n";
    }
    return text;
  });
  if (!child.finished) return unfinished(child);
  return judged_by(lines(child.result));
}

std::span<const Check> all_checks() {
  static const std::vector<Check>& all = *[] {
    auto* checks = new std::vector<Check>;
    for (auto rows :
         {static_checks(), load_checks(), table_checks(), capability_checks(), correctness_checks(),
          knob_checks(), group_checks(), open_checks(), device_checks(), use_checks()})
      checks->insert(checks->end(), rows.begin(), rows.end());
    return checks;
  }();
  return all;
}

std::span<const Group> all_groups() { return kGroups; }

Result<Outcomes> run_checks(const Options& options, std::span<const int> groups,
                            const std::function<void(const Finished&)>& finished) {
  process::catch_interrupts();
  CheckContext context(options);
  BYOC_TRY_STATUS(check_option_ids(context));
  make_samples(options.level, groups);
  Runner runner(context);
  Outcomes out;
  auto is_wanted = [&](const Check& check) {
    return std::find(groups.begin(), groups.end(), check.group) != groups.end();
  };
  for (const Check& check : all_checks()) {
    if (!is_wanted(check)) continue;
    const Finished& one = runner.finish(check);
    if (process::interrupted())
      return Status(Code::kCancelled, "interrupted").with_slug("interrupted");
    finished(one);
    out.checks.push_back(one);
  }
  for (const Check& check : all_checks()) {  // why others were skipped
    const Finished* needed = is_wanted(check) ? nullptr : runner.failed(check);
    if (needed == nullptr) continue;
    finished(*needed);
    out.checks.push_back(*needed);
  }
  if (context.manifest().ok())
    out.id = context.manifest()->id, out.version = context.manifest()->version;
  if (std::find(groups.begin(), groups.end(), 5) != groups.end()) {
    out.ops = context.sweep().ops;
    out.not_covered = ops_without_samples();
    for (const auto& [pattern, n] : context.sweep().ran) {
      if (n == 0) out.not_run.push_back(pattern);
    }
  }
  return out;
}

}  // namespace byoc::conform
