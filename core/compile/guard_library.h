// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/extend/library.h"

namespace byoc::extend {

/// Wraps each function of a library, so that an exception or a wrong result of it is an error that
/// names the library and the op, pass or policy: a Status with the slug "library-fault" where the
/// function returns one, else a LibraryError. `name` is that of the file.
void guard(Library& library, const std::string& name);

}  // namespace byoc::extend
