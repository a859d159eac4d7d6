// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the best known point of a task: apply_history_best.
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "byoc/tune/record.h"

namespace byoc::tune {

/// The reason for a choice, in the order in which they are tried.
enum class Origin : uint8_t {
  kExact,  ///< the same task, target and threads
  /// The same task with other threads, or on another target whose features this machine has.
  kCompatible,
  /// Tasks of the same kind, with at most half as much work again or less, were faster at this
  /// point than at the plugin's first guess for this task.
  kTransfer,
  kMiss  ///< no record: the plugin's own choice
};
std::string_view name_of(Origin origin);  ///< "exact", "compatible", "transfer", "miss"

/// The answer for one function.
struct Choice {
  Origin origin = Origin::kMiss;
  Point point;         ///< empty for a miss
  double best_ns = 0;  ///< of the record; scaled by the flops of both tasks for a transfer
  std::string log;     ///< the name of the log that has the record
};

/// The request for one function.
struct Query {
  const std::string& plugin;
  const Space& space;
  const std::string& target;  ///< as Record::target
  uint32_t threads = 1;
};

/// The use of a history.
struct HistoryOptions {
  /// Records of a task serve similar tasks of the same kind too, see Origin::kTransfer. Without,
  /// only tasks that were measured get a point.
  bool has_transfers = true;
};

/// An immutable index of logs. Thread-safe.
class History {
 public:
  /// Reads logs; their order has no effect. Errors: those of read_log. `notes` gets one sentence
  /// per log with lines that were skipped.
  static Result<std::shared_ptr<const History>> load(std::span<const std::string> paths,
                                                     std::vector<std::string>* notes = nullptr,
                                                     HistoryOptions options = {});
  /// Makes an index of records in memory, as if they were a log called `name`.
  static std::shared_ptr<const History> of(std::vector<Record> records,
                                           std::string name = "memory");
  ~History();
  /// Returns the best choice: the point with the smallest time, unless it lost a duel (duels.h).
  /// Expected cost: O(1) for an exact hit and for a miss without records of the same kind, else
  /// O(r log r) for the r records of that kind. A record whose point is outside of the space is not
  /// used. A transferred point was at least 5 % faster than the first guess in all near tasks that
  /// have times of both, on this target with as many threads, and has the same compute. There are
  /// no transfers into spaces with estimated costs.
  Choice find(const Query& query) const;
  size_t size() const;  ///< usable records

 private:
  struct Index;
  explicit History(std::unique_ptr<const Index> index);  ///< Owns the index.
  std::unique_ptr<const Index> index_;
};

/// Collects the choices of one compilation. Thread-safe.
class HistoryReport {
 public:
  /// One function that had a space.
  struct Entry {
    std::string symbol, plugin, kind;
    Choice choice;
    double weight = 0;      ///< estimated ns of all its calls
    std::string note = {};  ///< the reason why the plugin refused a record's point; may be empty
    std::string task = {}, point = {};  ///< Space::task, and print(Point) of what was compiled
  };
  /// Adds an entry, or replaces that of the same symbol and plugin: a command may compile twice.
  void add(Entry entry);
  std::vector<Entry> entries() const;  ///< in the order of the first compilation
  /// Returns "12 hits (94.1 % of the weight), 3 misses (5.9 % of the weight)". Hits are exact and
  /// compatible ones. Transfers and misses are left out when there are none.
  std::string summary() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::map<std::pair<std::string, std::string>, size_t> index_;  // by plugin and symbol
};

/// A scope in which compilations of this thread use a history. Scopes nest: the inner one is tried
/// first, and a task that it lacks goes to the outer one. BuildOptions::history comes after all
/// scopes. A transfer is used when none of them has the task. Destroy in reverse order of creation,
/// on the same thread.
class ApplyHistoryBest {
 public:
  explicit ApplyHistoryBest(std::shared_ptr<const History> history);
  ~ApplyHistoryBest();
  ApplyHistoryBest(const ApplyHistoryBest&) = delete;
  ApplyHistoryBest& operator=(const ApplyHistoryBest&) = delete;
  /// Returns the histories of this thread's scopes, innermost first.
  static std::vector<std::shared_ptr<const History>> active();
};

}  // namespace byoc::tune
