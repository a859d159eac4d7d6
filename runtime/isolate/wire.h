// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests to plugins and their answers as parts of messages. Each `put` has the `get` that reads
// what it wrote; a `get` leaves Reader::ok() false for bytes that no `put` writes.
#include <map>
#include <set>

#include "byoc/host/plugins.h"
#include "runtime/isolate/message.h"

namespace byoc::isolate {

/// The requests. The first number of a request is one of these.
enum class Request : uint64_t {
  kOpen = 1,
  kJudge,
  kLayouts,
  kCompat,
  kCompile,
  kShow,
  kKnobs,
  kPartition,
  kLoad,
  kRun,
  kRelease,
  kClose
};
/// The first number of a message for a request: kProgress any number of times, then kAnswer.
enum class Reply : uint64_t { kAnswer = 1, kProgress };

/// The facts about a plugin that its Plugin object has.
struct PluginFacts {
  std::string version;
  uint32_t abi_minor = 0, flags = 0;
  int64_t priority = 0;
  uint64_t max_ops = 0, max_bytes = 0;
  bool has_judge = false, has_partition = false;
  std::vector<PluginPattern> patterns;
};

/// The sender's view of the buffers that the receiver has: each content is sent once.
using SentKeys = std::set<ContentKey>;
/// The receiver's buffers.
using Buffers = std::map<ContentKey, std::shared_ptr<const Buffer>>;

void put(Writer& to, const Status& status);
Status get_status(Reader& from);
void put(Writer& to, const PluginFacts& facts);
PluginFacts get_facts(Reader& from);
void put(Writer& to, const Verdict& verdict);
Verdict get_verdict(Reader& from);
/// A machine or null. The machine that is read points into `levels`.
void put(Writer& to, const byoc_machine* machine);
bool get_machine(Reader& from, byoc_machine& machine, std::vector<byoc_machine_level>& levels);
/// A buffer or null: its key, and its bytes when `sent` does not have the key yet.
void put(Writer& to, const std::shared_ptr<const Buffer>& buffer, SentKeys& sent);
/// With `is_trusted` the key that comes with the bytes is theirs; else it is computed.
std::shared_ptr<const Buffer> get_buffer(Reader& from, Buffers& known, bool is_trusted);
void put(Writer& to, const CompileFunction& function, SentKeys& sent);
CompileFunction get_function(Reader& from, Buffers& known);
/// The options without `cancel`.
void put(Writer& to, const CompileOptions& options);
CompileOptions get_options(Reader& from);
void put(Writer& to, const ExternalModule& module, SentKeys& sent);
ExternalModule get_module(Reader& from, Buffers& known, bool is_trusted);
/// A kernel without `handle`.
void put(Writer& to, const LoadedModule::Kernel& kernel);
LoadedModule::Kernel get_kernel(Reader& from);

}  // namespace byoc::isolate
