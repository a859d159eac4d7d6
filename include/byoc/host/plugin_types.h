// SPDX-License-Identifier: Apache-2.0
#pragma once
// The requests to plugins and their answers, as the host has them: plain data.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "byoc/base/external.h"
#include "byoc/host/cancellation.h"

namespace byoc {

/// A pattern as the plugin declared it (byoc_pattern).
struct PluginPattern {
  std::string name, dag_json;  ///< the name; the pattern as JSON
  int32_t priority = 0;        ///< higher goes first among the plugin's patterns
  uint32_t flags = 0;          ///< reserved
};

/// The answer of a plugin about a candidate (byoc_verdict).
struct Verdict {
  /// The kinds of answers; kSlow is a yes with a remark.
  enum Accept : uint32_t { kNo = 0, kYes = 1, kSlow = 2 };
  Accept accept = kNo;  ///< the answer
  uint64_t est_ns = 0;  ///< time of a run on the machine that judge was given, ns; 0: not known
  std::string reason;   ///< present with kNo and kSlow
};

/// One function to compile: constants in the order of the graph's "constants".
struct CompileFunction {
  std::string symbol, graph_json;                      ///< the name; the graph as JSON
  std::vector<ExternalConstant> constants;             ///< in the order of the graph
  std::vector<std::shared_ptr<const Buffer>> buffers;  ///< the bytes of `constants`
  uint32_t n_in = 0, n_out = 0;                        ///< the numbers of inputs and outputs
  std::string point_json;                              ///< byoc_function.point; "": none
  bool gives_counted = false;                          ///< some output has a counted dim
};

/// A device of a plugin (byoc_device).
struct DeviceInfo {
  uint32_t type = 0, id = 0;  ///< DLPack's type of device; the plugin's number
  std::string name;           ///< for messages
  uint64_t kinds = 0;         ///< byoc_memory_kind
  uint64_t align = 64;        ///< bytes, of all its memory
  uint64_t bytes = 0;         ///< of its memory; 0: not known
  std::string capabilities;   ///< a JSON object, or empty
};

/// Options of compiling functions.
struct CompileOptions {
  std::string target_json = "{}";        ///< the machine; {}: this one
  uint32_t threads = 1;                  ///< workers of a run
  uint32_t flags = 0;                    ///< byoc_compile_flags
  const Cancellation* cancel = nullptr;  ///< null: cannot be cancelled
  uint32_t workers = 0;                  ///< of compile itself; 0: as many as `threads`
};

/// A layout a plugin computes in (byoc_layout).
struct WantedLayout {
  std::string op;     ///< "conv2d" or "matmul"
  int64_t block = 0;  ///< elements; a power of two up to 64
  friend bool operator==(const WantedLayout&, const WantedLayout&) = default;
};

/// Ops that a plugin compiles to one kernel (byoc_plugin::partition).
struct PluginGroup {
  std::string name;             ///< for messages; not empty
  std::vector<uint32_t> nodes;  ///< in the graph's "nodes": at least two, all different
};

/// The limits of one slot of a plugin that has a process of its own (docs/trust.md).
struct IsolationLimits {
  uint32_t seconds = 60;      ///< from the last progress that it reports; 0: no limit
  uint64_t memory_bytes = 0;  ///< that no file backs; 0: three quarters of the machine's memory
};
/// The plugins that have a process of their own.
struct Isolation {
  bool all = false;              ///< every plugin that is a file
  std::vector<std::string> ids;  ///< besides these
  IsolationLimits limits;        ///< of each of their slots
};

/// The places to search for plugins, and the plugins' options.
struct PluginSearch {
  std::vector<std::string> files;    ///< --plugin FILE, first in the order
  std::vector<std::string> folders;  ///< searched after the files
  std::map<std::string, std::map<std::string, std::string>> options;  ///< id -> name -> value
  /// Set: the only ids to open. Files with other ids have their manifest read, and none of their
  /// code runs.
  std::optional<std::set<std::string>> ids;
  Isolation isolation;  ///< the plugins whose code does not run in this process
};

/// The outcome of compiling a batch of functions.
struct CompileResult {
  Status status;                     ///< kDeclined: `function` goes elsewhere
  int64_t function = -1, node = -1;  ///< index where the status points, or -1
  ExternalModule module;             ///< flops and ops of functions are the caller's
  std::vector<std::shared_ptr<const Buffer>> packed;  ///< bytes of the packed constants
};

/// A plugin that was found and cannot be used.
struct RefusedPlugin {
  std::string path, id, version;  ///< id and version when they could be read
  std::string reason, help;       ///< the fault, and the next step for the user
};

/// A plugin that is opened when it is named, and not before: its manifest has a priority below 0.
struct UnopenedPlugin {
  std::string path, id, version;  ///< as in the manifest
  int64_t priority = 0;           ///< below 0
};

}  // namespace byoc
