// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <thread>

namespace byoc {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    for (int end : ends) ::close(end);
  }
  int ends[2];
};

/// Reads `size` bytes, with a pause before each read, so that the writer has to wait.
std::string read_slowly(int fd, size_t size) {
  std::string out;
  while (out.size() < size) {
    ::usleep(2000);
    char buffer[1 << 16];
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) out.append(buffer, static_cast<size_t>(n));
    if (n == 0) break;
  }
  return out;
}

// A write that a signal interrupts returns the number of bytes written before it, or fails with
// EINTR when there are none.
TEST(WriteAll, WritesTheRestAfterSignals) {
  Pipe pipe;
  std::string text(size_t{4} << 20, 'x');
  for (size_t k = 0; k < text.size(); k += 997) text[k] = static_cast<char>('a' + k % 26);
  std::string got;
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarms, nullptr);  // the reader thread inherits the mask
  std::thread reader([&] { got = read_slowly(pipe.ends[0], text.size()); });
  ::pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  static volatile sig_atomic_t signals;
  signals = 0;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { signals = signals + 1; };
  ::sigaction(SIGALRM, &action, &before);
  itimerval often{{0, 1000}, {0, 1000}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  bool written = write_all(pipe.ends[1], text);
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  if (!written) ::close(std::exchange(pipe.ends[1], -1));
  reader.join();
  EXPECT_TRUE(written);
  EXPECT_GT(signals, 10);
  EXPECT_TRUE(got == text) << got.size() << " bytes of " << text.size();
}

TEST(WriteAll, ReportsFailureWithErrno) {
  int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(write_all(fd, "text"));
  EXPECT_EQ(errno, EBADF);
  EXPECT_TRUE(write_all(fd, ""));  // nothing to write
  ::close(fd);
  int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(write_all(full, "text"));
  EXPECT_EQ(errno, ENOSPC);
  ::close(full);
}

}  // namespace
}  // namespace byoc
