// SPDX-License-Identifier: Apache-2.0
// Work in child processes: results, crashes and time limits.
#include "core/process/child.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace byoc::process {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

void sleep_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

TEST(Child, GivesItsResultAndWhatItPrints) {
  ChildResult child = run_in_child({}, [] {
    std::printf("on stdout\n");
    std::fprintf(stderr, "on stderr\n");
    send_line("a line");
    progress_to(7, 1, 2);
    return std::string("the rest");
  });
  EXPECT_TRUE(child.finished);
  EXPECT_TRUE(child.end.is_success());
  EXPECT_EQ(child.defect, "");
  EXPECT_EQ(child.result, "a line\nthe rest");
  EXPECT_THAT(child.printed, AllOf(HasSubstr("on stdout\n"), HasSubstr("on stderr\n")));
  EXPECT_EQ(child.item, 7u);
}

TEST(Child, SendsMoreThanAPipeHolds) {
  std::string text(size_t{3} << 20, 'x');
  ChildResult child = run_in_child({}, [&] { return text; });
  EXPECT_TRUE(child.finished);
  EXPECT_TRUE(child.result == text) << child.result.size();
}

TEST(Child, ThatIsSilentForTooLongIsEnded) {
  ChildResult child = run_in_child({.timeout_s = 1}, [] {
    doing("waiting");
    for (;;) ::pause();
    return std::string();
  });
  EXPECT_FALSE(child.finished);
  EXPECT_EQ(child.end.kind, End::kTimedOut);
  EXPECT_EQ(child.defect, "hung for 1 s while waiting");
}

TEST(Child, HasOtherLimitsInSomeActivities) {
  const ChildLimits limits{.timeout_s = 1, .timeouts_s = {{"compile, ", 60}}};
  ChildResult child = run_in_child(limits, [] {
    doing("compile, add");
    sleep_ms(1500);
    doing("run, add");
    for (;;) ::pause();
    return std::string();
  });
  EXPECT_EQ(child.defect, "hung for 1 s while run, add");
  EXPECT_EQ(child.limit_s, 1u);
}

TEST(Child, ThatClosesItsPipesIsStillEndedInTime) {
  ChildResult child = run_in_child({.timeout_s = 1}, [] {
    for (int fd = 1; fd < 64; ++fd) ::close(fd);
    for (;;) ::pause();
    return std::string();
  });
  EXPECT_EQ(child.end.kind, End::kTimedOut);
}

TEST(Child, HasItsFullTimeAgainAfterEachSignOfLife) {
  ChildResult child = run_in_child({.timeout_s = 1}, [] {
    for (int k = 0; k < 6; ++k) {
      doing(std::string(1, static_cast<char>('a' + k)));
      sleep_ms(400);
    }
    return std::string("done");
  });
  EXPECT_TRUE(child.finished) << child.defect;
  EXPECT_EQ(child.what, "f");
}

TEST(Child, ThatCrashesOrExitsIsReportedWithWhatItWasDoing) {
  ChildResult crashed = run_in_child({}, [] {
    send_line("first");
    doing("falling");
    ::raise(SIGSEGV);
    return std::string();
  });
  EXPECT_EQ(crashed.defect, "crashed (Segmentation fault) while falling");
  EXPECT_EQ(crashed.end.kind, End::kSignal);
  EXPECT_EQ(crashed.end.code, SIGSEGV);
  EXPECT_EQ(crashed.result, "first\n");
  ChildResult left = run_in_child({}, []() -> std::string { ::_exit(3); });
  EXPECT_EQ(left.defect, "ended the process (exit code 3)");
  EXPECT_EQ(left.end.code, 3);
}

// The clock goes on while no process runs, as when a machine sleeps or a shell stops a job.
TEST(Child, ThatWasStoppedWithItsParentHasItsWholeTimeLeft) {
  constexpr int kRunsMs = 400, kStoppedMs = 1500;
  pid_t parent = ::fork();
  if (parent == 0) {
    ::setpgid(0, 0);
    ChildResult child = run_in_child({.timeout_s = 1}, [] {
      for (int k = 0; k < 8; ++k) sleep_ms(kRunsMs / 8);
      return std::string("done");
    });
    ::_exit(child.finished && child.result == "done" ? 0 : 1);
  }
  ::setpgid(parent, parent);
  sleep_ms(kRunsMs / 2);
  ::kill(-parent, SIGSTOP);
  sleep_ms(kStoppedMs);
  ::kill(-parent, SIGCONT);
  int status = -1;
  ::waitpid(parent, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Children, GiveResultsInOrderWhateverEndsFirst) {
  auto results = run_in_children({.timeout_s = 1}, 4, 4, [](size_t k) -> std::string {
    if (k == 1) ::abort();
    if (k == 2) {
      for (;;) ::pause();
    }
    if (k == 0) sleep_ms(300);
    return std::string(1, static_cast<char>('a' + k));
  });
  EXPECT_THAT(results, ElementsAre(Field(&ChildResult::result, "a"),
                                   Field(&ChildResult::defect, "crashed (Aborted)"),
                                   Field(&ChildResult::defect, "hung for 1 s"),
                                   AllOf(Field(&ChildResult::result, "d"),
                                         Field(&ChildResult::finished, true))));
}

/// Counts the children that run at the same time, in memory that they share.
class Crowd {
 public:
  ~Crowd() { delete_activity(page_); }
  uint64_t enter() {
    uint64_t now = ++page_->item, most = page_->done;
    while (now > most && !page_->done.compare_exchange_weak(most, now)) {
    }
    return now;
  }
  void leave() { --page_->item; }
  uint64_t now() const { return page_->item; }
  uint64_t most() const { return page_->done; }

 private:
  Activity* page_ = new_activity();
};

TEST(Children, AreNoMoreThanTheJobsAtATime) {
  Crowd crowd;
  run_in_children({}, 6, 2, [&](size_t) {
    crowd.enter();
    sleep_ms(50);
    crowd.leave();
    return std::string();
  });
  EXPECT_LE(crowd.most(), 2u);
}

TEST(Children, RunAtTheSameTime) {
  Crowd crowd;
  auto results = run_in_children({.timeout_s = 60}, 4, 4, [&](size_t) {
    crowd.enter();
    while (crowd.now() < 4) sleep_ms(5);  // without end if the others waited for this one
    return std::string("met");
  });
  for (const ChildResult& result : results) EXPECT_EQ(result.result, "met") << result.defect;
}

}  // namespace
}  // namespace byoc::process
