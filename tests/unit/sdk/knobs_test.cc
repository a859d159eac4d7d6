// SPDX-License-Identifier: Apache-2.0
// A plugin of the SDK with a knob: the space that it writes, the points that compile gets, and the
// points that an artifact keeps. The host is a table of this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/plugin/sdk.h"

namespace byoc::sdk {
namespace {

constexpr std::string_view kTunedGraph =
    R"({"format":"byoc.graph","version":1,"types":[{"dtype":"f32","shape":[2]}],
        "inputs":[{"name":"x","type":0}],
        "nodes":[{"op":"relu","version":1,"args":[["i",0]],"types":[0],"attrs":{}}],
        "outputs":[["n",0,0]]})";

/// A kernel that runs nothing and is called as its point.
class Named : public Kernel {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {}
  KernelInfo info() const override {
    KernelInfo info;
    info.implementation = name_;
    return info;
  }
  void run(const Call&) const override {}

 private:
  std::string name_;
};

class Tunable : public Plugin {
 public:
  std::vector<Pattern> patterns() const override { return {}; }
  KnobSpace knobs(CompileRequest& request) override {
    if (!request.functions[0].point.empty()) throw Error(BYOC_INTERNAL, "knobs got a point");
    return space();
  }
  static KnobSpace space() {
    return {"relu 2", "loop", 2, 16, {{"block", {"1", "8"}}}, {{{"block", "8"}}}};
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    if (function.point.empty()) return std::make_unique<Named>("own");
    space().check(function.point);
    return std::make_unique<Named>("block " + function.point.at("block"));
  }
};
using TunableTable = detail::Glue<Tunable>;

uint32_t last_code = 0;
std::string last_message;
byoc_status* status_new(byoc_host_ctx*, uint32_t code, int64_t, int64_t, const char*, uint32_t,
                        byoc_str message) {
  last_code = code;
  last_message = to_view(message);
  static int status;
  return reinterpret_cast<byoc_status*>(&status);
}

const byoc_host& fake_host() {
  static const byoc_host host = [] {
    byoc_host table{};
    table.h = {sizeof table, BYOC_TAG_HOST, nullptr};
    table.status_new = status_new;
    return table;
  }();
  return host;
}

byoc_sink sink_to(std::string& text) {
  byoc_sink sink{};
  sink.h = {sizeof sink, BYOC_TAG_SINK, nullptr};
  sink.u = &text;
  sink.write = [](void* u, const void* bytes, uint64_t n) noexcept -> byoc_status* {
    static_cast<std::string*>(u)->append(static_cast<const char*>(bytes), n);
    return nullptr;
  };
  return sink;
}

/// The request of one function, with a point.
struct Request {
  explicit Request(std::string_view point = "") {
    function.h = {sizeof function, BYOC_TAG_FUNCTION, nullptr};
    function.symbol = to_str("f");
    function.graph_json = to_str(kTunedGraph);
    function.point = to_str(point);
    raw.h = {sizeof raw, BYOC_TAG_COMPILE, nullptr};
    raw.functions = &pointer;
    raw.n_functions = 1;
    raw.options_json = raw.target_json = to_str("{}");
    raw.threads = 1;
  }
  Request(const Request&) = delete;
  byoc_function function{};
  const byoc_function* pointer = &function;
  byoc_compile raw{};
};

/// The bytes that a module saves, with their format.
struct Blob {
  std::string bytes, compat;
};

class Knobs : public ::testing::Test {
 protected:
  Knobs() {
    detail::host_pointer = &fake_host();  // as the entry does
    EXPECT_EQ(TunableTable::open(&fake_host(), {}, &instance_), nullptr);
  }
  ~Knobs() override { TunableTable::close(instance_); }
  byoc_module* compiled(std::string_view point) {
    Request request(point);
    byoc_module* module = nullptr;
    EXPECT_EQ(TunableTable::compile(instance_, &request.raw, &module), nullptr) << last_message;
    return module;
  }
  static Blob saved(byoc_module* module) {
    Blob out;
    byoc_sink sink = sink_to(out.bytes);
    byoc_save io{};
    io.h = {sizeof io, BYOC_TAG_SAVE, nullptr};
    io.blob = &sink;
    EXPECT_EQ(TunableTable::save(module, &io), nullptr);
    out.compat = to_view(io.compat);
    return out;
  }
  byoc_module* loaded(const Blob& blob) {
    byoc_load request{};
    request.h = {sizeof request, BYOC_TAG_LOAD, nullptr};
    request.blob = {blob.bytes.data(), blob.bytes.size()};
    request.compat = to_str(blob.compat);
    request.options_json = to_str("{}");
    request.threads = 1;
    byoc_module* module = nullptr;
    byoc_status* status = TunableTable::load(instance_, &request, &module);
    return status == nullptr ? module : nullptr;
  }
  /// The name of the kernel of "f"; releases the module.
  static std::string kernel_of(byoc_module* module) {
    if (module == nullptr) return "no module: " + last_message;
    byoc_kernel* kernel = nullptr;
    EXPECT_EQ(TunableTable::kernel(module, to_str("f"), &kernel), nullptr);
    byoc_kernel_info info{};
    info.h = {sizeof info, BYOC_TAG_KERNEL_INFO, nullptr};
    EXPECT_EQ(TunableTable::info(kernel, &info), nullptr);
    std::string name(to_view(info.implementation));
    TunableTable::release(module);
    return name;
  }
  uint32_t level(const std::string& compat) {
    uint32_t out = 0;
    EXPECT_EQ(TunableTable::compat(instance_, to_str(compat), &out), nullptr);
    return out;
  }
  byoc_instance* instance_ = nullptr;
};

TEST_F(Knobs, WritesTheSpace) {
  Request request;
  std::string text;
  byoc_sink sink = sink_to(text);
  ASSERT_EQ(TunableTable::knobs(instance_, &request.raw, &sink), nullptr) << last_message;
  auto space = nlohmann::json::parse(text);
  EXPECT_EQ(space, nlohmann::json::parse(
                       R"({"task":"relu 2","kind":"loop","flops":2,"bytes":16,
                           "knobs":[{"name":"block","values":["1","8"]}],
                           "guesses":[{"block":"8"}]})"));
}

TEST_F(Knobs, AreOfOneFunction) {
  Request request;
  request.raw.n_functions = 0;
  std::string text;
  byoc_sink sink = sink_to(text);
  EXPECT_NE(TunableTable::knobs(instance_, &request.raw, &sink), nullptr);
  EXPECT_EQ(last_code, uint32_t{BYOC_INVALID_ARGUMENT});
}

TEST_F(Knobs, GiveCompileThePoint) {
  EXPECT_EQ(kernel_of(compiled("")), "own");
  EXPECT_EQ(kernel_of(compiled(R"({"block":"1"})")), "block 1");
}

TEST_F(Knobs, OfAHostWithoutPointsAreThePluginsChoice) {
  Request request(R"({"block":"1"})");
  request.function.h.size = offsetof(byoc_function, point);  // minor 2
  byoc_module* module = nullptr;
  ASSERT_EQ(TunableTable::compile(instance_, &request.raw, &module), nullptr);
  EXPECT_EQ(kernel_of(module), "own");
}

TEST_F(Knobs, RefuseWhatIsNoPoint) {
  for (const char* point : {"[]", "{", R"({"block":1})", R"({"block":"3"})", "\"block\""}) {
    Request request(point);
    byoc_module* module = nullptr;
    EXPECT_NE(TunableTable::compile(instance_, &request.raw, &module), nullptr) << point;
    EXPECT_EQ(last_code, uint32_t{BYOC_INVALID_ARGUMENT}) << point;
  }
}

TEST(KnobSpace, NamesTheKnobOfAPointOutsideOfIt) {
  const KnobSpace space = Tunable::space();
  auto refusal = [&](const Point& point) -> std::string {
    try {
      space.check(point);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.code, uint32_t{BYOC_INVALID_ARGUMENT});
      return e.message();
    }
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"block", "8"}}), "");
  const std::string begin = "the point is outside of the knob space: ";
  EXPECT_EQ(refusal({{"block", "3"}}), begin + "\"block\" is \"3\", and not one of 1, 8");
  EXPECT_EQ(refusal({{"more", "3"}}), begin + "it has no value for \"block\"");
  EXPECT_EQ(refusal({{"block", "1"}, {"more", "3"}}), begin + "it has a knob that the space lacks");
}

TEST_F(Knobs, AreKeptInTheArtifact) {
  byoc_module* module = compiled(R"({"block":"1"})");
  const Blob blob = saved(module);
  TunableTable::release(module);
  EXPECT_EQ(blob.compat, "byoc-graphs-points/1");
  EXPECT_EQ(level(blob.compat), 3u);
  EXPECT_EQ(kernel_of(loaded(blob)), "block 1");
}

TEST_F(Knobs, ChangeNoByteOfAnArtifactWithoutPoints) {
  byoc_module* module = compiled("");
  const Blob blob = saved(module);
  TunableTable::release(module);
  std::string expected(8, '\0');
  expected[0] = 1;
  expected += 'f';
  std::string size(8, '\0');
  for (size_t k = 0; k < 8; ++k) size[k] = static_cast<char>(kTunedGraph.size() >> 8 * k & 0xFF);
  EXPECT_EQ(blob.bytes, expected + size + std::string(kTunedGraph));
  EXPECT_EQ(blob.compat, "byoc-graphs/1");
  EXPECT_EQ(kernel_of(loaded(blob)), "own");
}

TEST_F(Knobs, OfADamagedArtifactAreRefused) {
  byoc_module* module = compiled(R"({"block":"1"})");
  const Blob blob = saved(module);
  TunableTable::release(module);
  for (size_t size = 1; size < blob.bytes.size(); ++size) {
    EXPECT_EQ(loaded({blob.bytes.substr(0, size), blob.compat}), nullptr) << size;
    EXPECT_EQ(last_code, uint32_t{BYOC_DATA_LOSS}) << size;
  }
  EXPECT_EQ(level("byoc-graphs-points/2"), 1u);
}

}  // namespace
}  // namespace byoc::sdk
