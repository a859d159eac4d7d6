// SPDX-License-Identifier: Apache-2.0
#pragma once
// The requests that the tuner sends to its workers and their answers, each one line of JSON.
#include <limits>

#include "byoc/tune/space.h"

namespace byoc::tune {

/// The lines of a worker that are no answers: it has read its plugins; it has done a part of a
/// request whose next part has a time limit of its own.
inline constexpr std::string_view kReadyLine = "ready", kBeatLine = "beat";

struct Request {
  enum Kind : uint8_t {
    kPrepare,   // computes the right outputs of the task, which are stored in its folder
    kBuild,     // compiles a point to an artifact
    kRun,       // compares an artifact's outputs with the right ones, then times it
    kDuel,      // times two artifacts in turns
    kReference  // times the loop that shows the speed of the machine
  };
  Kind kind = kReference;
  std::string folder;     // of the task, except for kReference
  std::string reference;  // kPrepare: the plugin that computes the right outputs
  Point point;            // kBuild
  uint32_t flags = 0;     // kBuild: byoc_compile_flags
  std::string artifact;   // kBuild: is written; kRun, kDuel: is timed
  std::string champion;   // kDuel: the artifact of the best point so far
  double best_ns = std::numeric_limits<double>::infinity();  // kRun: of the best point so far
  bool is_cold = false;  // kRun, kDuel: caches are emptied before each sample
  friend bool operator==(const Request&, const Request&) = default;
};

struct Answer {
  std::string error;                            // "": done
  double ns = 0;                                // kBuild: its time; kReference: one pass
  std::vector<double> samples_ns, champion_ns;  // kRun, kDuel
  double gain = 0;       // kDuel: median over the rounds of the champion's time by the other's
  bool is_last = false;  // the worker is not to be used again: its memory may be exhausted
  friend bool operator==(const Answer&, const Answer&) = default;
};

std::string print(const Request& request);
std::string print(const Answer& answer);
/// Errors: kInvalidArgument naming the member that is missing or of another kind.
Result<Request> parse_request(std::string_view line);
Result<Answer> parse_answer(std::string_view line);

}  // namespace byoc::tune
