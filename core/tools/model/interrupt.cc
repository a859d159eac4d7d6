#include "core/tools/model/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

std::atomic<bool> watched{false}, asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch it");

extern "C" void on_signal(int) {
  if (watched.load() && !asked.exchange(true)) return;
  constexpr char kText[] = "\ninterrupted\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(cli::kInterrupted);
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  asked = watched = false;
  handle(on_signal);
}
Interrupt::~Interrupt() { handle(SIG_DFL); }
bool Interrupt::requested() const { return asked; }
void Interrupt::set_watched(bool on) { watched = on; }

}  // namespace byoc::driver
