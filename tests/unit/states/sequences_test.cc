// SPDX-License-Identifier: Apache-2.0
// Random sequences of steps of a model with a cache, as compiled by plugins with and without a
// kernel that works in place, against plain arrays.
#include <array>
#include <random>

#include "byoc/runtime/session.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

constexpr int64_t kImages = 2, kMost = 8, kWidth = 3, kNew = 2;
constexpr uint64_t kRowBytes = kImages * kNew * kWidth * sizeof(float);

// The rows beginning at starts[n] of image n are new; y is the sum of the cache over its rows.
constexpr const char* kCache =
    R"(fn main(%rows: f32[2,2,3], %starts: i64[2], %past: f32[2,8,3]) {output_names=["y","present"], state_inputs=["past"], state_outputs=["present"]} {
  %0 = update_rows(%past, %rows, %starts) {axis=1}
  %1 = sum(%0) {axes=[1], keepdims=false}
  return %1, %0
})";

struct PlainCache {
  std::array<float, kImages * kMost * kWidth> values{};
  std::array<float, kImages * kWidth> sums() const {
    std::array<float, kImages * kWidth> out{};
    for (int64_t k = 0; k < std::ssize(values); ++k)
      out[k / (kMost * kWidth) * kWidth + k % kWidth] += values[k];
    return out;
  }
};

Tensor tensor_of(const TensorSpec& type) { return *Tensor::make(type); }

std::unique_ptr<Session> compiled_by(const std::string& plugin) {
  Byoc byoc;
  const std::string artifact = byoc.file("cache.byoc");
  const Ran ran = byoc("compile " + byoc.write("cache.ir", kCache) + " --compiler " + plugin +
                       " -o " + artifact);
  EXPECT_EQ(ran.code, 0) << ran.err;
  auto session = Session::load(*load_artifact(artifact), PluginSet::load(default_plugin_search()));
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return *std::move(session);
}

/// Two contexts of one session, and what their caches are.
class Interleaved {
 public:
  explicit Interleaved(Session& session) : session_(session) {
    for (auto& context : contexts_) context = *session_.make_context();
  }

  void step(std::mt19937& random) {
    const size_t which = random() % 2;
    const uint32_t action = random() % 10;
    if (action == 0) reset(which);
    else if (action == 1) set(which, random);
    else run(which, random);
    check(0);
    check(1);
  }

 private:
  void reset(size_t which) {
    ASSERT_TRUE(session_.reset_states(*contexts_[which]).ok());
    plain_[which] = {};
  }

  void set(size_t which, std::mt19937& random) {
    for (float& value : plain_[which].values) value = static_cast<float>(random() % 64);
    Tensor all = tensor_of({DType::kF32, {kImages, kMost, kWidth}});
    std::memcpy(all.data(), plain_[which].values.data(), all.size_bytes());
    ASSERT_TRUE(session_.set_state(*contexts_[which], "past", all.view()).ok());
  }

  // Starts are -1 to 7; 0 to 6 fit. A run that refuses a start of either image changes nothing.
  void run(size_t which, std::mt19937& random) {
    Tensor rows = tensor_of({DType::kF32, {kImages, kNew, kWidth}}),
           starts = tensor_of({DType::kI64, {kImages}}),
           y = tensor_of({DType::kF32, {kImages, kWidth}});
    auto* row = reinterpret_cast<float*>(rows.data());
    auto* start = reinterpret_cast<int64_t*>(starts.data());
    for (int64_t k = 0; k < kImages * kNew * kWidth; ++k)
      row[k] = static_cast<float>(random() % 64);
    bool fits = true;
    for (int64_t n = 0; n < kImages; ++n) {
      start[n] = static_cast<int64_t>(random() % 9) - 1;
      fits = fits && start[n] >= 0 && start[n] + kNew <= kMost;
    }
    const DLTensor in[] = {rows.view(), starts.view()};
    DLTensor out = y.view();
    const Status status = session_.run(*contexts_[which], in, {&out, 1});
    ASSERT_EQ(status.ok(), fits) << status.to_string();
    if (!fits) {
      EXPECT_THAT(status.message(), testing::HasSubstr("expected 0 to 6"));
      return;
    }
    for (int64_t n = 0; n < kImages; ++n)
      std::copy_n(row + n * kNew * kWidth, kNew * kWidth,
                  plain_[which].values.begin() + (n * kMost + start[n]) * kWidth);
    const auto sums = plain_[which].sums();  // of whole numbers: exact
    EXPECT_EQ(std::memcmp(y.data(), sums.data(), sizeof sums), 0);
  }

  void check(size_t which) {
    Tensor now = tensor_of({DType::kF32, {kImages, kMost, kWidth}});
    ASSERT_TRUE(session_.get_state(*contexts_[which], "present", now.view()).ok());
    ASSERT_EQ(std::memcmp(now.data(), plain_[which].values.data(), now.size_bytes()), 0);
  }

  Session& session_;
  std::unique_ptr<Context> contexts_[2];
  PlainCache plain_[2];
};

class Sequences : public testing::TestWithParam<std::string> {};

TEST_P(Sequences, AreThoseOfPlainArrays) {
  auto session = compiled_by(GetParam());
  for (uint32_t seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Interleaved caches(*session);
    for (int k = 0; k < 16; ++k) caches.step(random);
  }
}

INSTANTIATE_TEST_SUITE_P(Json, Sequences, testing::Values("json"));
#ifdef BYOC_HAS_LLVM
INSTANTIATE_TEST_SUITE_P(Llvm, Sequences, testing::Values("llvm"));

TEST(StatesInPlace, ARunWritesTheNewRowsAndNoMore) {
  auto session = compiled_by("llvm");
  EXPECT_TRUE(session->states()[0].is_in_place);
  auto context = *session->make_context();
  Tensor rows = tensor_of({DType::kF32, {kImages, kNew, kWidth}}),
         starts = tensor_of({DType::kI64, {kImages}}),
         y = tensor_of({DType::kF32, {kImages, kWidth}});
  const DLTensor in[] = {rows.view(), starts.view()};
  DLTensor out = y.view();
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(session->run(*context, in, {&out, 1}).ok());
  EXPECT_EQ(session->state_traffic(*context).in_place_bytes, 3 * kRowBytes);
  EXPECT_EQ(session->state_traffic(*context).whole_bytes, 0u);
}

#endif

}  // namespace
}  // namespace byoc::test
