#pragma once
// Ctrl-C in long work: the first asks the work to stop where it can, the second ends the process.

namespace byoc::driver {

/// While one lives, SIGINT and SIGTERM are caught. One at a time. Work that cannot stop in the
/// middle is ended at once, with exit code 130: nothing is written before a command's end.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool requested() const;
  /// Whether the work looks at requested(); until then a signal ends the process.
  void set_watched(bool watched);
};

}  // namespace byoc::driver
