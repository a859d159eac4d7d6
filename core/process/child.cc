// SPDX-License-Identifier: Apache-2.0
#include "core/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "byoc/base/file.h"

namespace byoc::process {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<std::string(size_t)>;

constexpr size_t kMaxPrinted = 4096;
constexpr std::chrono::milliseconds kStep{50};
constexpr char kEnd = '\x04';  // ends a complete result
volatile sig_atomic_t interrupt_seen = 0;
int result_pipe = -1;  // only in a child

/// Runs the work and ends this process, which is a child. Signal handlers of the parent are reset,
/// so that the parent sees the signal that ended the child. The child is killed with its parent.
[[noreturn]] void be_child(int result, int printed, const Work& work, size_t index) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(fatal, SIG_DFL);
  signal(SIGINT, SIG_IGN);  // the parent ends it
  result_pipe = result;
  if (printed >= 0) {
    dup2(printed, STDOUT_FILENO);
    dup2(printed, STDERR_FILENO);
  }
  std::string text = work(index) + kEnd;
  std::fflush(nullptr);
  _exit(write_all(result, text) ? 0 : 1);
}

/// A pipe from a child. This process reads it without waiting.
struct Pipe {
  int read = -1, write = -1;
  size_t most = SIZE_MAX;  // bytes that are kept
  std::string text = {};

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0], write = ends[1];
    fcntl(read, F_SETFL, O_NONBLOCK);
    return true;
  }
  static void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  void close_read() { close_end(read); }
  void close_write() { close_end(write); }
  /// Reads once, without waiting. Returns false when there was nothing to read.
  bool receive() {
    if (read < 0) return false;
    char buffer[4096];
    ssize_t n = ::read(read, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) return true;
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) close_read();  // a closed pipe polls as readable for ever
    else text.append(buffer, std::min(static_cast<size_t>(n), most - text.size()));
    return n > 0;
  }
};

/// A child process from its fork to its end, in the parent.
class RunningChild {
 public:
  RunningChild(size_t index, const ChildLimits& limits) : index_(index), limits_(limits) {}
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;
  ~RunningChild() {
    delete_activity(activity_);
    for (Pipe& pipe : pipes_) pipe.close_read();
  }

  /// Forks the child. Returns false when that fails; the result has the reason.
  bool start(const Work& work) {
    if (interrupted()) {
      result_.end = {End::kInterrupted, 0};
      result_.defect = "interrupted";
      return false;
    }
    const char* failed = nullptr;
    if (activity_ = new_activity(); activity_ == nullptr) failed = "mmap";
    else if (!pipes_[0].open() || (limits_.captures_output && !pipes_[1].open())) failed = "pipe";
    else if (pid_ = fork_child(work); pid_ < 0) failed = "fork";
    if (failed) {
      result_.end = {End::kNotStarted, errno};
      result_.defect = cat("could not be started: ", failed, ": ", std::strerror(errno));
    }
    for (Pipe& pipe : pipes_) pipe.close_write();
    if (!failed) handle_ = EndHandle(pid_);
    last_step_ = Clock::now();
    return failed == nullptr;
  }

  void add_to(std::vector<pollfd>& polled) const {
    for (int fd : {pipes_[0].read, pipes_[1].read, handle_.fd()}) polled.push_back({fd, POLLIN, 0});
  }

  /// Reads the bytes that have arrived, and ends the child when its time is over. Returns true once
  /// the child has ended, even if a process that it started still holds the pipes open.
  bool step() {
    for (Pipe& pipe : pipes_) (void)pipe.receive();
    count_silence();
    const uint32_t limit_s = limits_.timeout_of(activity_->what);
    bool is_late = silence_ > std::chrono::seconds(limit_s);
    if (is_late) timed_out_ = true;
    if (is_late || interrupted()) kill(pid_, SIGKILL);
    if (limits_.progress)
      limits_.progress(activity_->what, activity_->done.load(), activity_->total.load());
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    for (Pipe& pipe : pipes_) {
      while (pipe.receive()) {
      }
    }
    finish(status);
    return true;
  }

  size_t index() const { return index_; }
  ChildResult take_result() { return std::move(result_); }

 private:
  pid_t fork_child(const Work& work) {
    std::fflush(nullptr);
    pid_t pid = fork();
    if (pid != 0) return pid;
    use_activity(activity_);
    be_child(pipes_[0].write, pipes_[1].write, work, index_);
  }

  void count_silence() {
    auto now = Clock::now();
    silence_ += std::min<Clock::duration>(now - last_step_, 2 * kStep);
    last_step_ = now;
    uint64_t beats = activity_->beats.load();
    if (beats != beats_) silence_ = {};
    beats_ = beats;
  }

  void finish(int status) {
    result_.item = activity_->item.load();
    result_.what = activity_->what;
    result_.limit_s = limits_.timeout_of(result_.what);
    result_.fault = activity_->fault;
    result_.result = std::move(pipes_[0].text);
    result_.printed = std::move(pipes_[1].text);
    result_.finished = !timed_out_ && WIFEXITED(status) && result_.result.ends_with(kEnd);
    result_.end = end_of(status);
    if (result_.finished) return result_.result.pop_back();
    if (timed_out_) result_.end = {End::kTimedOut, 0};
    if (interrupted()) result_.end = {End::kInterrupted, 0};
    result_.defect = cat(defect(), result_.what.empty() ? "" : " while ", result_.what);
  }

  std::string defect() const {
    if (result_.end.kind == End::kInterrupted) return "interrupted";
    if (result_.end.kind == End::kTimedOut) return cat("hung for ", result_.limit_s, " s");
    if (!result_.fault.empty()) return result_.fault;
    if (result_.end.kind == End::kSignal) return cat("crashed (", strsignal(result_.end.code), ")");
    return cat("ended the process (exit code ", result_.end.code, ")");
  }

  size_t index_;
  const ChildLimits& limits_;
  pid_t pid_ = -1;
  Activity* activity_ = nullptr;
  Pipe pipes_[2] = {{}, {.most = kMaxPrinted}};  // of the result, and of what the child prints
  EndHandle handle_;
  uint64_t beats_ = 0;
  Clock::time_point last_step_;
  Clock::duration silence_{};  // since the last change of the child's Activity
  bool timed_out_ = false;
  ChildResult result_;
};

using Running = std::vector<std::unique_ptr<RunningChild>>;

/// Waits until a child sends something or ends, at most for one step.
void wait_for_news(const Running& running) {
  std::vector<pollfd> polled;
  for (const auto& child : running) child->add_to(polled);
  poll(polled.data(), polled.size(), kStep.count());
}

}  // namespace

uint32_t ChildLimits::timeout_of(std::string_view what) const {
  for (const auto& [begin, limit_s] : timeouts_s) {
    if (what.starts_with(begin)) return limit_s;
  }
  return timeout_s;
}

std::vector<ChildResult> run_in_children(const ChildLimits& limits, size_t count, uint32_t jobs,
                                         const Work& work) {
  std::vector<ChildResult> results(count);
  Running running;
  for (size_t next = 0; next < count || !running.empty();) {
    for (; next < count && running.size() < std::max(jobs, 1u); ++next) {
      auto child = std::make_unique<RunningChild>(next, limits);
      if (child->start(work)) running.push_back(std::move(child));
      else results[next] = child->take_result();
    }
    wait_for_news(running);
    std::erase_if(running, [&](const std::unique_ptr<RunningChild>& child) {
      if (!child->step()) return false;
      results[child->index()] = child->take_result();
      return true;
    });
  }
  return results;
}

ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& work) {
  return std::move(run_in_children(limits, 1, 1, [&](size_t) { return work(); })[0]);
}

void send_line(std::string_view line) { (void)write_all(result_pipe, cat(line, "\n")); }

bool interrupted() { return interrupt_seen != 0; }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace byoc::process
