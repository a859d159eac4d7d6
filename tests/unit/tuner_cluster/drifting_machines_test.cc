// SPDX-License-Identifier: Apache-2.0
// Machines whose speed changes: the workers are threads with the drifts that a test chooses.
#include <sys/stat.h>

#include <set>
#include <thread>

#include "byoc/base/file.h"
#include "core/tuner/slurm/cluster_bench.h"
#include "core/tuner/slurm/exchange.h"
#include "unit/tuner_measure/knobby.h"

namespace byoc::tune {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// Measures each point in no time, with the drift of the reference loop that a test chooses.
class Scripted {
 public:
  Scripted(const test::Knobby& knobby, const RecordFacts& facts, std::string folder)
      : task_(knobby.tasks()[0]), facts_(facts), folder_(std::move(folder)) {}
  Scheduler scheduler() {
    return {[this](size_t first, size_t count, const std::vector<std::string>& excluded) {
              excluded_ = excluded;
              if (is_full && first > 0) return failed("no machine is left");
              for (size_t k = first; k < first + count; ++k)
                threads_.emplace_back([this, k](std::stop_token stop) { work(k, stop); });
              return Status();
            },
            [this] {
              std::map<size_t, std::string> out;
              for (size_t k = 0; k < threads_.size(); ++k)
                if (!threads_[k].get_stop_token().stop_requested()) out[k] = "RUNNING";
              return Result<std::map<size_t, std::string>>(out);
            },
            [this](size_t number) { threads_[number].request_stop(); }};
  }
  const std::vector<std::string>& excluded() const { return excluded_; }
  std::set<size_t> unsteady;  // workers whose batches drift
  bool is_full = false;       // no machine is left for those that are left out

 private:
  void work(size_t number, const std::stop_token& stop) {
    WorkerState state{.beat = 1,
                      .host = cat("host", number),
                      .machine = facts_.machine,
                      .target = facts_.target,
                      .versions = facts_.versions,
                      .ref_ns = 300};
    auto show = [&] { (void)write_file(folder_.state(number), print(state)); };
    show();
    auto log = LogWriter::open(folder_.records(number));
    for (size_t n = 1; !stop.stop_requested();) {
      std::this_thread::sleep_for(5ms);
      auto text = read_file(folder_.batch(number, n));
      if (!text.ok()) continue;
      const Batch batch = *parse_batch(*text);
      for (const Batch::Item& item : batch.items) {
        Record record = record_of(task_, item.point, facts_);
        record.samples_ns = {1000};
        (void)log->append(record);
      }
      state.done = n++;
      state.drift = unsteady.contains(number) ? 0.05 : 0.01;
      ++state.beat;
      show();
    }
  }
  const Task& task_;
  RecordFacts facts_;
  ExchangeFolder folder_;
  std::vector<std::string> excluded_;
  std::deque<std::jthread> threads_;
};

class DriftingMachines : public testing::Test {
 protected:
  DriftingMachines()
      : path_(files_.file("exchange")), facts_(*RecordFacts::of(knobby_.tasks(), knobby_.build())) {
    mkdir(path_.c_str(), 0700);
    options_.state_interval = 100ms;
    scripted_.emplace(knobby_, facts_, path_);
  }
  /// Measures 192 points, and returns the remarks.
  std::vector<std::string> remarks() {
    std::vector<Trial> trials;
    for (int k = 0; k < 16 * 12; ++k) trials.push_back({0, test::point("right", cat(k))});
    auto bench = cluster_bench(knobby_.tasks(), knobby_.build(), knobby_.options(), options_, path_,
                               facts_, scripted_->scheduler());
    if (!bench.ok()) return {bench.status().to_string()};
    std::set<Point> points;
    const auto end = std::chrono::steady_clock::now() + 60s;
    const Status measured = bench->measure(
        trials, [&] { return std::chrono::steady_clock::now() < end; },
        [&](const Outcome& one) {
          for (const Record& record : one.records) points.insert(record.point);
        });
    EXPECT_TRUE(measured.ok()) << measured.to_string();
    EXPECT_EQ(points.size(), trials.size());
    return bench->remarks();
  }
  test::Knobby knobby_{"right", "1"};
  test::TempFolder files_;
  std::string path_;
  SlurmOptions options_;
  RecordFacts facts_;
  std::optional<Scripted> scripted_;
};

TEST_F(DriftingMachines, AreLeftOut) {
  scripted_->unsteady = {1};
  const std::vector<std::string> all = remarks();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0], HasSubstr("worker 1 on host1: it is left out: its reference"));
  EXPECT_EQ(scripted_->excluded(), std::vector<std::string>{"host1"});
}

TEST_F(DriftingMachines, AreLeftOutWhenNoOtherReplacesThem) {
  scripted_->unsteady = {1};
  scripted_->is_full = true;
  const std::vector<std::string> all = remarks();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1], "no machine is left");
}

TEST_F(DriftingMachines, StayWhenTheirDriftIsAllowed) {
  scripted_->unsteady = {1};
  options_.most_drift = 0.06;
  EXPECT_THAT(remarks(), testing::IsEmpty());
}

TEST_F(DriftingMachines, StayWhenThereIsNoOther) {
  scripted_->unsteady = {0};
  options_.workers = 1;
  EXPECT_THAT(remarks(), testing::IsEmpty());
}

}  // namespace
}  // namespace byoc::tune
