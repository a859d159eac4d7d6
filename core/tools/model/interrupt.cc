// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/interrupt.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "runtime/base/temporary.h"
#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

std::atomic<bool> watched{false}, signalled{false};
std::atomic<Cancellation*> cancellation{nullptr};
std::atomic<const LastWords*> last_words{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free &&
                  std::atomic<Cancellation*>::is_always_lock_free,
              "a signal handler may touch it");

constexpr unsigned kGrace_s = 1;  // for a plugin that polls, and a run after which a loop ends

extern "C" void end_now(int) {
  if (const LastWords* words = last_words.load()) words->write();
  remove_temporaries();
  constexpr char kText[] = "\ninterrupted\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(cli::kInterrupted);
}

/// Ends the program at once, or lets work that notices the signal end by itself. A plugin that does
/// not return would keep the program, so the time for that is limited.
extern "C" void on_signal(int number) {
  Cancellation* polled = cancellation.load();
  if (polled != nullptr && !polled->is_polled()) polled = nullptr;
  const bool is_watched = watched.load();
  if ((!is_watched && polled == nullptr) || signalled.exchange(true)) end_now(number);
  if (polled != nullptr) polled->cancel();
  alarm(kGrace_s);
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
}

}  // namespace

Cancellation& user_cancellation() {
  static Cancellation& only = *[] {  // never destroyed: a signal may come at any time
    cancellation = new Cancellation;
    install_handlers();
    return cancellation.load();
  }();
  return only;
}

const Cancellation* installed_cancellation() { return cancellation.load(); }

Interrupt::Interrupt() {
  signalled = watched = false;
  install_handlers();
}
Interrupt::~Interrupt() { watched = false; }
bool Interrupt::requested() const { return signalled; }
void Interrupt::set_watched(bool on) { watched = on; }

LastWords::LastWords(std::string text, std::string path)
    : text_(std::move(text)), path_(std::move(path)) {
  last_words = this;
}
LastWords::~LastWords() { last_words = nullptr; }
void LastWords::write() const {
  const int file =
      path_ == "-" ? STDOUT_FILENO : open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (size_t at = 0; file >= 0 && at < text_.size();) {
    const ssize_t n = ::write(file, text_.data() + at, text_.size() - at);
    if (n <= 0) return remove_file(file);
    at += static_cast<size_t>(n);
  }
}

void LastWords::remove_file(int file) const {
  struct stat info {};
  const bool is_own = path_ != "-" && fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (is_own) unlink(path_.c_str());
}

}  // namespace byoc::driver
