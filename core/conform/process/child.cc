#include "core/conform/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/base/status.h"

namespace byoc::conform {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPrinted = 4096;
constexpr std::chrono::milliseconds kStep{50};
constexpr char kEnd = '\x04';  // behind a whole result
volatile sig_atomic_t interrupt_seen = 0;
int result_pipe = -1;  // in a child

template <size_t n>
void set_text(char (&to)[n], std::string_view text) {
  size_t size = std::min(text.size(), n - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

/// Never returns. Handlers of this process do not count in the child, and it dies with its parent.
[[noreturn]] void be_child(int result, int printed, const std::function<std::string()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(fatal, SIG_DFL);
  signal(SIGINT, SIG_IGN);  // the parent ends it
  result_pipe = result;
  dup2(printed, STDOUT_FILENO);
  dup2(printed, STDERR_FILENO);
  std::string text = work() + kEnd;
  std::fflush(nullptr);
  write_all(result, text);
  _exit(0);
}

class Watch {
 public:
  Watch(pid_t pid, int result, int printed, const ChildLimits& limits)
      : pid_(pid), ends_{result, printed}, limits_(limits) {}

  ChildResult run() {
    last_step_ = Clock::now();
    while (open_[0] || open_[1]) {
      step();
      if (waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
      if (ended_) drain();
      if (ended_) break;  // a grandchild may hold the pipes open
    }
    while (!ended_ && waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    return finish();
  }

 private:
  void step() {
    pollfd polled[2] = {{open_[0] ? ends_[0] : -1, POLLIN, 0},
                        {open_[1] ? ends_[1] : -1, POLLIN, 0}};
    poll(polled, 2, kStep.count());
    for (int k = 0; k < 2; ++k) {
      if (polled[k].revents != 0) read_from(k);
    }
    count_silence();
    bool late = silence_ > std::chrono::seconds(limits_.timeout_s);
    if (late) timed_out_ = true;
    if (late || interrupted()) kill(pid_, SIGKILL);
    if (limits_.progress)
      limits_.progress(activity().what, activity().done.load(), activity().total.load());
  }

  /// Time in which this process was not running either, such as a machine asleep or both processes
  /// stopped, is not held against the child.
  void count_silence() {
    auto now = Clock::now();
    silence_ += std::min<Clock::duration>(now - last_step_, 2 * kStep);
    last_step_ = now;
    uint64_t beats = activity().beats.load();
    if (beats != beats_) silence_ = {};
    beats_ = beats;
  }

  void read_from(int k) {
    char buffer[4096];
    ssize_t n = read(ends_[k], buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      open_[k] = false;
      return;
    }
    size_t room = k == 0 ? SIZE_MAX : kMaxPrinted - std::min(kMaxPrinted, text_[1].size());
    text_[k].append(buffer, std::min(static_cast<size_t>(n), room));
  }

  /// What is in the pipes already; more will not come from the child.
  void drain() {
    for (int k = 0; k < 2; ++k) {
      fcntl(ends_[k], F_SETFL, O_NONBLOCK);
      for (size_t before = SIZE_MAX; open_[k] && before != text_[k].size();) {
        before = text_[k].size();
        read_from(k);
      }
    }
  }

  ChildResult finish() {
    ChildResult out;
    out.item = activity().item.load();
    out.what = activity().what;
    out.fault = activity().fault;
    out.printed = std::move(text_[1]);
    out.result = std::move(text_[0]);
    out.finished = !timed_out_ && out.result.ends_with(kEnd) && WIFEXITED(status_);
    if (out.finished) out.result.pop_back();
    else out.defect = cat(how_it_ended(), out.what.empty() ? "" : cat(" while ", out.what));
    return out;
  }

  std::string how_it_ended() const {
    if (interrupted()) return "interrupted";
    if (timed_out_) return cat("hung for ", limits_.timeout_s, " s");
    if (activity().fault[0] != '\0') return activity().fault;
    if (WIFSIGNALED(status_)) return cat("crashed (", strsignal(WTERMSIG(status_)), ")");
    return cat("ended the process (exit code ", WEXITSTATUS(status_), ")");
  }

  pid_t pid_;
  int ends_[2];
  const ChildLimits& limits_;
  bool open_[2] = {true, true}, timed_out_ = false, ended_ = false;
  std::string text_[2];
  uint64_t beats_ = 0;
  Clock::time_point last_step_;
  Clock::duration silence_{};  // since the last sign of life
  int status_ = 0;
};

}  // namespace

Activity& activity() {
  static Activity* page = [] {
    void* memory =
        mmap(nullptr, sizeof(Activity), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BYOC_CHECK(memory != MAP_FAILED, "no memory for one page");
    return new (memory) Activity{};
  }();
  return *page;
}

void doing(std::string_view what) {
  set_text(activity().what, what);
  activity().beats.fetch_add(1);
}

void progress_to(uint64_t item, uint64_t done, uint64_t total) {
  activity().item = item;
  activity().done = done;
  activity().total = total;
}

void tell(std::string_view line) { write_all(result_pipe, cat(line, "\n")); }

bool interrupted() { return interrupt_seen != 0; }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& work) {
  ChildResult failed;
  int result[2], printed[2];
  if (interrupted()) {
    failed.defect = "interrupted";
    return failed;
  }
  if (pipe2(result, O_CLOEXEC) != 0 || pipe2(printed, O_CLOEXEC) != 0) {
    failed.defect = cat("could not be started: pipe: ", std::strerror(errno));
    return failed;
  }
  activity().what[0] = activity().fault[0] = '\0';
  progress_to(0, 0, 0);
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid == 0) be_child(result[1], printed[1], work);
  close(result[1]);
  close(printed[1]);
  if (pid > 0) failed = Watch(pid, result[0], printed[0], limits).run();
  else failed.defect = cat("could not be started: fork: ", std::strerror(errno));
  close(result[0]);
  close(printed[0]);
  return failed;
}

}  // namespace byoc::conform
