// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

std::atomic<bool> watched{false}, signalled{false};
std::atomic<Cancellation*> cancellation{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free &&
                  std::atomic<Cancellation*>::is_always_lock_free,
              "a signal handler may touch it");

extern "C" void on_signal(int) {
  Cancellation* polled = cancellation.load();
  if (polled != nullptr && !polled->is_polled()) polled = nullptr;
  if ((watched.load() || polled != nullptr) && !signalled.exchange(true)) {
    if (polled != nullptr) polled->cancel();
    return;
  }
  constexpr char kText[] = "\ninterrupted\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(cli::kInterrupted);
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
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

Interrupt::Interrupt() {
  signalled = watched = false;
  install_handlers();
}
Interrupt::~Interrupt() { watched = false; }
bool Interrupt::requested() const { return signalled; }
void Interrupt::set_watched(bool on) { watched = on; }

}  // namespace byoc::driver
