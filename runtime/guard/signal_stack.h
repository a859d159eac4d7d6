// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace byoc {

/// Gives the calling thread a stack for handlers of signals, for as long as it lives: without one
/// an overflow of the thread's stack ends the process before a handler can name the plugin. A
/// thread that has one keeps it. Where there is no memory for it, nothing changes.
class SignalStack {
 public:
  SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack();

 private:
  void* memory_ = nullptr;
};

}  // namespace byoc
