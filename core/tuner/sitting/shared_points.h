// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of the store of observations that a sitting reads and adds to, so that it, `byoc place`
// and `byoc bench` use each other's times.
#include "core/measure/store/store_use.h"
#include "core/tuner/batch/record_facts.h"
#include "core/tuner/sitting/known_points.h"

namespace byoc::tune {

class SharedPoints {
 public:
  /// Reads the store of a folder; without a folder it stays empty. Errors: a plugin or the target
  /// is unknown.
  static Result<SharedPoints> open(const std::string& folder, const std::vector<Task>& tasks,
                                   const BuildOptions& build, const RecordFacts& facts);
  struct Shared {
    size_t task = 0;
    Record record;
  };
  /// Returns a record for each observation at a point that `known` lacks. Counts them in `use`.
  std::vector<Shared> missing_in(const KnownPoints& known);
  /// Adds a measurement of this machine to the file of the store. A failure becomes a remark.
  void add(size_t task, const Record& record);
  measure::StoreUse use;
  std::vector<std::string> remarks;

 private:
  SharedPoints(measure::Store store, const std::vector<Task>& tasks, RecordFacts facts)
      : store_(std::move(store)), tasks_(tasks), facts_(std::move(facts)) {}
  measure::Key key_of(size_t task) const;

  measure::Store store_;
  const std::vector<Task>& tasks_;
  RecordFacts facts_;
  measure::Scope scope_;
};

}  // namespace byoc::tune
