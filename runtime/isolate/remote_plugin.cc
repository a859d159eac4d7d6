// SPDX-License-Identifier: Apache-2.0
#include "runtime/isolate/remote_plugin.h"

#include <unistd.h>

#include <algorithm>

#include "byoc/base/version.h"

namespace byoc::isolate {
namespace {

// A slot that does not return costs its time limit each time, a crash only a start.
constexpr uint32_t kMostFaults = 8, kFaultsOfHang = 4;

IsolationLimits with_memory(IsolationLimits limits) {
  if (limits.memory_bytes == 0) {
    limits.memory_bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 4 * 3;
  }
  return limits;
}

Status no_answer(const std::string& id) {
  return Status(Code::kAborted, cat(id, ": its process sent bytes that are no answer"))
      .with_slug(kCrashSlug);
}

bool is_fault(const Status& status) {
  const std::string& slug = status.slug();
  return slug == kCrashSlug || slug == kHangSlug || slug == kMemorySlug;
}

void begin(Writer& to, Request request) { to.number(static_cast<uint64_t>(request)); }

std::string of_functions(std::string_view slot, std::span<const CompileFunction> functions) {
  if (functions.size() == 1) return cat(slot, " of @", functions[0].symbol);
  return cat(slot, " of ", functions.size(), " functions");
}

}  // namespace

Result<std::unique_ptr<RemotePlugin>> RemotePlugin::start(Start start) {
  start.limits = with_memory(start.limits);
  auto out = std::unique_ptr<RemotePlugin>(new RemotePlugin(std::move(start)));
  BYOC_TRY_STATUS(out->open());
  return out;
}

RemotePlugin::~RemotePlugin() {
  if (process_) process_->close();
}

/// Starts the process, which opens the plugin.
Status RemotePlugin::open() {
  BYOC_TRY(process_, PluginProcess::start(start_.id, start_.limits));
  ++generation_;
  sent_.clear();
  Writer request;
  begin(request, Request::kOpen);
  request.text(version());
  request.text(start_.path);
  request.text(start_.options_json);
  request.number(start_.limits.memory_bytes);
  Result<Reader> answer = process_->call(request, "open or patterns", {});
  Status status = answer.ok() ? get_status(*answer) : answer.status();
  if (status.ok()) {
    facts_ = get_facts(*answer);
    if (!answer->ok()) status = no_answer(start_.id);
  }
  if (!status.ok()) process_.reset();
  return status;
}

/// Counts an end of the process.
Status RemotePlugin::note_fault(Status status) {
  process_.reset();
  if (!is_fault(status)) return status;
  faults_ += status.slug() == kHangSlug ? kFaultsOfHang : 1;
  if (faults_ >= kMostFaults)
    status = Status(status.code(), status.message() + "; it is not called any more")
                 .with_slug(status.slug())
                 .with_help(status.help());
  last_fault_ = status;
  return status;
}

/// Prints the error of a slot whose answer can be left out. Returns only an interruption.
Status RemotePlugin::leave_out(const Status& status) const {
  if (status.code() == Code::kCancelled || status.code() == Code::kDeclined) return status;
  warn(status);
  return {};
}

/// Prints an error that does not reach the caller as one. Messages begin with the plugin's id.
void RemotePlugin::warn(const Status& status) const {
  std::string_view text = status.message();
  const std::string prefix = start_.id + ": ";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  start_.services.warn(start_.id, text);
}

Result<Reader> RemotePlugin::request(const Writer& request, std::string_view slot,
                                     const Watch& watch) {
  Result<Reader> answer = process_->call(request, slot, watch);
  Status status = answer.ok() ? get_status(*answer) : answer.status();
  if (!answer.ok()) return note_fault(std::move(status));
  if (!answer->ok()) return note_fault(no_answer(start_.id));
  BYOC_TRY_STATUS(std::move(status));
  return answer;
}

Result<Reader> RemotePlugin::request_with(std::string_view slot, const Watch& watch,
                                          const std::function<void(Writer&)>& write) {
  std::lock_guard lock(mutex_);
  if (faults_ >= kMostFaults) return last_fault_;
  if (process_ && !process_->is_own()) process_.reset();
  if (!process_) {
    if (Status opened = open(); !opened.ok()) return note_fault(std::move(opened));
  }
  Writer to;
  write(to);
  return request(to, slot, watch);
}

Result<Verdict> RemotePlugin::judge(uint32_t pattern, std::string_view candidate_json,
                                    std::string_view called_for, const byoc_machine* machine) {
  Result<Reader> answer = request_with(cat("judge of ", called_for), {}, [&](Writer& to) {
    begin(to, Request::kJudge);
    to.number(pattern);
    to.text(candidate_json);
    put(to, machine);
  });
  if (is_fault(answer.status())) warn(answer.status());
  BYOC_TRY_STATUS(answer.status());
  Verdict verdict = get_verdict(*answer);
  if (!answer->ok()) return no_answer(start_.id);
  return verdict;
}

Result<std::vector<WantedLayout>> RemotePlugin::layouts(const std::string& target_json) {
  std::vector<WantedLayout> out;
  Result<Reader> answer = request_with("layouts", {}, [&](Writer& to) {
    begin(to, Request::kLayouts);
    to.text(target_json);
  });
  if (!answer.ok()) {
    BYOC_TRY_STATUS(leave_out(answer.status()));
    return out;
  }
  for (size_t n = answer->count(); n > 0; --n) {
    WantedLayout layout;
    layout.op = answer->text();
    layout.block = static_cast<int64_t>(answer->number());
    out.push_back(std::move(layout));
  }
  return out;
}

Result<uint32_t> RemotePlugin::compat(const std::string& compat) {
  BYOC_TRY(Reader answer, request_with("compat", {}, [&](Writer& to) {
             begin(to, Request::kCompat);
             to.text(compat);
           }));
  return static_cast<uint32_t>(answer.number());
}

Result<std::string> RemotePlugin::show(const CompileFunction& function,
                                       const CompileOptions& options, std::string_view form,
                                       const Watch& watch) {
  BYOC_TRY(Reader answer, request_with(cat("show of @", function.symbol), watch, [&](Writer& to) {
             begin(to, Request::kShow);
             put(to, function, sent_);
             put(to, options);
             to.text(form);
           }));
  return answer.text();
}

Result<std::string> RemotePlugin::knobs(const CompileFunction& function,
                                        const CompileOptions& options, const Watch& watch) {
  Result<Reader> answer = request_with(cat("knobs of @", function.symbol), watch, [&](Writer& to) {
    begin(to, Request::kKnobs);
    put(to, function, sent_);
    put(to, options);
  });
  if (answer.ok()) return answer->text();
  BYOC_TRY_STATUS(leave_out(answer.status()));
  return std::string();
}

Result<std::vector<PluginGroup>> RemotePlugin::partition(const CompileFunction& function,
                                                         uint64_t n_nodes,
                                                         const CompileOptions& options,
                                                         const Watch& watch) {
  std::vector<PluginGroup> out;
  Result<Reader> answer =
      request_with(cat("partition of @", function.symbol), watch, [&](Writer& to) {
        begin(to, Request::kPartition);
        put(to, function, sent_);
        put(to, options);
        to.number(n_nodes);
      });
  if (!answer.ok()) {
    BYOC_TRY_STATUS(leave_out(answer.status()));
    return out;
  }
  for (size_t n = answer->count(); n > 0; --n) {
    PluginGroup group;
    group.name = answer->text();
    for (size_t k = answer->count(); k > 0; --k) {
      group.nodes.push_back(static_cast<uint32_t>(answer->number()));
      if (group.nodes.back() >= n_nodes) answer->fail();
    }
    out.push_back(std::move(group));
  }
  if (!answer->ok()) return no_answer(start_.id);
  return out;
}

CompileResult RemotePlugin::try_compile(std::span<const CompileFunction> functions,
                                        const CompileOptions& options, const Watch& watch) {
  CompileResult result;
  Result<Reader> answer = request_with(of_functions("compile", functions), watch, [&](Writer& to) {
    begin(to, Request::kCompile);
    put(to, options);
    to.number(functions.size());
    for (const CompileFunction& function : functions) put(to, function, sent_);
  });
  result.status = answer.status();
  if (!answer.ok()) return result;
  // the outcome of compile itself is a part of the answer, because it has indices
  result.status = get_status(*answer);
  result.function = static_cast<int64_t>(answer->number());
  result.node = static_cast<int64_t>(answer->number());
  if (!result.status.ok()) return result;
  Buffers buffers;
  result.module = get_module(*answer, buffers, false);
  for (size_t n = answer->count(); n > 0; --n)
    result.packed.push_back(get_buffer(*answer, buffers, false));
  const bool fits = answer->ok() && result.module.functions.size() == functions.size() &&
                    std::ranges::count(result.packed, nullptr) == 0;
  if (!fits) result.status = note_fault(no_answer(start_.id));
  else
    for (const auto& [key, buffer] : buffers) sent_.insert(key);
  return result;
}

/// Loads what was compiled, in the process, so that a plugin that cannot is declined while others
/// can still compile its functions.
Status RemotePlugin::try_load(const CompileResult& result,
                              std::span<const CompileFunction> functions,
                              const CompileOptions& options, const Watch& watch) {
  constexpr uint64_t kNative = BYOC_MODULE_NATIVE;
  if ((options.flags & BYOC_COMPILE_ONLY) != 0 || (result.module.flags & kNative) != 0) return {};
  std::vector<std::shared_ptr<const Buffer>> constants;
  std::set<ContentKey> seen;
  for (size_t f = 0; f < functions.size(); ++f) {
    for (size_t k = 0; k < functions[f].constants.size(); ++k) {
      if (seen.insert(functions[f].constants[k].key).second)
        constants.push_back(functions[f].buffers[k]);
    }
  }
  for (const auto& [name, contents] : result.module.packed) {
    const auto found = std::ranges::find(result.packed, contents,
                                         [](const auto& buffer) { return buffer->key(); });
    if (found != result.packed.end()) constants.push_back(*found);
  }
  BYOC_TRY(Loaded loaded, load(result.module, constants, options.threads, true, watch));
  loaded.table->release(loaded.module);
  return {};
}

CompileResult RemotePlugin::compile(std::span<const CompileFunction> functions,
                                    const CompileOptions& options, const Watch& watch) {
  std::lock_guard lock(mutex_);
  CompileResult result = try_compile(functions, options, watch);
  if (result.status.ok()) result.status = try_load(result, functions, options, watch);
  const Code code = result.status.code();
  const bool is_point_refused = code == Code::kInvalidArgument && result.function >= 0 &&
                                !functions[static_cast<size_t>(result.function)].point_json.empty();
  if (code == Code::kOk || code == Code::kCancelled || code == Code::kDeclined || is_point_refused)
    return result;
  // The whole batch failed: the first function that fails without the others is the one.
  if (result.function < 0 && functions.size() == 1) result.function = 0;
  for (size_t k = 0; result.function < 0 && k < functions.size(); ++k) {
    const CompileResult alone = compile(functions.subspan(k, 1), options, watch);
    if (alone.status.ok()) continue;
    if (alone.status.code() == Code::kCancelled) return alone;
    result.function = static_cast<int64_t>(k);
    result.status = alone.status;
  }
  if (result.function < 0) result.function = 0;  // only together: they are tried without the first
  result.node = -1;
  warn(result.status);
  result.status = Status(Code::kDeclined, result.status.message()).with_slug(result.status.slug());
  return result;
}

}  // namespace byoc::isolate
