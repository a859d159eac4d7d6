// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <memory>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "core/process/program.h"
#include "core/tuner/slurm/scheduler.h"

namespace byoc::tune {
namespace {

constexpr std::chrono::seconds kLimit{60};  // of one command of Slurm

std::string joined(const std::vector<std::string>& words, char by) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : std::string(1, by), word);
  return out;
}

/// Returns the first line of a text.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find('\n'), text.size())));
}

/// The jobs of one tuner.
class Jobs {
 public:
  Jobs(SlurmOptions options, std::string folder, std::string command)
      : options_(std::move(options)), folder_(std::move(folder)), command_(std::move(command)) {}
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;
  ~Jobs() {
    std::vector<std::string> words = {"scancel", "--quiet"};
    for (const auto& [first, job] : jobs_) words.push_back(job);
    if (!jobs_.empty()) (void)process::run_program(words, "", kLimit);
  }

  Status submit(size_t first, size_t count, const std::vector<std::string>& excluded) {
    BYOC_CHECK(count > 0, "an array of no jobs");
    const std::string script = cat(folder_, "/worker.sh");
    BYOC_TRY_STATUS(write_file(script, cat("#!/bin/sh\n", command_, "\n")));
    // A worker that Slurm starts again by itself would have the number of the one that was lost.
    std::vector<std::string> words = {
        "sbatch",     "--parsable",  "--no-requeue",           "--job-name=byoc-tune", "--nodes=1",
        "--ntasks=1", "--exclusive", cat("--chdir=", folder_), "--open-mode=append"};
    words.push_back(cat("--array=", first, "-", first + count - 1));
    words.push_back(cat("--output=", folder_, "/worker-%a.txt"));
    if (!options_.partition.empty()) words.push_back(cat("--partition=", options_.partition));
    if (!excluded.empty()) words.push_back(cat("--exclude=", joined(excluded, ',')));
    words.insert(words.end(), options_.sbatch_options.begin(), options_.sbatch_options.end());
    words.push_back(script);
    BYOC_TRY(std::string out, run(words));
    std::string job = first_line(out);
    job.resize(std::min(job.find(';'), job.size()));  // the name of the cluster may follow
    if (job.empty()) return failed("sbatch printed no number of a job").with_slug("slurm");
    jobs_[first] = job;
    return {};
  }

  Result<std::map<size_t, std::string>> states() const {
    std::vector<std::string> ids;
    for (const auto& [first, job] : jobs_) ids.push_back(job);
    auto out = run(
        {"squeue", "--noheader", "--array", "--format=%K|%T|%r", cat("--jobs=", joined(ids, ','))});
    // Slurm forgets jobs some minutes after their end.
    if (!out.ok() && out.status().message().find("Invalid job id") != std::string::npos)
      return std::map<size_t, std::string>();
    BYOC_TRY_STATUS(out.status());
    return parse_squeue(*out);
  }

  void cancel(size_t worker) const {
    auto job = jobs_.upper_bound(worker);
    if (job == jobs_.begin()) return;
    const std::string id = cat(std::prev(job)->second, "_", worker);
    (void)process::run_program({"scancel", "--quiet", id}, "", kLimit);
  }

 private:
  /// Runs a command of Slurm and returns what it printed.
  static Result<std::string> run(const std::vector<std::string>& words) {
    auto ran = process::run_program(words, "", kLimit);
    if (!ran.ok()) return std::move(ran.status());
    if (ran->end.is_success()) return std::move(ran->out);
    const bool is_missing = ran->end.kind == process::End::kNotStarted;
    const std::string why = is_missing ? "it cannot be started" : first_line(ran->err);
    return failed(cat(words[0], " failed: ", why))
        .with_slug("slurm")
        .with_help(is_missing ? "install Slurm's commands (Debian: slurm-client)"
                              : cat("the command was: ", joined(words, ' ')));
  }

  SlurmOptions options_;
  std::string folder_, command_;
  std::map<size_t, std::string> jobs_;  // by their first worker
};

}  // namespace

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

std::map<size_t, std::string> parse_squeue(std::string_view text) {
  constexpr std::string_view kAlive[] = {"PENDING",   "RUNNING",       "CONFIGURING", "SUSPENDED",
                                         "RESIZING",  "REQUEUED",      "STOPPED",     "SIGNALING",
                                         "STAGE_OUT", "RESV_DEL_HOLD", "REQUEUE_HOLD"};
  std::map<size_t, std::string> out;
  while (!text.empty()) {
    const std::string line = first_line(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t a = line.find('|'), b = line.find('|', std::min(a, line.size()) + 1);
    size_t worker = 0;
    if (b == line.npos) continue;
    const auto [end, error] = std::from_chars(line.data(), line.data() + a, worker);
    if (error != std::errc() || end != line.data() + a) continue;
    const std::string state = line.substr(a + 1, b - a - 1), reason = line.substr(b + 1);
    if (std::ranges::count(kAlive, state) == 0) continue;
    out[worker] = reason.empty() || reason == "None" ? state : cat(state, " (", reason, ")");
  }
  return out;
}

Scheduler slurm_scheduler(const SlurmOptions& options, const std::string& folder,
                          const std::string& command) {
  auto jobs = std::make_shared<Jobs>(options, folder, command);
  return {[jobs](size_t first, size_t count, const auto& excluded) {
            return jobs->submit(first, count, excluded);
          },
          [jobs] { return jobs->states(); }, [jobs](size_t worker) { jobs->cancel(worker); }};
}

}  // namespace byoc::tune
