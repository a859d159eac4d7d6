// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults of code in libraries of --pass-library.
#include <stdexcept>

#include "byoc/base/status.h"

namespace byoc {

/// A fault of a function of a library that has no Status to return. The text names the library and
/// the function. Passes and commands catch it: it is no defect of byoc.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Returns the error that users see, slug "library-fault".
  Status status() const {
    return failed(what()).with_slug("library-fault").with_help("correct the library");
  }
};

}  // namespace byoc
