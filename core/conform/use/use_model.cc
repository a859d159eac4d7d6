// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "byoc/base/file.h"
#include "core/conform/checks/function_test.h"
#include "core/conform/checks/taken_sample.h"
#include "core/conform/context/ends.h"
#include "core/conform/context/sweep_result.h"
#include "core/conform/use/use_run.h"
#include "core/process/faults.h"
#include "runtime/base/temporary.h"

namespace byoc::conform {
namespace {

constexpr const char* kTakesNoSample = "takes no op of the kit's large samples, and no composite";
constexpr uint32_t kWorkers = 4;
constexpr size_t kThreads = 4, kComposites = 4;

/// A folder below TMPDIR, deleted with this object, and when a signal ends the process.
class Folder {
 public:
  Folder() : path_(made()), removed_(path_) {}
  Folder(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  static std::string made() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "byoc-check-XXXXXX").string();
    return mkdtemp(path.data()) == nullptr ? "/nowhere" : path;
  }
  std::string path_;
  TemporaryPath removed_;
};

/// A function that the plugin takes, and its test alone.
struct Taken {
  UseSample sample;
  FunctionTest test;
};

/// Runs functions in a child, which sends lines: "check\ttext", and "none\t" when the plugin takes
/// none. Leaves an artifact and the values of a run of it in `folder`.
class UseChild {
 public:
  UseChild(const CheckContext& context, LoadedPlugin tested, std::string folder)
      : seed_(context.options().seed), tested_(std::move(tested)), folder_(std::move(folder)) {}

  void run() {
    for (Taken& one : taken()) try_alone(std::move(one));
    if (good_.empty()) return process::send_line("none\t");
    auto executable = built();
    if (!executable) return;
    sample_ = joined(good_);
    const Buffers inputs = values_of(sample_, seed_);
    process::doing(cat("the reference kernels, ", sample_.label));
    auto expected = reference_results(sample_.module, inputs);
    if (!expected.ok()) return;  // a sample without a reference kernel
    const auto one = loaded(*executable, 1, "one_model");
    const auto by_one =
        one ? compared(*one, inputs, *expected, "one_model", "one worker") : std::nullopt;
    const auto many = by_one ? loaded(*executable, kWorkers, "workers") : nullptr;
    if (!many || !compared(*many, inputs, *expected, "workers", cat(kWorkers, " workers"))) return;
    run_at_once(*one);
    leave(*executable, inputs, *by_one);
  }

 private:
  static void send(std::string_view check, std::string text) {
    std::ranges::replace(text, '\n', ' ');
    process::send_line(cat(check, "\t", text));
  }

  /// Returns ops on large tensors, and composites.
  std::vector<Taken> taken() const {
    std::vector<Taken> out;
    for (Program& program : large_programs()) {
      if (verdict_on(tested_, program).accept == Verdict::kNo) continue;
      FunctionTest test{program.label, program.module, program.module, program.domains,
                        "large_tensors"};
      out.push_back({{program.label, std::move(program.module), program.domains}, std::move(test)});
    }
    for_instances(tested_, seed_, kComposites, [&](uint32_t pattern, const Instance& instance) {
      const PluginPattern& row = tested_.plugin->patterns()[pattern];
      auto merged = as_composite(tested_, row, instance);
      if (!merged.ok() || !*merged) return;
      FunctionTest test{instance.label, instance.module, **std::move(merged), instance.domains,
                        "composites"};
      out.push_back({{instance.label, instance.module, instance.domains, true}, std::move(test)});
    });
    return out;
  }

  /// Keeps the functions that compile and are right.
  void try_alone(Taken one) {
    one.test.is_plain = true;
    one.test.is_chain = one.sample.is_chain;
    one.test.special = Special::kNone;
    const std::string check = one.test.value_check;
    bool is_right = true;
    const FunctionTestEnd end =
        run_function_test(tested_, one.test, seed_, [&](const Finding& found) {
          is_right = is_right && found.text.empty();
          if (found.text.empty() && found.check != check) return;
          if (!one.sample.is_chain) send("large_tensors", found.text);  // group 5 has composites
        });
    if (is_right && end == FunctionTestEnd::kDone) good_.push_back(std::move(one.sample));
  }

  /// Compiles all good functions in one model. Passes that come before the plugin may make ops that
  /// it lacks, so functions that have no codegen by themselves are left out then.
  std::optional<Executable> built() {
    process::doing(cat("compile, ", good_.size(), " functions in one model"));
    auto executable = build_model(tested_, joined(good_), kWorkers);
    if (!executable.ok()) {
      std::erase_if(good_, [&](const UseSample& sample) {
        process::doing(cat("compile, ", sample.label));
        return !build_model(tested_, sample, kWorkers).ok();
      });
      if (good_.empty()) return std::nullopt;
      process::doing(cat("compile, ", good_.size(), " functions in one model"));
      executable = build_model(tested_, joined(good_), kWorkers);
    }
    if (executable.ok()) return *std::move(executable);
    send("one_model", cat("compile of ", good_.size(),
                          " functions in one model fails: ", executable.status().message()));
    return std::nullopt;
  }

  std::unique_ptr<Session> loaded(const Executable& executable, uint32_t threads,
                                  std::string_view check) const {
    process::doing(cat("load, ", sample_.label));
    auto session = Session::load(executable, tested_.set, {.threads = threads});
    if (session.ok()) return *std::move(session);
    send(check, cat(sample_.label, ": ", session.status().message()));
    return nullptr;
  }

  /// Runs the model. Returns its results when they are right.
  std::optional<Buffers> compared(const Session& session, const Buffers& inputs,
                                  const Buffers& expected, std::string_view check,
                                  const std::string& how) const {
    process::doing(cat("run, ", sample_.label, ", ", how));
    auto got = run_model(session, inputs);
    const std::string wrong =
        got.ok() ? wrong_sample(*got, expected) : cat("run fails: ", got.status().message());
    send(check, wrong.empty() ? "" : cat("with ", how, ": ", wrong));
    return wrong.empty() ? std::optional(*std::move(got)) : std::nullopt;
  }

  /// Returns the first function whose results are wrong, with the difference.
  std::string wrong_sample(const Buffers& got, const Buffers& expected) const {
    size_t at = 0;
    for (const UseSample& sample : good_) {
      const size_t n = sample.module.function("main").results.size();
      const auto part = [&](const Buffers& all) {
        return Buffers(all.begin() + static_cast<std::ptrdiff_t>(at),
                       all.begin() + static_cast<std::ptrdiff_t>(at + n));
      };
      const std::string found = difference(sample, part(got), part(expected));
      if (!found.empty()) return cat(sample.label, ": ", found);
      at += n;
    }
    return "";
  }

  /// Runs the model by several threads, each with values of its own.
  void run_at_once(const Session& session) const {
    std::vector<Buffers> inputs, alone;
    for (size_t t = 0; t < kThreads; ++t) {
      inputs.push_back(values_of(sample_, seed_ + 1000 * (t + 1)));
      process::doing(cat("run, ", sample_.label, ", one worker"));
      auto got = run_model(session, inputs.back());
      if (!got.ok()) return send("at_once", cat("run fails: ", got.status().message()));
      alone.push_back(*std::move(got));
    }
    process::doing(cat("run, ", sample_.label, ", by ", kThreads, " threads"));
    std::vector<std::string> wrong(kThreads);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        auto got = run_model(session, inputs[t]);
        wrong[t] =
            got.ok() ? wrong_sample(*got, alone[t]) : cat("run fails: ", got.status().message());
        process::activity().beats.fetch_add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    const auto first = std::ranges::find_if(wrong, [](const auto& text) { return !text.empty(); });
    send("at_once", first == wrong.end() ? "" : cat("by ", kThreads, " threads at once: ", *first));
  }

  void leave(const Executable& executable, const Buffers& inputs, const Buffers& results) const {
    const Status status = save_artifact(executable, folder_ + "/model.byoc");
    if (!status.ok()) return send("elsewhere", status.message());
    for (const Buffers* values : {&inputs, &results}) {
      std::vector<std::span<const std::byte>> pieces;
      for (const auto& buffer : *values) pieces.push_back(buffer->bytes());
      (void)write_file(folder_ + (values == &inputs ? "/inputs" : "/results"), pieces);
    }
    process::send_line("left\t");
  }

  const uint64_t seed_;
  LoadedPlugin tested_;
  const std::string folder_;
  std::vector<UseSample> good_;
  UseSample sample_;
};

/// Reads what `leave` has written for tensors of these types.
Buffers read_values(const std::string& path, const std::vector<NamedTensor>& types) {
  const auto file = read_file(path);
  const std::string all = file.ok() ? *file : "";
  Buffers out;
  size_t at = 0;
  for (const NamedTensor& one : types) {
    const auto bytes = static_cast<size_t>(*size_bytes(one.type));
    out.push_back(Buffer::make(bytes, [&](std::byte* to) {
      std::memcpy(to, all.data() + std::min(at, all.size()), std::min(bytes, all.size() - at));
    }));
    at += bytes;
  }
  return out;
}

/// Runs the artifact of another process; returns what is wrong.
std::string run_left(const CheckContext& context, const std::string& folder) {
  auto tested = load_plugin(context);
  if (!tested.ok()) return sentence(tested.status());
  process::doing("load, the artifact of another process");
  auto executable = load_artifact(folder + "/model.byoc");
  if (!executable.ok()) return executable.status().message();
  auto session = Session::load(*std::move(executable), tested->set, {.threads = 1});
  if (!session.ok()) return cat("load fails: ", session.status().message());
  const Buffers inputs = read_values(folder + "/inputs", (*session)->inputs());
  const Buffers expected = read_values(folder + "/results", (*session)->outputs());
  process::doing("run, the artifact of another process");
  auto got = run_model(**session, inputs);
  if (!got.ok()) return cat("run fails: ", got.status().message());
  for (size_t k = 0; k < expected.size(); ++k) {
    if (std::ranges::equal((*got)[k]->bytes(), expected[k]->bytes())) continue;
    const TensorSpec& spec = (*session)->outputs()[k].type;
    const TensorType type{spec.dtype, Shape(spec.dims.begin(), spec.dims.end())};
    const std::string found = difference(type, *(*got)[k], *expected[k]);
    if (!found.empty()) return cat("output ", k, " ", found);
  }
  return "";
}

void read_line(std::string_view line, SweepResult& out, bool& has_left) {
  const size_t tab = std::min(line.find('\t'), line.size());
  const std::string check(line.substr(0, tab)), text(line.substr(std::min(tab + 1, line.size())));
  if (check == "left") has_left = true;
  else if (check == "none") out.gave_up = kTakesNoSample;
  else if (text.empty()) ++out.tried[check];
  else out.add(check, text, "");
}

/// Returns the check of a model that a child was at when it ended.
std::string check_of(const process::ChildResult& child) {
  const auto has = [&](std::string_view part) { return child.what.find(part) != child.what.npos; };
  if (has("threads")) return "at_once";
  if (has("workers")) return "workers";
  return has("in one model") ? "one_model" : "large_tensors";
}

}  // namespace

const SweepResult& CheckContext::use() {
  if (use_) return *use_;
  use_ = std::make_unique<SweepResult>();
  const Folder folder;
  bool has_left = false;
  process::ChildResult child = in_child([&]() -> std::string {
    process::name_faults();
    auto tested = load_plugin(*this);
    if (tested.ok()) UseChild(*this, *std::move(tested), folder.path()).run();
    return "";
  });
  std::istringstream lines(child.result);
  for (std::string line; std::getline(lines, line);) read_line(line, *use_, has_left);
  if (!child.finished) use_->add(check_of(child), child.defect, cure_of(child));
  if (!has_left) return *use_;
  child = in_child([&] { return run_left(*this, folder.path()); });
  if (!child.finished) use_->add("elsewhere", child.defect, cure_of(child));
  else if (!child.result.empty()) use_->add("elsewhere", child.result, "");
  else ++use_->tried["elsewhere"];
  return *use_;
}

}  // namespace byoc::conform
