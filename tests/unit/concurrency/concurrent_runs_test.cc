// SPDX-License-Identifier: Apache-2.0
// 8 threads run one artifact at the same time. Their results are equal, bit for bit, to those of a
// single caller. `./check --tsan` runs this test under the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "byoc/runtime/session.h"
#include "runtime/host/plugin_loader.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

constexpr size_t kCallers = 8, kRounds = 4;

struct Case {
  std::string name, model, flags, compiler;
  uint32_t threads;
  std::string text = "";  // of the model, where there is no file
};

/// Returns products by one weight in turn with sums. At level 0 they are twelve functions, which
/// share two kernels.
std::string equal_regions() {
  std::string text = "fn main(%x: f32[16,16], %w: f32[16,16]) {\n", last = "%x";
  for (int k = 0; k < 6; ++k) {
    text += cat("  %p", k, " = matmul(", last, ", %w)\n  %s", k, " = add(%p", k, ", %x)\n");
    last = cat("%s", k);
  }
  return cat(text, "  return ", last, "\n}\n");
}

// Two caches: the keys are the sum of the rows so far, and of the values one row is written. llvm
// writes the values in place.
constexpr const char* kCaches =
    R"(fn main(%q: f32[1,4,1,16], %rows: f32[1,2,1,16], %past_key: f32[1,2,32,16], %past_value: f32[1,2,32,16]) {output_names=["y","present_key","present_value"]} {
  %at = const([5]) : i64[1]
  %n = const([6]) : i64[1]
  %0 = add(%past_key, %rows)
  %1 = update_rows(%past_value, %rows, %at)
  %2 = cached_attention(%q, %0, %1, %n) {heads=4, kv_heads=2}
  return %2, %0, %1
})";

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const char* compiler : {"json", "onednn"}) {
    for (uint32_t threads : {1u, 2u}) {
      std::string suffix = cat("_", compiler, "_", threads);
      out.push_back({"digits" + suffix, "digits", "--shape N=1", compiler, threads});
      out.push_back({"resnet" + suffix, "blocks/resnet_bottleneck", "", compiler, threads});
      out.push_back({"equal_regions" + suffix, "", "-O0", compiler, threads, equal_regions()});
    }
  }
  for (const char* compiler : {"json", "onednn", BYOC_LLVM}) {
    if (*compiler == '\0') continue;  // LLVM is not installed
    for (uint32_t threads : {1u, 2u})
      out.push_back(
          {cat("states_", compiler, "_", threads), "", "--state auto", compiler, threads, kCaches});
  }
  return out;
}

/// Inputs and outputs of one run.
struct Values {
  std::vector<Tensor> inputs, outputs;

  Values(const Session& session, uint64_t seed) {
    for (const NamedTensor& input : session.inputs()) {
      inputs.push_back(*Tensor::make(input.type));
      fill_random(inputs.back(), seed++);
    }
    for (const NamedTensor& output : session.outputs())
      outputs.push_back(*Tensor::make(output.type));
  }
  Status run(const Session& session, Context& context) {
    std::vector<DLTensor> in, out;
    for (const Tensor& tensor : inputs) in.push_back(tensor.view());
    for (const Tensor& tensor : outputs) out.push_back(tensor.view());
    return session.run(context, in, out);
  }
};

bool same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.size_bytes() == y.size_bytes() && !std::memcmp(x.data(), y.data(), x.size_bytes());
  });
}

class ConcurrentRuns : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    std::string artifact = folder_.file("m.byoc"), model = folder_.file("m.ir");
    if (c.model.empty()) std::ofstream(model) << c.text;
    else model = cat(BYOC_TEST_DATA, "/models/", c.model, "/model.onnx");
    std::string line =
        cat(BYOC_COMMAND, " compile ", model, " ", c.flags, " --compiler ", c.compiler,
            " --threads ", c.threads, " -o ", artifact, " >", folder_.file("log"), " 2>&1");
    ASSERT_EQ(std::system(line.c_str()), 0) << line << "\n" << get(folder_.file("log"));
    auto executable = load_artifact(artifact);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    executable_ = *std::move(executable);
    PluginSearch search;
    search.folders = {BYOC_PLUGIN_DIR};
    plugins_ = PluginSet::load(search);
  }

  std::unique_ptr<Session> load() const {
    auto session = Session::load(executable_, plugins_, {.threads = GetParam().threads});
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return session.ok() ? *std::move(session) : nullptr;
  }

  static constexpr uint64_t seed(size_t caller, size_t round) { return 100 * caller + round; }

  /// Returns the results of a single caller for the inputs of all callers, ordered by caller and
  /// then by round. The states of each caller begin with zeros.
  static std::vector<Values> serial_results(const Session& session) {
    std::vector<Values> expected;
    auto context = *session.make_context();
    for (size_t k = 0; k < kCallers * kRounds; ++k) {
      if (k % kRounds == 0 && !session.states().empty()) {
        EXPECT_TRUE(session.reset_states(*context).ok());
      }
      expected.emplace_back(session, seed(k / kRounds, k % kRounds));
      EXPECT_TRUE(expected.back().run(session, *context).ok());
    }
    return expected;
  }

  /// Returns how many runs of one caller have the expected results.
  static size_t right_runs(const Session& session, const std::vector<Values>& expected,
                           size_t caller) {
    size_t right = 0;
    auto context = *session.make_context();
    for (size_t round = 0; round < kRounds; ++round) {
      Values values(session, seed(caller, round));
      right += values.run(session, *context).ok() &&
               same_bytes(values.outputs, expected[caller * kRounds + round].outputs);
    }
    return right;
  }

  /// Calls f(caller) on 8 threads, none of which begins before all are created.
  template <class F>
  static void on_callers(F f) {
    std::atomic<size_t> waiting{kCallers};
    std::vector<std::thread> callers;
    for (size_t k = 0; k < kCallers; ++k) {
      callers.emplace_back([&, k] {
        for (--waiting; waiting != 0;) std::this_thread::yield();
        f(k);
      });
    }
    for (std::thread& caller : callers) caller.join();
  }

  TempFolder folder_;
  Executable executable_;
  std::shared_ptr<const PluginSet> plugins_;
};

TEST_P(ConcurrentRuns, OfOneSessionGiveTheSerialResults) {
  auto session = load();
  ASSERT_NE(session, nullptr);
  std::vector<Values> expected = serial_results(*session);
  EXPECT_FALSE(same_bytes(expected[0].outputs, expected[1].outputs)) << "results are constant";
  std::vector<size_t> right(kCallers);
  on_callers([&](size_t k) { right[k] = right_runs(*session, expected, k); });
  EXPECT_THAT(right, ::testing::Each(kRounds));
}

TEST_P(ConcurrentRuns, OfSessionsLoadedAtTheSameTimeGiveTheSerialResults) {
  auto first = load();
  ASSERT_NE(first, nullptr);
  std::vector<Values> expected = serial_results(*first);
  first.reset();  // frees all packed constants: the callers' loads pack them again, concurrently
  std::vector<size_t> right(kCallers);
  on_callers([&](size_t k) {
    if (auto session = load()) right[k] = right_runs(*session, expected, k);
  });
  EXPECT_THAT(right, ::testing::Each(kRounds));
}

INSTANTIATE_TEST_SUITE_P(Models, ConcurrentRuns, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(UsesOpenMp, IsWhatThePluginsLibrariesNeed) {
  EXPECT_TRUE(
      uses_openmp(cat(BYOC_PLUGIN_DIR, "/libbyoc_onednn.so")));  // libdnnl is made with OpenMP
  EXPECT_FALSE(uses_openmp(cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so")));
}

}  // namespace
}  // namespace byoc::test
