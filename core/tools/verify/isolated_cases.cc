// Cases in processes of their own. The parent starts no threads before it forks: plugins are only
// opened.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>

#include "byoc/base/json.h"
#include "core/tools/verify/onnx_case.h"

namespace byoc::driver {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kStepMs = 100;

std::string to_text(const CaseResult& result) {
  Json json = {{"verdict", static_cast<int>(result.verdict)},
               {"reason", result.reason},
               {"bound", result.bound}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// False when the child ended before it had written its result.
bool from_text(const std::string& text, CaseResult& result) {
  auto json = parse_json(text);
  if (!json.ok() || !json->contains("verdict")) return false;
  result.verdict = static_cast<CaseResult::Verdict>((*json)["verdict"].get<int>());
  result.reason = (*json)["reason"].get<std::string>();
  result.bound = (*json)["bound"].get<std::vector<std::string>>();
  return true;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

struct Child {
  size_t index = 0;  // of the case
  int pipe = -1;
  Clock::duration left{};  // of its time
  std::string text;
  bool timed_out = false;
};

class Isolation {
 public:
  Isolation(const std::vector<std::string>& folders, const BuildOptions& options,
            uint32_t timeout_s)
      : folders_(folders), options_(options), timeout_(timeout_s), results_(folders.size()) {}

  std::vector<CaseResult> run(uint32_t jobs) {
    while (next_ < folders_.size() || !children_.empty()) {
      while (next_ < folders_.size() && children_.size() < jobs) start(next_++);
      wait();
    }
    return std::move(results_);
  }

 private:
  void start(size_t index) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(index, cat("pipe: ", std::strerror(errno)));
    std::fflush(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
      signal(SIGABRT, SIG_DFL);  // so that the parent sees what happened
      write_all(ends[1], to_text(run_case(folders_[index], options_)));
      _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
      close(ends[0]);
      return fail(index, cat("fork: ", std::strerror(errno)));
    }
    children_[pid] = {index, ends[0], std::chrono::seconds(timeout_), "", false};
  }

  void fail(size_t index, std::string reason) {
    results_[index] = {CaseResult::kFailed, std::move(reason), {}};
  }

  /// Reads what children say until one of them has ended.
  void wait() {
    std::vector<pollfd> polled;
    std::vector<pid_t> pids;
    int wait_ms = kStepMs;
    for (auto& [pid, child] : children_) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(child.left).count();
      if (left <= 0 && !child.timed_out) {
        child.timed_out = true;
        kill(pid, SIGKILL);
      }
      wait_ms = std::clamp(static_cast<int>(left), 1, wait_ms);
      polled.push_back({child.pipe, POLLIN, 0});
      pids.push_back(pid);
    }
    auto before = Clock::now();
    poll(polled.data(), polled.size(), wait_ms);
    // Time in which this process was not running either, such as both stopped, is not held against
    // the children.
    auto passed =
        std::min<Clock::duration>(Clock::now() - before, std::chrono::milliseconds(2 * kStepMs));
    for (auto& [pid, child] : children_) child.left -= passed;
    for (size_t k = 0; k < polled.size(); ++k) {
      if (polled[k].revents != 0) read_from(pids[k]);
    }
  }

  void read_from(pid_t pid) {
    Child& child = children_.at(pid);
    char buffer[4096];
    ssize_t n = read(child.pipe, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) return;
    if (n > 0) return void(child.text.append(buffer, static_cast<size_t>(n)));
    close(child.pipe);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    finish(child, status);
    children_.erase(pid);
  }

  void finish(const Child& child, int status) {
    if (child.timed_out) return fail(child.index, cat("timed out after ", timeout_, " s"));
    if (WIFSIGNALED(status))
      return fail(child.index, cat("crashed: ", strsignal(WTERMSIG(status))));
    if (!from_text(child.text, results_[child.index])) fail(child.index, "ended without a result");
  }

  const std::vector<std::string>& folders_;
  const BuildOptions& options_;
  uint32_t timeout_;
  size_t next_ = 0;
  std::map<pid_t, Child> children_;
  std::vector<CaseResult> results_;
};

}  // namespace

std::vector<CaseResult> run_cases_isolated(const std::vector<std::string>& folders,
                                           const BuildOptions& options, uint32_t jobs,
                                           uint32_t timeout_s) {
  return Isolation(folders, options, timeout_s).run(std::max(jobs, 1u));
}

}  // namespace byoc::driver
