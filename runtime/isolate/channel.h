// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends and receives messages on a socket between two processes.
#include "byoc/base/status.h"
#include "runtime/isolate/message.h"

namespace byoc::isolate {

/// One end of a stream socket, which it closes. Messages of more than 64 KiB are passed as files in
/// memory: they are copied once, and their bytes are aligned to 64. One thread at a time.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();
  int fd() const { return fd_; }

  /// Sends a message. Errors: the system's, also when the other process has ended.
  Status send(const Writer& message);
  /// Waits for a message. Errors: kUnavailable when the other process has ended or closed its end;
  /// kDataLoss for bytes that are no message; the system's.
  Result<Message> receive();

 private:
  int fd_;
};

}  // namespace byoc::isolate
