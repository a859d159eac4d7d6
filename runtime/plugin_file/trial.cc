// SPDX-License-Identifier: Apache-2.0
#include "runtime/plugin_file/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "byoc/base/file.h"
#include "byoc/base/status.h"

namespace byoc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostAtATime = 8;
constexpr int kMostTimesAsLong = 6;
constexpr std::chrono::milliseconds kWait{20};
// Begin the line of a work that has returned, and of one that memory was too short for.
constexpr char kEnd = '\x04', kNoMemory = '\x05';

void silence() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
}

/// Runs the work and ends this process, which is a child and is killed with its parent. Sends one
/// line per step. Handlers of the parent are reset, so that a signal ends the child.
[[noreturn]] void be_child(int to, const TrialWork& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGTERM})
    std::signal(number, SIG_DFL);
  std::set_new_handler(nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  silence();
  std::string last(1, kEnd);
  try {
    last += work([to](std::string_view step) { (void)write_all(to, cat(step, "\n")); });
  } catch (const std::bad_alloc&) {  // no fact about the subject
    last = kNoMemory;
  }
  ::_exit(write_all(to, last + "\n") ? 0 : 1);
}

/// Returns the time for which a process has waited for a processor; 0: Linux does not count it.
std::chrono::nanoseconds waited_by(pid_t pid) {
  auto text = read_file(cat("/proc/", pid, "/schedstat"));  // "ran waited times", in ns
  const size_t at = text.ok() ? text->find(' ') : std::string::npos;
  uint64_t ns = 0;
  if (at != std::string::npos)
    std::from_chars(text->data() + at + 1, text->data() + text->size(), ns);
  return std::chrono::nanoseconds(ns);
}

/// A trial from its fork to the end of its child.
class Running {
 public:
  explicit Running(size_t index) : index_(index) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { close_pipe(); }

  bool start(const TrialWork& work) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) be_child(ends[1], work);
    ::close(ends[1]);
    pipe_ = ends[0];
    ::fcntl(pipe_, F_SETFL, O_NONBLOCK);
    last_ = Clock::now();
    return pid_ > 0;
  }
  size_t index() const { return index_; }
  pollfd polled() const { return {pipe_, POLLIN, 0}; }

  /// Reads what has arrived, and kills a child that is late. Returns true once the child has ended.
  bool step() {
    receive();
    const auto now = Clock::now();
    silence_ += std::min<Clock::duration>(now - last_, 2 * kWait);  // not while all are stopped
    last_ = now;
    if (!is_late_ && is_late()) {
      is_late_ = true;
      ::kill(pid_, SIGKILL);
    }
    const pid_t ended = ::waitpid(pid_, &status_, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    is_status_known_ = ended == pid_;  // the program may have waited for all children itself
    receive();
    return true;
  }

  TrialResult result() const {
    const size_t at = text_.find(kEnd);
    if (at != std::string::npos && text_.ends_with('\n')) {
      std::string objection = text_.substr(at + 1, text_.size() - at - 2);
      if (objection.empty()) return {TrialResult::kSound, ""};
      return {TrialResult::kObjection, std::move(objection)};
    }
    if (text_.find(kNoMemory) != std::string::npos) return {TrialResult::kNotTried, ""};
    return {TrialResult::kUnsound, cat(how_it_ended(), last_step())};
  }

 private:
  /// On a busy machine the child may wait for a processor for longer than a sound plugin runs.
  bool is_late() const {
    constexpr std::chrono::seconds kLimit(kTrialSeconds);
    return silence_ > kLimit &&
           (silence_ - waited_by(pid_) > kLimit || silence_ > kMostTimesAsLong * kLimit);
  }
  void receive() {
    char buffer[512];
    while (pipe_ >= 0) {
      const ssize_t n = ::read(pipe_, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return close_pipe();
      if (text_.size() < 4096) text_.append(buffer, static_cast<size_t>(n));
    }
  }
  void close_pipe() {
    if (pipe_ >= 0) ::close(pipe_);
    pipe_ = -1;
  }
  std::string how_it_ended() const {
    if (is_late_) return cat("did not return within ", kTrialSeconds, " s");
    if (!is_status_known_) return "ended the process";
    if (WIFSIGNALED(status_)) return cat("crashed (", ::strsignal(WTERMSIG(status_)), ")");
    return cat("ended the process (exit code ", WEXITSTATUS(status_), ")");
  }
  /// Returns the last complete line with a space before it.
  std::string last_step() const {
    const size_t end = text_.rfind('\n');
    if (end == std::string::npos) return "";
    const size_t begin = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
    return cat(" ", text_.substr(begin + 1, end - begin - 1));
  }

  size_t index_;
  pid_t pid_ = -1;
  int pipe_ = -1, status_ = 0;
  bool is_late_ = false, is_status_known_ = false;
  Clock::time_point last_;
  Clock::duration silence_{};  // since the start
  std::string text_;
};

void wait_for_news(const std::vector<std::unique_ptr<Running>>& running) {
  std::vector<pollfd> polled;
  bool is_ending = false;  // a pipe is closed, the process ends in a moment
  for (const auto& trial : running) {
    polled.push_back(trial->polled());
    is_ending = is_ending || polled.back().fd < 0;
  }
  ::poll(polled.data(), polled.size(), is_ending ? 1 : static_cast<int>(kWait.count()));
}

}  // namespace

bool may_try() {
  auto text = read_file("/proc/self/stat");
  if (!text.ok()) return false;
  // after the name, which may hold spaces: state and 16 numbers, then the number of threads
  size_t at = text->rfind(')');
  for (int field = 0; field < 18 && at != std::string::npos; ++field) at = text->find(' ', at + 1);
  return at != std::string::npos && text->substr(at, 3) == " 1 ";
}

std::vector<TrialResult> try_in_children(std::span<const TrialWork> works) {
  std::vector<TrialResult> results(works.size());
  std::vector<std::unique_ptr<Running>> running;
  for (size_t next = 0; next < works.size() || !running.empty();) {
    for (; next < works.size() && running.size() < kMostAtATime; ++next) {
      auto trial = std::make_unique<Running>(next);
      if (trial->start(works[next])) running.push_back(std::move(trial));
    }
    wait_for_news(running);
    std::erase_if(running, [&](const std::unique_ptr<Running>& trial) {
      if (!trial->step()) return false;
      results[trial->index()] = trial->result();
      return true;
    });
  }
  return results;
}

}  // namespace byoc
