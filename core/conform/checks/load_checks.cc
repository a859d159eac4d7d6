// SPDX-License-Identifier: Apache-2.0
// Group 2: loading leaves the process as it was.
#include <dlfcn.h>

#include <chrono>
#include <map>
#include <thread>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "byoc/base/shared_library.h"
#include "byoc/host/plugins.h"
#include "core/conform/context/check_context.h"
#include "core/conform/context/ends.h"
#include "core/conform/context/load_facts.h"
#include "core/conform/process/needed.h"
#include "core/conform/process/process_state.h"
#include "runtime/host/host.h"
#include "runtime/host/plugin_loader.h"

namespace byoc::conform {
namespace {

constexpr const char *kThreads = "threads", *kEnvironment = "environment", *kFolder = "folder",
                     *kLocale = "locale", *kSignals = "signals", *kFloats = "floats";
constexpr const char* kUntilShutdown = "until shutdown";
constexpr double kMaxLoadSeconds = 2;
constexpr uint64_t kMaxLoadBytes = uint64_t{256} << 20;

Status open_and_close(const byoc_plugin& table, const std::string& id, const std::string& options) {
  byoc_instance* instance = nullptr;
  process::doing("open");
  BYOC_TRY_STATUS(call_plugin(
      id, "open", [&] { return table.open(host_table(), to_str(options), &instance); }));
  if (!instance) return {};  // group 3 reports it
  const byoc_pattern* const* patterns = nullptr;
  uint64_t n = 0;
  process::doing("patterns");
  (void)call_plugin(id, "patterns", [&] { return table.patterns(instance, &patterns, &n); });
  process::doing("close");
  table.close(instance);
  return {};
}

/// Loads the library, calls the entry, then open, patterns and close. Errors: loading or the entry
/// fails. Defects of the table are left to group 3; `table` is set when it has none.
Status load_and_open(const std::string& path, const std::string& id, const std::string& options,
                     std::optional<byoc_plugin>& table) {
  process::doing("loading the library");
  BYOC_TRY(SharedLibrary library, SharedLibrary::open(path));
  auto entry = reinterpret_cast<byoc_plugin_entry_fn>(library.symbol(BYOC_ENTRY_SYMBOL));
  library.keep();
  if (!entry) return invalid(cat("no entry symbol ", BYOC_ENTRY_SYMBOL));
  const byoc_plugin* raw = nullptr;
  process::doing("the entry");
  BYOC_TRY_STATUS(call_plugin(id, "the entry", [&] { return entry(host_table(), &raw); }));
  if (!check_table_header(raw).ok() || !check_table_slots(copy_table(*raw)).ok()) return {};
  table = copy_table(*raw);
  (void)open_and_close(*table, id, options);
  return {};
}

/// Returns what the plugin's threads do, when `shutdown` ends those that are left after close.
std::string threads_until_shutdown(const byoc_plugin& table, const std::string& id,
                                   const ProcessState& before, const ProcessState& after) {
  if (after.threads <= before.threads || !table.shutdown) return "";
  process::doing("shutdown");
  if (!call_plugin(id, "shutdown", [&] { return table.shutdown(); }).ok()) return "";
  constexpr int kWaits = 50;  // of 10 ms: a thread that was joined is in /proc a little longer
  for (int k = 0; k < kWaits; ++k) {
    if (read_process_state().threads <= before.threads)
      return cat(after.threads - before.threads, " of its threads run until shutdown");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "";
}

std::string probe(const CheckContext& context, const std::string& id) {
  std::string options = context.options_json();
  host_table();
  ProcessState before = read_process_state();
  const uint64_t begin_ns = now_ns();
  std::optional<byoc_plugin> table = context.registered_table();
  Status status = table ? open_and_close(*table, id, options)
                        : load_and_open(context.options().path, id, options, table);
  double wall_ns = ns_since(begin_ns);
  ProcessState after = read_process_state();
  std::map<std::string, std::string> changed = differences(before, after);
  if (const std::string note = table ? threads_until_shutdown(*table, id, before, after) : "";
      !note.empty()) {
    changed.erase(kThreads);
    changed[kUntilShutdown] = note;
  }
  Json json = {{"error", status.ok() ? "" : sentence(status)},
               {"wall_ns", wall_ns},
               {"memory", after.memory_bytes - std::min(after.memory_bytes, before.memory_bytes)},
               {"changed", changed}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Answer check_dependencies(CheckContext& context) {
  const ElfImage& elf = *context.elf();
  return context.judged_in_child([&] {
    enter_folder_of(context.options().path);
    std::vector<std::string> findings;
    for (const std::string& needed : elf.needed) {
      process::doing(cat("loading ", needed));
      if (open_needed(needed)) continue;
      const char* words = dlerror();
      findings.push_back(cat("needs ", needed, ", which cannot be loaded: ", words ? words : ""));
    }
    return findings;
  });
}

Answer check_opens(CheckContext& context) {
  const LoadFacts& facts = context.load_facts();
  if (!facts.defect.empty()) {
    Answer answer = fail(facts.defect);
    answer.cure = facts.cure;
    return answer;
  }
  return facts.error.empty() ? pass() : fail(facts.error);
}

Answer check_quiet(CheckContext& context) {
  const std::string& printed = context.load_facts().printed;
  if (printed.empty()) return pass();
  std::string line = printed.substr(0, std::min<size_t>(printed.find('\n'), 120));
  return fail(cat("prints \"", line, "\"; use the host's log"));
}

template <const char* const& kAspect>
Answer check_unchanged(CheckContext& context) {
  const auto& changed = context.load_facts().changed;
  auto found = changed.find(kAspect);
  return found == changed.end() ? pass() : fail(found->second);
}

Answer check_threads(CheckContext& context) {
  const auto& changed = context.load_facts().changed;
  auto found = changed.find(kUntilShutdown);
  if (found == changed.end()) return check_unchanged<kThreads>(context);
  return pass(cat("warning: ", found->second, ", although no instance is open; end them in close"));
}

Answer check_cost(CheckContext& context) {
  const LoadFacts& facts = context.load_facts();
  std::string cost =
      cat(static_cast<uint64_t>(facts.wall_ns / 1e6), " ms, ", facts.memory_bytes >> 20, " MiB");
  std::string broken;  // a load that needs too much memory is often slow as well: report both
  if (facts.wall_ns > kMaxLoadSeconds * 1e9) broken += cat("; at most ", kMaxLoadSeconds, " s");
  if (facts.memory_bytes > kMaxLoadBytes) broken += cat("; at most ", kMaxLoadBytes >> 20, " MiB");
  return broken.empty() ? pass(cost) : fail(cat("takes ", cost, " to load", broken));
}

const Check kLoadChecks[] = {
    {2, "dependencies", "the libraries that it needs can be loaded", "elf", check_dependencies,
     "install the library, or put it in the folder of the plugin"},
    {2, "opens", "it can be loaded, and its entry succeeds",
     "file manifest abi dependencies imports", check_opens,
     "return an error from the entry or from open with a message, and do not crash there"},
    {2, "quiet", "loading, opening and closing print nothing", "opens", check_quiet,
     "print through the host's log, which BYOC_LOG controls"},
    {2, kThreads, "no thread is left running", "opens", check_threads,
     "use the host's parallel_for; end own threads in close"},
    {2, kEnvironment, "the environment variables stay as they were", "opens",
     check_unchanged<kEnvironment>, "pass settings as plugin options, and call no setenv"},
    {2, kFolder, "the current folder stays as it was", "opens", check_unchanged<kFolder>,
     "use absolute paths, and call no chdir"},
    {2, kLocale, "the locale stays as it was", "opens", check_unchanged<kLocale>,
     "call no setlocale; std::from_chars and std::to_chars need none"},
    {2, kSignals, "signal handlers and the mask stay as they were", "opens",
     check_unchanged<kSignals>, "install no handlers; return errors instead"},
    {2, kFloats, "rounding and denormals stay as they were", "opens", check_unchanged<kFloats>,
     "restore the mode: fegetenv before the code that changes it, fesetenv after it"},
    {2, "cost", "loading takes at most 2 s and 256 MiB", "opens", check_cost,
     "move work from loading to the first compile, and load large data on demand"},
};

}  // namespace

const LoadFacts& CheckContext::load_facts() {
  if (load_facts_) return *load_facts_;
  load_facts_ = std::make_unique<LoadFacts>();
  LoadFacts& facts = *load_facts_;
  std::string id = manifest().ok() ? manifest()->id : "plugin";
  process::ChildResult child = in_child([&] { return probe(*this, id); });
  facts.defect = child.defect;
  if (!child.finished) facts.cure = cure_of(child);
  facts.printed = child.printed;
  auto json = parse_json(child.result);
  if (!child.finished || !json.ok()) return facts;
  facts.error = (*json)["error"].get<std::string>();
  facts.wall_ns = (*json)["wall_ns"].get<double>();
  facts.memory_bytes = (*json)["memory"].get<uint64_t>();
  for (const auto& [aspect, text] : (*json)["changed"].items())
    facts.changed[aspect] = text.get<std::string>();
  return facts;
}

std::span<const Check> load_checks() { return kLoadChecks; }

}  // namespace byoc::conform
