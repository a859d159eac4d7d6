// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles Ctrl-C during long work: the first cancels work that polls, and ends the process when the
// work does not end soon; the second ends the process.
#include <string>

#include "byoc/compile.h"

namespace byoc::driver {

/// Returns the object that the first SIGINT or SIGTERM cancels while work polls it. The first call
/// installs the handlers, for the rest of the process. A signal while nothing polls, and every
/// later one, ends the process at once with exit code 130; so does the first one after a second,
/// for a plugin that does not return. Files of TemporaryPath are removed.
Cancellation& user_cancellation();
/// Returns the same object, null before the first call of user_cancellation(): in programs that
/// have handlers of their own.
const Cancellation* installed_cancellation();

/// For work that polls requested() itself. Installs the same handlers. At most one may exist.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool requested() const;
  /// Sets whether the work polls requested(), at least every 2 s. While it does not, a signal ends
  /// the process.
  void set_watched(bool watched);
};

/// While it exists, a signal that ends the process writes a text before: what is done so far. At
/// most one may exist.
class LastWords {
 public:
  /// `path` is that of a file, or "-" for the standard output.
  LastWords(std::string text, std::string path);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  void write() const;  ///< Writes the text now; a signal handler may call it.

 private:
  void remove_file(int file) const;  // half-written, as the disk is full
  const std::string text_, path_;
};

}  // namespace byoc::driver
