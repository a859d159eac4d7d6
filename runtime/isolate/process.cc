// SPDX-License-Identifier: Apache-2.0
#include "runtime/isolate/process.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "byoc/base/file.h"
#include "runtime/isolate/wire.h"

namespace byoc::isolate {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kStep{50};
// Reading the memory of a process takes some 100 us; its own limit refuses what it allocates.
constexpr uint32_t kStepsPerLook = 5;
constexpr std::chrono::seconds kLongestClose{5};
constexpr const char* kProgram = "byoc-run";

/// Returns the program that runs plugins: beside this program, or in the folder `bin` beside that
/// of the library with this code, or a name to search on PATH.
std::string program() {
  std::error_code error;
  Dl_info info{};
  std::vector<fs::path> folders = {fs::read_symlink("/proc/self/exe", error).parent_path()};
  if (::dladdr(reinterpret_cast<void*>(&program), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path folder = fs::path(info.dli_fname).parent_path();
    folders.insert(folders.end(), {folder, folder.parent_path() / "bin"});
  }
  for (const fs::path& folder : folders) {
    const fs::path file = folder / kProgram;
    if (::access(file.c_str(), X_OK) == 0) return file.string();
  }
  return kProgram;
}

/// Starts the program with `socket` as its standard input. Returns 0 or an errno.
int spawn(const std::string& path, int socket, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, fatal;
  sigemptyset(&none);
  sigemptyset(&fatal);
  for (int number : {SIGINT, SIGTERM, SIGABRT, SIGALRM, SIGXFSZ}) sigaddset(&fatal, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &fatal);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string words[] = {path, kServeFlag};
  char* argv[] = {words[0].data(), words[1].data(), nullptr};
  const int error = ::posix_spawnp(&pid, path.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Status not_started(const std::string& what, int error) {
  return system_error("cannot start", what, error)
      .with_slug("isolation")
      .with_help(
          "plugins are isolated in processes of byoc-run: install it beside this program, "
          "or in a folder of PATH");
}

/// Returns the memory of a process that no file backs, resident now; 0 when it cannot be read.
uint64_t anonymous_bytes(pid_t pid) {
  const auto text = read_file(cat("/proc/", pid, "/status"), 1 << 16);
  if (!text.ok()) return 0;
  size_t at = text->find("RssAnon:");
  if (at == std::string::npos) return 0;
  at = text->find_first_of("0123456789", at);
  uint64_t kib = 0;
  if (at != std::string::npos) std::from_chars(text->data() + at, text->data() + text->size(), kib);
  return kib << 10;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? cat("SIG", name) : cat("signal ", number);
}

std::string mib(uint64_t bytes) { return cat(bytes >> 20, " MiB"); }

Status in_slot(const std::string& id, std::string_view slot, const char* slug,
               const std::string& how) {
  return Status(Code::kAborted, cat(id, ": ", how, " in ", slot))
      .with_slug(slug)
      .with_help(cat("a defect of the plugin, whose process was isolated: report it to its author, "
                     "or leave the plugin out"));
}

}  // namespace

PluginProcess::PluginProcess(std::string id, const IsolationLimits& limits, pid_t pid,
                             Channel channel)
    : id_(std::move(id)),
      limits_(limits),
      pid_(pid),
      starter_(::getpid()),
      channel_(std::move(channel)) {}

Result<std::unique_ptr<PluginProcess>> PluginProcess::start(const std::string& id,
                                                            const IsolationLimits& limits) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return not_started("a pair of sockets", errno);
  pid_t pid = -1;
  const std::string path = program();
  const int error = spawn(path, ends[1], pid);
  ::close(ends[1]);
  Channel channel(ends[0]);
  if (error != 0) return not_started(path, error);
  return std::unique_ptr<PluginProcess>(new PluginProcess(id, limits, pid, std::move(channel)));
}

PluginProcess::~PluginProcess() {
  int ignored = 0;
  if (pid_ >= 0 && is_own()) kill_and_wait(ignored);
}

bool PluginProcess::is_own() const { return ::getpid() == starter_; }

uint64_t PluginProcess::kill_and_wait(int& wait_status) {
  rusage use{};
  ::kill(-pid_, SIGKILL);  // also the processes that it has started
  ::kill(pid_, SIGKILL);
  while (::wait4(pid_, &wait_status, 0, &use) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return static_cast<uint64_t>(use.ru_maxrss) << 10;
}

Status PluginProcess::killed(std::string_view slot, const char* slug, const std::string& why) {
  int ignored = 0;
  kill_and_wait(ignored);
  return in_slot(id_, slot, slug, why);
}

/// The process closes its end before it can be waited for, and a signal that is sent meanwhile does
/// not change the way in which it ends.
Status PluginProcess::end(std::string_view slot) {
  int status = 0;
  for (auto until = Clock::now() + std::chrono::seconds(1); Clock::now() < until;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == pid_)
      break;
    ::usleep(1000);
  }
  const uint64_t peak_bytes = kill_and_wait(status);
  return ended(slot, status, peak_bytes);
}

Status PluginProcess::ended(std::string_view slot, int status, uint64_t peak_bytes) const {
  const std::string how = WIFSIGNALED(status)
                              ? cat("crashed (", signal_name(WTERMSIG(status)), ")")
                              : cat("ended the process (exit code ", WEXITSTATUS(status), ")");
  const uint64_t limit = limits_.memory_bytes;
  if (limit != 0 && peak_bytes > limit / 4 * 3) {
    return in_slot(id_, slot, kMemorySlug,
                   cat("ran out of memory, of which a slot may use ", mib(limit), ", and ", how));
  }
  return in_slot(id_, slot, kCrashSlug, how);
}

/// Waits until there is something to receive, within the limits.
Status PluginProcess::wait_for_bytes(std::string_view slot, const Watch& watch) {
  pollfd polled{channel_.fd(), POLLIN, 0};
  Clock::duration silence{};
  uint32_t steps = 0;
  for (auto last = Clock::now();; ++steps) {
    const int ready = ::poll(&polled, 1, static_cast<int>(kStep.count()));
    if (ready > 0) return {};
    const auto now = Clock::now();
    silence += std::min<Clock::duration>(now - last, 2 * kStep);  // not while all are stopped
    last = now;
    if (watch.is_cancelled && watch.is_cancelled()) {
      int ignored = 0;
      kill_and_wait(ignored);
      return Status(Code::kCancelled, cat(id_, ": interrupted")).with_slug("interrupted");
    }
    if (limits_.seconds != 0 && silence > std::chrono::seconds(limits_.seconds))
      return killed(slot, kHangSlug, cat("did not return within ", limits_.seconds, " s"));
    if (limits_.memory_bytes != 0 && steps % kStepsPerLook == 0 &&
        anonymous_bytes(pid_) > limits_.memory_bytes) {
      return killed(slot, kMemorySlug, cat("used more memory than ", mib(limits_.memory_bytes)));
    }
  }
}

Result<Reader> PluginProcess::call(const Writer& request, std::string_view slot,
                                   const Watch& watch) {
  if (!channel_.send(request).ok()) return end(slot);
  for (;;) {
    BYOC_TRY_STATUS(wait_for_bytes(slot, watch));
    Result<Message> message = channel_.receive();
    if (!message.ok()) return end(slot);
    Reader reader(*std::move(message));
    const auto reply = static_cast<Reply>(reader.number());
    if (reply == Reply::kAnswer) return reader;
    const auto permille = static_cast<uint32_t>(reader.number());
    const std::string what = reader.text();
    if (reply != Reply::kProgress || !reader.ok())
      return killed(slot, kCrashSlug, "sent bytes that are no answer");
    if (watch.progress) watch.progress(permille, what);
  }
}

void PluginProcess::close() {
  Writer request;
  request.number(static_cast<uint64_t>(Request::kClose));
  limits_.seconds =
      static_cast<uint32_t>(std::min<uint64_t>(limits_.seconds == 0 ? UINT32_MAX : limits_.seconds,
                                               static_cast<uint64_t>(kLongestClose.count())));
  if (pid_ >= 0 && is_own()) (void)call(request, "close", {});
}

}  // namespace byoc::isolate
