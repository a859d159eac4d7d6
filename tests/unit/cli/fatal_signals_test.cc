// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/fatal_signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "runtime/guard/signal_stack.h"
#include "runtime/host/host.h"

namespace byoc {
namespace {

/// Uses up the stack; the sum keeps the compiler from making it a loop.
int overflow(volatile char* outer, uint64_t depth) {
  volatile char here[1024];
  here[0] = outer[0];
  return depth == 0 ? 0 : here[0] + overflow(here, depth - 1);
}

/// Overflows the stack of a thread that calls a plugin.
void overflow_on_a_thread() {
  cli::report_fatal_signals();
  std::thread([] {
    const SignalStack of_this_thread;
    const PluginCallScope scope("deep", "compile");
    volatile char first = 1;
    std::_Exit(overflow(&first, uint64_t{1} << 40));
  }).join();
}

TEST(FatalSignalsDeathTest, NameThePluginWhoseCompileOverflowsTheStackOfAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(overflow_on_a_thread(), "SIGSEGV in plugin \"deep\", slot compile");
}

/// Ends the process in a call of a plugin, as if all was done.
template <void end(int)>
void leave() {
  cli::report_fatal_signals();
  const PluginCallScope scope("leaver", "compile");
  end(0);
}

TEST(FatalSignalsDeathTest, NameThePluginThatEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* text = "plugin-crash.: a call of exit in plugin \"leaver\", slot compile";
  EXPECT_EXIT(leave<std::exit>(), testing::ExitedWithCode(1), text);
  EXPECT_EXIT(leave<std::quick_exit>(), testing::ExitedWithCode(1), text);
}

TEST(FatalSignalsDeathTest, LetTheProcessEndOutsideOfPlugins) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto leave = [] {
    cli::report_fatal_signals();
    std::exit(7);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(7), "^$");
}

TEST(SignalStack, IsTheThreadsWhileItLives) {
  stack_t before{}, during{}, after{};
  std::thread([&] {
    ::sigaltstack(nullptr, &before);
    {
      const SignalStack outer;
      ::sigaltstack(nullptr, &during);
      const SignalStack inner;  // keeps the outer one
      stack_t now{};
      ::sigaltstack(nullptr, &now);
      EXPECT_EQ(now.ss_sp, during.ss_sp);
    }
    ::sigaltstack(nullptr, &after);
  }).join();
  EXPECT_EQ(during.ss_flags & SS_DISABLE, 0);
  EXPECT_EQ(after.ss_flags & SS_DISABLE, before.ss_flags & SS_DISABLE);
}

}  // namespace
}  // namespace byoc
