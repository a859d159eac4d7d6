// SPDX-License-Identifier: Apache-2.0
// The index of records: an exact hit is one look-up. The other origins walk over the groups of one
// task, or over the records of all tasks of one kind.
#include "byoc/tune/history.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "byoc/te/target.h"
#include "byoc/tune/duels.h"

namespace byoc::tune {
namespace {

// A usable record, without its samples.
struct Entry {
  double best_ns = 0;
  std::string point_text;  // orders equal times
  Point point;
  std::string log;
};

bool is_before(const Entry& a, const Entry& b) {
  return std::tie(a.best_ns, a.point_text, a.log) < std::tie(b.best_ns, b.point_text, b.log);
}

// The records of one task on one target with one number of threads, best first.
struct Group {
  std::string plugin, kind, task, target;
  uint32_t threads = 1;
  double flops = 0, bytes = 0;
  std::vector<Entry> entries;
  Duels duels;
};

std::string group_key(const ContentKey& task, const std::string& target, uint32_t threads) {
  return cat(task, " ", threads, " ", target);
}
std::string kind_key(const std::string& plugin, const std::string& kind) {
  return cat(plugin, " ", kind);
}

struct KeyHash {
  size_t operator()(const ContentKey& key) const {
    size_t out = 0;
    std::memcpy(&out, key.bytes.data(), sizeof out);
    return out;
  }
};

// Returns the best record of the point; nullptr without one.
const Entry* entry_of(const Group& group, const Point& point) {
  auto at = std::ranges::find(group.entries, point, &Entry::point);
  return at == group.entries.end() ? nullptr : &*at;
}

// Returns the best record whose point is in the space, or that of the point that won against it.
const Entry* first_in(const Group& group, const Space& space) {
  auto at = std::ranges::find_if(group.entries,
                                 [&](const Entry& entry) { return contains(space, entry.point); });
  if (at == group.entries.end()) return nullptr;
  if (group.duels.winners_of(at->point).empty()) return &*at;
  return entry_of(group, group.duels.choose(at->point, [&](const Point& point) {
    return contains(space, point) && entry_of(group, point) != nullptr;
  }));
}

// Returns true when code for `made_for` runs on `here`.
bool is_runnable(const te::Target& made_for, const te::Target& here) {
  return made_for.arch == here.arch && made_for.vector_bits <= here.vector_bits &&
         std::ranges::all_of(made_for.features,
                             [&](const std::string& feature) { return here.has(feature); });
}

// Compares targets with the one of a query; parses each text once.
class Targets {
 public:
  explicit Targets(const std::string& here) : here_(here), parsed_(te::parse_target(here)) {}
  bool fits(const std::string& target) {
    if (target == here_) return true;
    auto [at, is_new] = known_.try_emplace(target, false);
    if (!is_new) return at->second;
    const Result<te::Target> other = te::parse_target(target);
    at->second = other.ok() && parsed_.ok() && is_runnable(*other, *parsed_);
    return at->second;
  }

 private:
  const std::string& here_;
  Result<te::Target> parsed_;
  std::map<std::string, bool> known_;
};

uint32_t distance(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }

// Returns true when neither amount is more than half as large again as the other. Points of tasks
// that differ by a factor of two were up to 1.4 times slower than the first guess.
bool is_near(double a, double b) { return a <= 1.5 * b && b <= 1.5 * a; }

bool is_near(const Space& space, const Group& group) {
  return is_near(space.flops, group.flops) && is_near(space.bytes, group.bytes);
}

// Returns true when both points have the same value of the knob, or both have none.
bool has_same_compute(const Point& a, const Point& b) {
  constexpr const char* kCompute = "compute";  // the knob's name in the plugin ABI
  auto of_a = a.find(kCompute), of_b = b.find(kCompute);
  if (of_a == a.end() || of_b == b.end()) return of_a == a.end() && of_b == b.end();
  return of_a->second == of_b->second;
}

// Returns the factor between the times of two tasks of one kind.
double work_ratio(const Space& space, const Group& group) {
  if (space.flops > 0 && group.flops > 0) return space.flops / group.flops;
  return space.bytes > 0 && group.bytes > 0 ? space.bytes / group.bytes : 1;
}

Choice chosen(Origin origin, const Entry& entry, double factor = 1) {
  return {origin, entry.point, entry.best_ns * factor, entry.log};
}

// Compares points with the first guess of a space in the tasks near to it that have times of both.
class Evidence {
 public:
  explicit Evidence(const Space& space) : space_(space), guess_(space.guesses[0]) {}
  // Cost: O(r log r) for the r records of the group.
  void add(const Group& group) {
    const Entry* guess = entry_of(group, guess_);
    if (guess == nullptr || !is_near(space_, group)) return;
    std::set<std::string_view> seen;  // entries are sorted: the first one of a point is its best
    for (const Entry& entry : group.entries) {
      if (!seen.insert(entry.point_text).second || entry.point == guess_) continue;
      const bool has_lost = !group.duels.winners_of(entry.point).empty();
      const double ratio = has_lost ? 1 : entry.best_ns / guess->best_ns;
      const Finding found{ratio, &entry, work_ratio(space_, group)};
      auto [at, is_new] = worst_.try_emplace(entry.point_text, found);
      if (!is_new && at->second.ratio < ratio) at->second = found;
    }
  }
  // Returns the point that was faster than the first guess wherever both were measured, by the
  // largest factor.
  Choice best() const {
    constexpr double kClearly = 0.95;  // smaller gains are often lost with another shape
    const Finding* best = nullptr;
    for (const auto& [text, found] : worst_) {
      if (found.ratio > kClearly || (best != nullptr && best->ratio <= found.ratio)) continue;
      if (!has_same_compute(found.entry->point, guess_)) continue;
      if (contains(space_, found.entry->point)) best = &found;
    }
    return best == nullptr ? Choice() : chosen(Origin::kTransfer, *best->entry, best->factor);
  }

 private:
  struct Finding {
    double ratio;  // of the time to that of the first guess
    const Entry* entry;
    double factor;  // from the time of that task to the time of this one
  };
  const Space& space_;
  const Point& guess_;
  std::map<std::string_view, Finding> worst_;  // by the text of the point
};

}  // namespace

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::kExact:
      return "exact";
    case Origin::kCompatible:
      return "compatible";
    case Origin::kTransfer:
      return "transfer";
    case Origin::kMiss:
      break;
  }
  return "miss";
}

struct History::Index {
  std::vector<Group> groups;  // in the order of their keys
  std::unordered_map<std::string, size_t> by_group;
  std::unordered_map<ContentKey, std::vector<size_t>, KeyHash> by_task;
  std::unordered_map<std::string, std::vector<size_t>> by_kind;
  size_t size = 0;
  HistoryOptions options;

  Choice exact(const Query& query, const ContentKey& key) const;
  Choice compatible(const Query& query, const ContentKey& key, Targets& targets) const;
  Choice transfer(const Query& query) const;
};

Choice History::Index::exact(const Query& query, const ContentKey& key) const {
  auto at = by_group.find(group_key(key, query.target, query.threads));
  if (at == by_group.end() || groups[at->second].task != query.space.task) return {};
  const Entry* entry = first_in(groups[at->second], query.space);
  return entry == nullptr ? Choice() : chosen(Origin::kExact, *entry);
}

// Prefers this target with other threads, the nearest number of them first.
Choice History::Index::compatible(const Query& query, const ContentKey& key,
                                  Targets& targets) const {
  auto at = by_task.find(key);
  if (at == by_task.end()) return {};
  const Entry* best = nullptr;
  std::pair<bool, uint32_t> best_rank;
  for (size_t k : at->second) {
    const Group& group = groups[k];
    if (group.task != query.space.task || !targets.fits(group.target)) continue;
    const Entry* entry = first_in(group, query.space);
    const std::pair rank(group.target != query.target, distance(group.threads, query.threads));
    if (entry == nullptr) continue;
    if (best != nullptr && (best_rank < rank || (best_rank == rank && !is_before(*entry, *best))))
      continue;
    best = entry, best_rank = rank;
  }
  return best == nullptr ? Choice() : chosen(Origin::kCompatible, *best);
}

// Computes with estimated costs, such as Winograd's, have plans that depend on the extents: points
// of other tasks are none for them.
Choice History::Index::transfer(const Query& query) const {
  auto at = by_kind.find(kind_key(query.plugin, query.space.kind));
  if (at == by_kind.end() || query.space.guesses.empty() || !query.space.cost_ns.empty()) return {};
  Evidence evidence(query.space);
  for (size_t k : at->second) {
    const Group& group = groups[k];
    if (group.task == query.space.task || group.target != query.target) continue;
    if (group.threads == query.threads) evidence.add(group);
  }
  return evidence.best();
}

namespace {

// Gathers records, then sorts them once. The result does not depend on the order of adding.
class Gathering {
 public:
  void add(Record record, const std::string& log) {
    if (!record.is_ok()) return;
    Group& group = groups_[group_key(record.key, record.target, record.threads)];
    Entry entry{record.best_ns(), print(record.point), std::move(record.point), log};
    const bool is_first = group.entries.empty();
    if (is_first) {
      group.plugin = record.plugin, group.task = record.task;
      group.target = record.target, group.threads = record.threads;
    }
    // Versions of a plugin may differ in these; the order of reading must not decide.
    if (is_first || std::tie(record.kind, record.flops, record.bytes) <
                        std::tie(group.kind, group.flops, group.bytes))
      group.kind = record.kind, group.flops = record.flops, group.bytes = record.bytes;
    if (!record.lost_to.empty()) group.duels.add(entry.point, record.lost_to);
    group.entries.push_back(std::move(entry));
  }
  template <class Index>
  void move_to(Index& index) {
    for (auto& [key, group] : groups_) {
      std::ranges::sort(group.entries, is_before);
      const size_t at = index.groups.size();
      index.by_group[key] = at;
      index.by_task[key_of(group.plugin, group.task)].push_back(at);
      index.by_kind[kind_key(group.plugin, group.kind)].push_back(at);
      index.size += group.entries.size();
      index.groups.push_back(std::move(group));
    }
  }

 private:
  std::map<std::string, Group> groups_;
};

std::string note_on(const std::string& path, const LogReport& report) {
  std::string what;
  if (report.other_versions > 0) what = cat(report.other_versions, " records of other versions");
  if (report.torn > 0) what += cat(what.empty() ? "" : " and ", "an incomplete last line");
  return cat(path, ": skipped ", what);
}

}  // namespace

History::History(std::unique_ptr<const Index> index) : index_(std::move(index)) {}
History::~History() = default;

Result<std::shared_ptr<const History>> History::load(std::span<const std::string> paths,
                                                     std::vector<std::string>* notes,
                                                     HistoryOptions options) {
  Gathering gathering;
  for (const std::string& path : paths) {
    BYOC_TRY(LogReport report,
             read_log(path, [&](Record record) { gathering.add(std::move(record), path); }));
    if (notes != nullptr && report.other_versions + report.torn > 0)
      notes->push_back(note_on(path, report));
  }
  auto index = std::make_unique<Index>();
  index->options = options;
  gathering.move_to(*index);
  return std::shared_ptr<const History>(new History(std::move(index)));
}

std::shared_ptr<const History> History::of(std::vector<Record> records, std::string name) {
  Gathering gathering;
  for (Record& record : records) {
    record.key = key_of(record.plugin, record.task);
    gathering.add(std::move(record), name);
  }
  auto index = std::make_unique<Index>();
  gathering.move_to(*index);
  return std::shared_ptr<const History>(new History(std::move(index)));
}

Choice History::find(const Query& query) const {
  const ContentKey key = key_of(query.plugin, query.space);
  Choice choice = index_->exact(query, key);
  if (choice.origin != Origin::kMiss) return choice;
  Targets targets(query.target);
  choice = index_->compatible(query, key, targets);
  if (choice.origin != Origin::kMiss || !index_->options.has_transfers) return choice;
  return index_->transfer(query);
}

size_t History::size() const { return index_->size; }

}  // namespace byoc::tune
