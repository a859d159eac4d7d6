// SPDX-License-Identifier: Apache-2.0
// The scopes of a thread, and the report of one compilation.
#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/tune/history.h"

namespace byoc::tune {
namespace {

using Histories = std::vector<std::shared_ptr<const History>>;

Histories& scopes() {
  thread_local Histories all;  // outermost first
  return all;
}

struct Share {
  size_t count = 0;
  double weight = 0;
};

std::string share_text(const Share& share, double total, std::string_view one,
                       std::string_view many) {
  const double percent = total > 0 ? 100 * share.weight / total : 0;
  const double rounded = std::round(percent * 10) / 10;
  std::string digits = cat(rounded);
  if (digits.find('.') == digits.npos) digits += ".0";
  return cat(share.count, " ", share.count == 1 ? one : many, " (", digits, " % of the weight)");
}

}  // namespace

ApplyHistoryBest::ApplyHistoryBest(std::shared_ptr<const History> history) {
  BYOC_CHECK(history != nullptr, "a scope without a history");
  scopes().push_back(std::move(history));
}

ApplyHistoryBest::~ApplyHistoryBest() { scopes().pop_back(); }

Histories ApplyHistoryBest::active() { return {scopes().rbegin(), scopes().rend()}; }

void HistoryReport::add(Entry entry) {
  std::lock_guard lock(mutex_);
  auto [at, is_new] = index_.try_emplace({entry.plugin, entry.symbol}, entries_.size());
  if (is_new) entries_.push_back(std::move(entry));
  else entries_[at->second] = std::move(entry);
}

std::vector<HistoryReport::Entry> HistoryReport::entries() const {
  std::lock_guard lock(mutex_);
  return entries_;
}

std::string HistoryReport::summary() const {
  Share hits, transfers, misses;
  double total = 0;
  for (const Entry& entry : entries()) {
    const Origin origin = entry.choice.origin;
    Share& share = origin == Origin::kMiss       ? misses
                   : origin == Origin::kTransfer ? transfers
                                                 : hits;
    ++share.count;
    share.weight += entry.weight;
    total += entry.weight;
  }
  if (total == 0) return "no function has a choice";
  std::string out = share_text(hits, total, "hit", "hits");
  if (transfers.count > 0) out += cat(", ", share_text(transfers, total, "transfer", "transfers"));
  if (misses.count > 0) out += cat(", ", share_text(misses, total, "miss", "misses"));
  return out;
}

}  // namespace byoc::tune
