#pragma once
// What a Schedule knows of its stages beside the Dag.
#include "byoc/te/schedule.h"

namespace byoc::te {

struct Schedule::State {
  Dag dag;
  Trace trace;
};

}  // namespace byoc::te
