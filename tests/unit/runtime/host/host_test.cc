// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "byoc/host/plugins.h"
#include "runtime/host/packed.h"
#include "runtime/host/threads.h"

namespace byoc {
namespace {

const byoc_host& host() { return *host_table(); }

TEST(HostTable, HasEverySlotOfItsVersion) {
  EXPECT_EQ(host().h.size, sizeof(byoc_host));
  EXPECT_EQ(host().h.tag, uint32_t{BYOC_TAG_HOST});
  EXPECT_EQ(host().abi_major, uint32_t{BYOC_ABI_MAJOR});
  const auto* slots = reinterpret_cast<void* const*>(&host().status_new);
  size_t count = (sizeof(byoc_host) - offsetof(byoc_host, status_new)) / sizeof(void*);
  for (size_t k = 0; k < count; ++k) EXPECT_NE(slots[k], nullptr) << "slot " << k;
}

TEST(HostStatus, CarriesCodePlaceAndWords) {
  byoc_status* raw =
      host().status_new(host().ctx, BYOC_BAD_GRAPH, 2, 7, "x.cc", 12, to_str("odd rank"));
  int64_t function = 0, node = 0;
  Status status = take_status(raw, "npu", &function, &node);
  EXPECT_EQ(status.code(), Code::kBadGraph);
  EXPECT_EQ(status.message(), "npu: odd rank");
  EXPECT_EQ(function, 2);
  EXPECT_EQ(node, 7);
}

TEST(HostStatus, IsFreedOnceTaken) {
  auto before = host_counts().statuses.load();
  byoc_status* raw = host().status_new(host().ctx, BYOC_INTERNAL, -1, -1, nullptr, 0, to_str(""));
  EXPECT_EQ(host_counts().statuses, before + 1);
  EXPECT_EQ(take_status(raw, "npu").message(), "npu: failed without a message");
  EXPECT_EQ(host_counts().statuses, before);
}

TEST(HostStatus, NullIsSuccess) {
  int64_t function = 5;
  EXPECT_TRUE(take_status(nullptr, "npu", &function).ok());
  EXPECT_EQ(function, -1);
}

/// Makes two statuses with a message of `length` bytes, which is too long to be copied, and checks
/// that both are the status that exists from the start.
void expect_the_one_made_before(uint64_t length) {
  byoc_str impossible{"x", length};
  byoc_status* a = host().status_new(host().ctx, BYOC_INTERNAL, -1, -1, nullptr, 0, impossible);
  byoc_status* b = host().status_new(host().ctx, BYOC_INTERNAL, -1, -1, nullptr, 0, impossible);
  EXPECT_EQ(a, b);
  Status status = take_status(a, "npu");
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "npu: out of memory");
  EXPECT_EQ(take_status(b, "npu").message(), "npu: out of memory") << "the status was freed";
}

TEST(HostStatus, OfWordsWithoutEndIsTheOneMadeBefore) { expect_the_one_made_before(UINT64_MAX); }

// When allocation fails, the operator new of the sanitizers ends the process instead of throwing,
// whatever the value of allocator_may_return_null is.
#ifndef BYOC_IS_SANITIZED
TEST(HostStatus, ThatFindsNoMemoryIsTheOneMadeBefore) {
  expect_the_one_made_before(uint64_t{1} << 62);
}
#endif

TEST(HostAlloc, AlignsAndCounts) {
  auto before = host_counts().allocations.load();
  for (uint64_t align : {1, 16, 64, 4096}) {
    void* memory = host().alloc(host().ctx, 100, align);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % align, 0u);
    std::memset(memory, 1, 100);
    host().free(host().ctx, memory);
  }
  host().free(host().ctx, nullptr);
  EXPECT_EQ(host_counts().allocations, before);
}

TEST(HostAlloc, RefusesWhatCannotBe) {
  EXPECT_EQ(host().alloc(host().ctx, UINT64_MAX, 64), nullptr);
  EXPECT_EQ(host().alloc(host().ctx, uint64_t{1} << 60, 64), nullptr);
  EXPECT_EQ(host().alloc(host().ctx, 8, 48), nullptr) << "the alignment is no power of two";
}

TEST(HostParallelFor, CoversTheRangeOnce) {
  ThreadScope scope(2);
  std::vector<std::atomic<int>> seen(1000);
  auto mark = [](void* u, uint64_t lo, uint64_t hi, uint32_t worker) -> int32_t {
    EXPECT_LT(worker, host().max_workers(host().ctx));
    for (uint64_t k = lo; k < hi; ++k) ++(*static_cast<decltype(seen)*>(u))[k];
    return 0;
  };
  EXPECT_EQ(host().parallel_for(host().ctx, seen.size(), 7, mark, &seen), 0);
  for (const auto& times : seen) EXPECT_EQ(times, 1);
}

TEST(HostCancel, IsSeenByThePluginAndProgressByTheHost) {
  Cancellation cancel;
  EXPECT_EQ(host().cancelled(nullptr), 0u);
  EXPECT_EQ(host().cancelled(cancel.raw()), 0u);
  cancel.cancel();
  EXPECT_NE(host().cancelled(cancel.raw()), 0u);
  std::string shown;
  host().progress(cancel.raw(), 500, to_str("not shown yet"));
  cancel.set_progress(
      [&](uint32_t permille, std::string_view what) { shown = cat(permille, " ", what); });
  host().progress(cancel.raw(), 500, to_str("half"));
  host().progress(nullptr, 700, to_str("of nothing"));
  EXPECT_EQ(shown, "500 half");
  host().progress(cancel.raw(), 5000, to_str("too much"));
  EXPECT_EQ(shown, "1000 too much");
}

TEST(HostTime, NeverGoesBack) {
  uint64_t a = host().now_ns(host().ctx), b = host().now_ns(host().ctx);
  EXPECT_LE(a, b);
}

std::shared_ptr<const Buffer> numbers() {
  static const float kValues[] = {1, 2, 3, 4};
  return Buffer::copy(std::as_bytes(std::span(kValues)));
}

TEST(ConstantTable, LendsViewsOfTheBuffers) {
  auto buffer = numbers();
  ConstantTable table;
  ASSERT_TRUE(table.add({"w", buffer->key(), {DType::kF32, {2, 2}}}, buffer).ok());
  const byoc_const& lent = *table.data()[0];
  EXPECT_EQ(text_of(lent.name), "w");
  EXPECT_EQ(lent.view->data, buffer->data());
  EXPECT_EQ(lent.view->ndim, 2);
  EXPECT_EQ(lent.view->shape[1], 2);
  EXPECT_EQ(std::memcmp(lent.key, buffer->key().bytes.data(), 16), 0);
}

TEST(ConstKeep, OutlivesTheTableWithoutACopy) {
  auto buffer = numbers();
  const void* data = buffer->data();
  byoc_held held{};
  {
    ConstantTable table;
    ASSERT_TRUE(table.add({"w", buffer->key(), {DType::kF32, {4}}}, buffer).ok());
    ASSERT_EQ(host().const_keep(table.data()[0]->ref, &held), nullptr);
  }
  buffer.reset();
  EXPECT_EQ(held.view->data, data);
  EXPECT_EQ(held.view->shape[0], 4);
  EXPECT_EQ(static_cast<const float*>(held.view->data)[3], 4);
  held.release(held.ctx);
}

struct Fill {
  std::atomic<int> calls{0};
  byoc_status* result = nullptr;
  static byoc_status* fill(void* u, void* memory, uint64_t n) {
    auto* self = static_cast<Fill*>(u);
    ++self->calls;
    std::memset(memory, 42, n);
    return self->result;
  }
};

byoc_status* packed_get(const std::string& key, uint64_t n, Fill& fill, byoc_held& out) {
  return host().packed_get(host().ctx, {key.data(), key.size()}, n, 64, Fill::fill, &fill, &out);
}

TEST(PackedGet, FillsOncePerKeyHoweverManyAsk) {
  Fill fill;
  std::vector<byoc_held> held(8);
  std::vector<std::thread> threads;
  for (byoc_held& one : held)
    threads.emplace_back([&] { EXPECT_EQ(packed_get("8c:w", 100, fill, one), nullptr); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fill.calls, 1);
  for (const byoc_held& one : held) {
    EXPECT_EQ(one.view->data, held[0].view->data);
    EXPECT_EQ(static_cast<const char*>(one.view->data)[99], 42);
    one.release(one.ctx);
  }
}

TEST(PackedGet, ForgetsWhatNobodyHolds) {
  Fill fill;
  auto before = host_counts().packed.load(), allocations = host_counts().allocations.load();
  for (int k = 0; k < 2; ++k) {
    byoc_held held{};
    ASSERT_EQ(packed_get("key", 8, fill, held), nullptr);
    EXPECT_EQ(host_counts().packed, before + 1);
    held.release(held.ctx);
    EXPECT_EQ(host_counts().packed, before);
  }
  EXPECT_EQ(fill.calls, 2);
  EXPECT_EQ(host_counts().allocations, allocations);
}

TEST(PackedGet, TriesAgainAfterAFillThatFailed) {
  Fill fill;
  fill.result = host().status_new(host().ctx, BYOC_INTERNAL, -1, -1, nullptr, 0, to_str("no"));
  byoc_held held{};
  EXPECT_EQ(take_status(packed_get("k", 8, fill, held), "npu").message(), "npu: no");
  fill.result = nullptr;
  ASSERT_EQ(packed_get("k", 8, fill, held), nullptr);
  EXPECT_EQ(fill.calls, 2);
  held.release(held.ctx);
}

TEST(PackedGet, RefusesOneKeyWithTwoSizes) {
  Fill fill;
  byoc_held held{}, other{};
  ASSERT_EQ(packed_get("k", 8, fill, held), nullptr);
  EXPECT_EQ(take_status(packed_get("k", 16, fill, other), "npu").message(),
            "npu: packed_get: 16 bytes at 64 requested with a key that has 8 at 64");
  held.release(held.ctx);
}

TEST(PackedGet, KeepsKeysOfPluginsApart) {
  Fill fill;
  std::vector<byoc_held> held(3);
  const std::string key = "8c:w";
  const char* plugins[] = {"npu", "gpu", "npu"};
  for (size_t k = 0; k < 3; ++k) {
    const byoc_host& table = *host_table_of(plugins[k]);
    // Another size under the same key would be refused if the key did not include the plugin's id.
    uint64_t bytes = k == 1 ? 200 : 100;
    ASSERT_EQ(table.packed_get(table.ctx, {key.data(), key.size()}, bytes, 64, Fill::fill, &fill,
                               &held[k]),
              nullptr);
  }
  EXPECT_EQ(fill.calls, 2);
  EXPECT_EQ(held[0].view->data, held[2].view->data);
  EXPECT_NE(held[0].view->data, held[1].view->data);
  EXPECT_EQ(held[1].view->shape[0], 200);
  for (byoc_held& one : held) one.release(one.ctx);
}

ContentKey name_of(std::string_view key) { return content_key(std::as_bytes(std::span(key))); }

TEST(PackedScope, KeepsWhatWasPackedForTheNextLoad) {
  Fill fill;
  PackedByName made;
  {
    PackedScope compile;
    byoc_held held{};
    ASSERT_EQ(packed_get("8c:w", 100, fill, held), nullptr);
    made = compile.made();
    held.release(held.ctx);
  }
  ASSERT_EQ(made.size(), 1u);
  auto copy = Buffer::copy(made.at(name_of("8c:w"))->bytes());  // as another process maps it
  made.clear();
  {
    PackedScope load;
    load.stored.emplace(name_of("8c:w"), copy);
    load.before_fill = [] { return failed("nothing is to be filled"); };
    byoc_held held{};
    ASSERT_EQ(packed_get("8c:w", 100, fill, held), nullptr);
    EXPECT_EQ(fill.calls, 1);
    EXPECT_EQ(held.view->data, copy->data());
    EXPECT_EQ(static_cast<const char*>(held.view->data)[99], 42);
    held.release(held.ctx);
  }
  EXPECT_EQ(copy.use_count(), 1);
}

TEST(PackedScope, FillsWhereTheStoredOneHasAnotherNameOrSize) {
  Fill fill;
  PackedScope load;
  load.stored.emplace(name_of("8c:w"), Buffer::copy(std::as_bytes(std::span("short"))));
  for (const char* key : {"8c:w", "16c:w"}) {
    byoc_held held{};
    ASSERT_EQ(packed_get(key, 100, fill, held), nullptr);
    EXPECT_EQ(static_cast<const char*>(held.view->data)[99], 42);
    held.release(held.ctx);
  }
  EXPECT_EQ(fill.calls, 2);
}

TEST(PackedScope, FillsNothingFromDamagedConstants) {
  Fill fill;
  PackedScope load;
  load.before_fill = [] { return data_loss("the constant is damaged"); };
  byoc_held held{};
  Status status = take_status(packed_get("8c:w", 100, fill, held), "npu");
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), "npu: the constant is damaged");
  EXPECT_EQ(fill.calls, 0);
}

TEST(PackedScope, EndsWithItsBlock) {
  Fill fill;
  PackedScope outer;
  {
    PackedScope inner;
    byoc_held held{};
    ASSERT_EQ(packed_get("inner", 8, fill, held), nullptr);
    held.release(held.ctx);
  }
  byoc_held held{};
  ASSERT_EQ(packed_get("outer", 8, fill, held), nullptr);
  held.release(held.ctx);
  EXPECT_EQ(outer.made().size(), 1u);
  EXPECT_TRUE(outer.made().contains(name_of("outer")));
}

TEST(LogLevel, IsWarningUnlessBYOC_LOGSaysOtherwise) {
  EXPECT_EQ(log_level("", "onednn"), 1u);
  EXPECT_EQ(log_level("debug", "onednn"), 3u);
  EXPECT_EQ(log_level("error", "onednn"), 0u);
  EXPECT_EQ(log_level("loader=trace", "onednn"), 1u);
  EXPECT_EQ(log_level("loader=trace", "loader"), 4u);
  EXPECT_EQ(log_level("info,onednn=debug", "onednn"), 3u);
  EXPECT_EQ(log_level("nonsense", "onednn"), 1u);
}

TEST(Log, PrintsWhoAndHowBad) {
  testing::internal::CaptureStderr();
  host().log(host().ctx, 1, to_str("npu"), to_str("it is getting warm"));
  host().log(host().ctx, 3, to_str("npu"), to_str("details"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "npu: warning: it is getting warm\n");
}

}  // namespace
}  // namespace byoc
