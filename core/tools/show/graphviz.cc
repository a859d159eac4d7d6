#include "core/tools/show/graphviz.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "byoc/base/file.h"
#include "core/ir/quote.h"

namespace byoc::driver {
namespace {

Status graphviz_error(std::string message) {
  return failed(std::move(message)).with_slug("graphviz");
}

/// A file in memory: the child reads or writes it without a pipe that could fill up.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("byoc", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  Status write_all(std::string_view text) const {
    while (!text.empty()) {
      ssize_t n = write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return system_error("cannot write", "a file in memory", errno);
      text.remove_prefix(static_cast<size_t>(n));
    }
    lseek(fd_, 0, SEEK_SET);
    return {};
  }
  Result<std::string> text() const { return read_file(cat("/proc/self/fd/", fd_)); }

 private:
  int fd_;
};

struct Ended {
  int status = 0;
  bool in_time = true;
};

/// Waits for the child; ends it when the limit is over.
Ended wait_for(pid_t pid, std::chrono::seconds limit) {
  Ended ended;
  auto handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd polled{handle, POLLIN, 0};
  auto deadline = std::chrono::steady_clock::now() + limit;
  for (int ready = 0; handle >= 0 && ready == 0;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      kill(pid, SIGKILL);
      ended.in_time = false;
      break;
    }
    ready = poll(&polled, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) ready = 0;
  }
  while (waitpid(pid, &ended.status, 0) < 0 && errno == EINTR) {
  }
  if (handle >= 0) close(handle);
  return ended;
}

Result<pid_t> start_dot(const MemoryFile& in, const MemoryFile& out, const MemoryFile& words) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, words.fd(), STDERR_FILENO);
  char name[] = "dot", format[] = "-Tsvg";
  char* argv[] = {name, format, nullptr};
  pid_t pid = 0;
  int error = posix_spawnp(&pid, name, &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return graphviz_error(cat("cannot run Graphviz's dot: ", std::strerror(error)))
      .with_help("install graphviz (on Debian: apt install graphviz); the table needs none of it");
}

}  // namespace

namespace {

// JSON's form is almost dot's: well-formed UTF-8, with quotes and backslashes escaped alike.
std::string escaped(std::string_view text, std::string_view backslash) {
  std::string json, out;
  print_json_string(json, text);
  for (size_t k = 0; k < json.size(); ++k) {
    if (json[k] == '&') {
      out += "&amp;";
    } else if (json[k] != '\\') {
      out += json[k];
    } else if (json[++k] == '\\') {
      out += backslash;
    } else if (json[k] != 'u') {
      out.append({'\\', json[k]});
    } else {  // \u000a, a control byte, or \ufffd
      std::string_view code = std::string_view(json).substr(k + 1, 4);
      out += code == "000a" ? "\\n" : code == "fffd" ? "\xef\xbf\xbd" : " ";
      k += 4;
    }
  }
  return out;
}

}  // namespace

std::string dot_string(std::string_view text) { return escaped(text, R"(\\)"); }
std::string dot_tooltip(std::string_view text) { return escaped(text, R"(\\\\)"); }

Result<std::string> dot_to_svg(std::string_view graph, std::chrono::seconds limit) {
  MemoryFile in, out, words;
  if (in.fd() < 0 || out.fd() < 0 || words.fd() < 0)
    return system_error("cannot make", "a file in memory", errno);
  BYOC_TRY_STATUS(in.write_all(graph));
  BYOC_TRY(pid_t pid, start_dot(in, out, words));
  Ended ended = wait_for(pid, limit);
  if (!ended.in_time) {
    return graphviz_error(cat("Graphviz's dot was ended after ", limit.count(), " s"))
        .with_help("fewer plugins make fewer regions; byoc partition MODEL -o - has it as text");
  }
  if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) return out.text();
  BYOC_TRY(std::string said, words.text());
  if (WIFSIGNALED(ended.status)) said = cat("signal ", strsignal(WTERMSIG(ended.status)));
  return graphviz_error(cat("Graphviz's dot failed: ", said.substr(0, said.find('\n'))));
}

}  // namespace byoc::driver
