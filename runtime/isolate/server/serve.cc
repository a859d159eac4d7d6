// SPDX-License-Identifier: Apache-2.0
// The process of an isolated plugin: reads requests, calls the plugin, sends the answers.
#include "runtime/isolate/server/serve.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "byoc/base/memory.h"
#include "byoc/base/version.h"
#include "runtime/host/host.h"
#include "runtime/host/plugin_collector.h"
#include "runtime/host/plugin_loader.h"
#include "runtime/host/threads.h"
#include "runtime/isolate/channel.h"
#include "runtime/isolate/server/call.h"
#include "runtime/isolate/wire.h"

namespace byoc::isolate {
namespace {

/// Ends this process when the other one has ended, also while a slot does not return.
void end_with_the_other() {
  std::thread([] {
    pollfd polled{STDIN_FILENO, POLLRDHUP, 0};
    while (::poll(&polled, 1, -1) <= 0 || (polled.revents & (POLLRDHUP | POLLHUP)) == 0) {
    }
    ::_exit(1);
  }).detach();
}

/// The memory that files do not back. The sanitizers reserve more than any machine has.
void limit_memory(uint64_t bytes) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
#ifndef BYOC_IS_SANITIZED
  rlimit limit{};
  if (bytes == 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

PluginFacts facts_of(const Plugin& plugin, uint32_t abi_minor) {
  PluginFacts facts;
  facts.version = plugin.version();
  facts.abi_minor = abi_minor;
  facts.flags = plugin.flags();
  facts.priority = plugin.priority();
  facts.max_ops = plugin.max_ops();
  facts.max_bytes = plugin.max_bytes();
  facts.has_judge = plugin.has_judge();
  facts.has_partition = plugin.has_partition();
  facts.patterns = plugin.patterns();
  return facts;
}

class Server {
 public:
  explicit Server(Channel channel) : channel_(std::move(channel)) {
    cancel_.set_progress([this](uint32_t permille, std::string_view what) {
      Writer to;
      to.number(static_cast<uint64_t>(Reply::kProgress));
      to.number(permille);
      to.text(what);
      (void)channel_.send(to);
    });
  }

  int serve() {
    for (;;) {
      Result<Message> message = channel_.receive();
      if (!message.ok()) return 1;
      Reader from(*std::move(message));
      const auto request = static_cast<Request>(from.number());
      const bool is_last = request == Request::kClose;
      Writer answer;
      answer_.clear();
      Status status = is_last ? close() : handle(request, from);
      answer.number(static_cast<uint64_t>(Reply::kAnswer));
      isolate::put(answer, status);
      for (auto& part : answer_) part(answer);
      if (!channel_.send(answer).ok()) return 1;
      release();
      if (is_last) return 0;
    }
  }

 private:
  /// Writes a part of the answer after the status of the request.
  template <class F>
  Status reply(F&& write) {
    answer_.push_back(std::forward<F>(write));
    return {};
  }

  Status handle(Request request, Reader& from) {
    if (request == Request::kOpen) return open(from);
    if (!plugin_) return invalid("no plugin is open");
    switch (request) {
      case Request::kJudge:
        return judge(from);
      case Request::kLayouts:
        return layouts(from);
      case Request::kCompat:
        return compat(from);
      case Request::kCompile:
        return compile(from);
      case Request::kShow:
        return show(from);
      case Request::kKnobs:
        return knobs(from);
      case Request::kPartition:
        return partition(from);
      case Request::kLoad:
        return load(from);
      case Request::kRun:
        return run(from);
      case Request::kRelease:
        modules_.erase(from.number());
        return {};
      case Request::kOpen:
      case Request::kClose:
        break;
    }
    return invalid("no such request");
  }

  Status open(Reader& from) {
    const std::string theirs = from.text();
    if (theirs != version()) {
      return failed(cat("the byoc-run that isolates plugins has version ", version(),
                        ", this program ", theirs))
          .with_slug("isolation")
          .with_help("install both of one version");
    }
    PluginFile file{.path = from.text()};
    file.options_json = from.text();
    limit_memory(from.number());
    BYOC_TRY(file.manifest, inspect_plugin(file.path, file.manifest));
    BYOC_TRY(const byoc_plugin table, load_plugin_table(file.path, file.manifest));
    if (table.device != nullptr)
      return unimplemented("it has devices, whose memory belongs to one process")
          .with_help("leave it out of --isolate and BYOC_ISOLATE");
    BYOC_TRY(plugin_, file.open());
    return reply([this, minor = table.abi_minor](Writer& to) {
      isolate::put(to, facts_of(*plugin_, minor));
    });
  }

  Status close() {
    modules_.clear();
    plugin_.reset();
    shutdown_plugins();
    return {};
  }

  Status judge(Reader& from) {
    const auto pattern = static_cast<uint32_t>(from.number());
    const std::string_view json = from.view();
    byoc_machine machine{};
    std::vector<byoc_machine_level> levels;
    const bool has_machine = get_machine(from, machine, levels);
    BYOC_TRY(Verdict verdict, plugin_->judge(pattern, json, has_machine ? &machine : nullptr));
    return reply([verdict = std::move(verdict)](Writer& to) { isolate::put(to, verdict); });
  }

  Status layouts(Reader& from) {
    BYOC_TRY(std::vector<WantedLayout> layouts, plugin_->layouts(from.text()));
    return reply([layouts = std::move(layouts)](Writer& to) {
      to.number(layouts.size());
      for (const WantedLayout& layout : layouts) {
        to.text(layout.op);
        to.number(static_cast<uint64_t>(layout.block));
      }
    });
  }

  Status compat(Reader& from) {
    BYOC_TRY(const uint32_t level, plugin_->compat(from.text()));
    return reply([level](Writer& to) { to.number(level); });
  }

  Status compile(Reader& from) {
    CompileOptions options = get_options(from);
    options.cancel = &cancel_;
    std::vector<CompileFunction> functions;
    for (size_t n = from.count(); n > 0; --n) functions.push_back(get_function(from, known_));
    if (!from.ok()) return data_loss("the request is no message");
    auto result = std::make_shared<CompileResult>(plugin_->compile(functions, options));
    return reply([this, result](Writer& to) {
      isolate::put(to, result->status);
      to.number(static_cast<uint64_t>(result->function));
      to.number(static_cast<uint64_t>(result->node));
      if (!result->status.ok()) return;
      SentKeys sent;
      isolate::put(to, result->module, sent);
      to.number(result->packed.size());
      for (const auto& buffer : result->packed) isolate::put(to, buffer, sent);
      keep(result->module.blob);
      for (const auto& buffer : result->packed) keep(buffer);
    });
  }

  Status show(Reader& from) {
    const CompileFunction function = get_function(from, known_);
    CompileOptions options = get_options(from);
    options.cancel = &cancel_;
    const std::string form = from.text();
    BYOC_TRY(std::string text, plugin_->show(function, options, form));
    return reply([text = std::move(text)](Writer& to) { to.text(text); });
  }

  Status knobs(Reader& from) {
    const CompileFunction function = get_function(from, known_);
    CompileOptions options = get_options(from);
    options.cancel = &cancel_;
    BYOC_TRY(std::string text, plugin_->knobs(function, options));
    return reply([text = std::move(text)](Writer& to) { to.text(text); });
  }

  Status partition(Reader& from) {
    const CompileFunction function = get_function(from, known_);
    CompileOptions options = get_options(from);
    options.cancel = &cancel_;
    BYOC_TRY(std::vector<PluginGroup> groups, plugin_->partition(function, from.number(), options));
    return reply([groups = std::move(groups)](Writer& to) {
      to.number(groups.size());
      for (const PluginGroup& group : groups) {
        to.text(group.name);
        to.number(group.nodes.size());
        for (uint32_t node : group.nodes) to.number(node);
      }
    });
  }

  Status load(Reader& from) {
    ExternalModule module = get_module(from, known_, true);
    std::vector<std::shared_ptr<const Buffer>> constants;
    for (size_t n = from.count(); n > 0; --n) constants.push_back(get_buffer(from, known_, true));
    const auto threads = static_cast<uint32_t>(from.number());
    const bool allow_native = from.number() != 0;
    if (!from.ok()) return data_loss("the request is no message");
    ThreadScope scope(threads);
    BYOC_TRY(LoadedModule loaded,
             plugin_->load(module, constants, threads, &cancel_, allow_native));
    const uint64_t number = ++last_module_;
    Served& served = modules_[number];
    served.threads = threads;
    served.loaded = std::move(loaded);
    return reply([number, &served](Writer& to) {
      to.number(number);
      to.number(served.loaded.kernels().size());
      for (const auto& kernel : served.loaded.kernels()) isolate::put(to, kernel);
    });
  }

  Status run(Reader& from) {
    const auto found = modules_.find(from.number());
    const uint64_t function = from.number();
    if (found == modules_.end() || function >= found->second.loaded.kernels().size())
      return data_loss("the request is no message");
    const Served& served = found->second;
    auto call = std::make_shared<ServedCall>();
    BYOC_TRY_STATUS(call->read(from, served.loaded.kernels()[function]));
    {
      ThreadScope scope(served.threads);
      BYOC_TRY_STATUS(call_plugin(plugin_->id(), "run", [&] {
        return served.loaded.table()->run(served.loaded.kernel(function), &call->raw());
      }));
    }
    return reply([call](Writer& to) { call->write_outputs(to); });
  }

  void keep(const std::shared_ptr<const Buffer>& buffer) {
    if (buffer) known_.emplace(buffer->key(), buffer);
  }
  void release() { answer_.clear(); }

  struct Served {
    LoadedModule loaded;
    uint32_t threads = 1;
  };
  Channel channel_;
  Cancellation cancel_;  // never cancelled: an interruption ends the process
  std::unique_ptr<Plugin> plugin_;
  Buffers known_;
  std::map<uint64_t, Served> modules_;
  uint64_t last_module_ = 0;
  std::vector<std::function<void(Writer&)>> answer_;
};

}  // namespace

int serve_plugin() {
  end_with_the_other();
  return Server(Channel(STDIN_FILENO)).serve();
}

}  // namespace byoc::isolate
