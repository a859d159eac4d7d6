// SPDX-License-Identifier: Apache-2.0
// byoc bench --ops: the table against the page of what is supported, elements of operands, and the
// command beside an ONNX Runtime of this test, which copies its input.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "core/tools/model/model_options.h"
#include "core/tools/ops_bench/op_model.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Not;

const std::string kTable = std::string(BYOC_SOURCE_DIR) + "/bench/ops/cases.json";
const std::string kQuick = " --min-time 0 --rounds 1";

// The two modules that peer.py imports. Arrays are the bytes of files; a session replies with its
// input, and FAKE_FAULT changes the last byte, ends the process, or refuses the model.
constexpr const char* kNumpy = R"(class Array:
    shape = ()
    def __init__(self, data): self.data = data
    def reshape(self, shape): return self
def load(path): return Array(open(path, "rb").read())
def save(path, array): open(path, "wb").write(array.data)
def ascontiguousarray(array): return array
)";
constexpr const char* kOnnxRuntime = R"(import os
import numpy
FAULT = os.environ.get("FAKE_FAULT", "")
__version__ = "7.8.9"
def set_default_logger_severity(level): pass
class SessionOptions:
    def add_session_config_entry(self, name, value): pass
class OrtValue:
    @staticmethod
    def ortvalue_from_numpy(value): return value
class Output: name = "out_0"
class Binding:
    def bind_ortvalue_input(self, name, value): self.value = value
    def bind_output(self, name): pass
    def copy_outputs_to_cpu(self):
        data = self.value.data
        return [numpy.Array(data[:-1] + bytes([data[-1] ^ 64])) if FAULT == "value" else self.value]
class InferenceSession:
    def __init__(self, model, options, providers):
        if FAULT == "end": os._exit(5)
        if FAULT == "refuse": raise ValueError("no kernel for this model")
    def io_binding(self): return Binding()
    def get_outputs(self): return [Output()]
    def run_with_iobinding(self, binding): pass
)";

/// A byoc whose Python has the two modules above.
class WithPeer {
 public:
  explicit WithPeer(const std::string& fault = "", const std::string& before = "")
      : byoc_(cat("PYTHONDONTWRITEBYTECODE=1 FAKE_FAULT=", fault, " PYTHONPATH=", folder_.file("."),
                  " ", before, BYOC_BUILD_DIR, "/bin/byoc")) {
    put(folder_.file("numpy.py"), kNumpy);
    put(folder_.file("onnxruntime.py"), kOnnxRuntime);
  }
  Byoc& operator*() { return byoc_; }

 private:
  TempFolder folder_;
  Byoc byoc_;
};

/// Returns the operators of the page's second table.
std::set<std::string> supported_operators() {
  std::set<std::string> out;
  std::ifstream page(std::string(BYOC_SOURCE_DIR) + "/docs/support.md");
  bool is_second = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_second = line.starts_with("## Operators of ONNX, opsets");
    if (is_second && line.size() > 2 && line.starts_with("| ") && std::isupper(line[2]))
      out.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return out;
}

TEST(OpTable, HasThreeSizesOrAReasonForEachSupportedOperator) {
  auto table = driver::read_op_table(kTable);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  std::map<std::string, int> cases;
  for (const driver::OpCase& one : table->cases) ++cases[one.op];
  const std::set<std::string> supported = supported_operators();
  EXPECT_THAT(supported.size(), Ge(180u));
  for (const std::string& op : supported) {
    const bool has_reason = table->without.contains(op);
    EXPECT_NE(cases.contains(op), has_reason) << op << " needs cases or a reason, and not both";
    EXPECT_THAT(cases[op], Ge(has_reason ? 0 : 3)) << op;
  }
  for (const auto& [op, count] : cases) EXPECT_TRUE(supported.contains(op)) << op;
  for (const auto& [op, why] : table->without) EXPECT_TRUE(supported.contains(op)) << op;
}

TEST(OpTable, NamesTheModelOfEachSizeAndRepeatsNoCase) {
  auto table = driver::read_op_table(kTable);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  std::set<std::string> seen;
  for (const driver::OpCase& one : table->cases) {
    EXPECT_FALSE(one.from.empty()) << one.op << " " << one.shapes;
    EXPECT_TRUE(seen.insert(cat(one.op, one.shapes, one.nodes.dump(), one.from)).second)
        << one.op << " " << one.shapes << ", " << one.from;
  }
}

TEST(OpTable, HasModelsThatByocReads) {
  auto table = driver::read_op_table(kTable);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  TempFolder folder;
  for (const driver::OpCase& one : table->cases) {
    auto files = driver::write_case(one, folder.file("."), 0);
    ASSERT_TRUE(files.ok()) << one.op << ": " << files.status().to_string();
    driver::ModelOptions model;
    model.model = files->model;
    auto read = driver::load_model(model);
    EXPECT_TRUE(read.ok()) << one.op << " " << one.shapes << ": " << read.status().to_string();
  }
}

Result<driver::OpTable> table_with(const Byoc& byoc, const std::string& operand) {
  return driver::read_op_table(byoc.write(
      "t.json",
      cat(R"({"without":{},"cases":[{"op":"Relu","from":"a","in":[")", operand, "\"]}]}")));
}

TEST(OpTable, RefusesOperandsWithoutAMeaning) {
  Byoc byoc;
  for (const char* operand : {"f32[2", "f32[2] in 1", "f32[2] in 2..1", "f32[2] in 0..1 twice"}) {
    auto table = table_with(byoc, operand);
    EXPECT_FALSE(table.ok()) << operand;
    EXPECT_THAT(table.status().to_string(), HasSubstr("t.json, case 1")) << operand;
  }
  auto without_file = driver::read_op_table(byoc.file("none.json"));
  EXPECT_EQ(without_file.status().slug(), "ops-table");
}

template <class T>
std::vector<T> elements(const Byoc& byoc, const std::string& operand) {
  auto table = table_with(byoc, operand);
  EXPECT_TRUE(table.ok()) << table.status().to_string();
  auto tensor = driver::values_of(table->cases[0].operands[0], 7);
  EXPECT_TRUE(tensor.ok()) << tensor.status().to_string();
  const T* begin = reinterpret_cast<const T*>(tensor->data());
  return std::vector<T>(begin, begin + num_elements(tensor->spec()));
}

TEST(OpTable, MakesElementsOfTheRange) {
  Byoc byoc;
  EXPECT_EQ(elements<int64_t>(byoc, "i64[3]=4,5,6"), (std::vector<int64_t>{4, 5, 6}));
  EXPECT_THAT(elements<float>(byoc, "f32[100] in 2..3"), Each(AllOf(Ge(2.f), Le(3.f))));
  auto indices = elements<int64_t>(byoc, "i64[2,5] in 10..19 distinct");
  std::sort(indices.begin(), indices.end());
  EXPECT_EQ(indices, (std::vector<int64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  auto bytes = elements<uint8_t>(byoc, "u8[1000] in 3..4");
  EXPECT_THAT(bytes, Each(AllOf(Ge(3), Le(4))));
  EXPECT_NE(std::count(bytes.begin(), bytes.end(), 3), 0);
  EXPECT_NE(std::count(bytes.begin(), bytes.end(), 4), 0);
}

TEST(OpsBench, HasTheTimesOfThePeerAndTheirRatio) {
  WithPeer peer;
  Ran ran = (*peer)("bench --ops=Identity" + kQuick + " --threads 1,2 --compiler json");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("BERT-base, feed-forward"));
  EXPECT_THAT(ran.out, HasSubstr("geometric mean of 3 ratios on 1 thread: "));
  EXPECT_THAT(ran.out, HasSubstr("geometric mean of 3 ratios on 2 threads: "));
  const Json json = (*peer).json("bench --ops=Identity" + kQuick + " --compiler json");
  EXPECT_EQ(json["peer"], "onnxruntime 7.8.9");
  ASSERT_EQ(json["cases"].size(), 3u);
  double last = std::numeric_limits<double>::infinity();
  for (const Json& one : json["cases"]) {
    const double ratio = one["ratio"];
    EXPECT_DOUBLE_EQ(ratio,
                     one["byoc"]["time_ns"].get<double>() / one["peer"]["time_ns"].get<double>());
    EXPECT_LE(ratio, last) << "the worst comes first";
    EXPECT_EQ(one["compared_with"], "onnxruntime");
    last = ratio;
  }
}

TEST(OpsBench, SeesAWrongResult) {
  WithPeer peer("value");
  Ran ran = (*peer)("bench --ops=Identity" + kQuick + " --compiler json");
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("WRONG results:\n  Identity f32[1,96,112,112], 1 thread: "));
  ran = (*peer)("bench --ops=Identity --no-check" + kQuick + " --compiler json");
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST(OpsBench, GoesOnWhenThePeerEndsOrRefuses) {
  for (const auto& [fault, why] : std::map<std::string, std::string>{
           {"end", "it ended with exit code 5"}, {"refuse", "no kernel for this model"}}) {
    WithPeer peer(fault);
    Ran ran = (*peer)("bench --ops=Identity" + kQuick + " --compiler json");
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("refused by onnxruntime:\n"));
    EXPECT_THAT(ran.out, HasSubstr(why));
    EXPECT_THAT(ran.out, HasSubstr("ResNet-50, stage 5")) << "all three have times of byoc";
  }
}

TEST(OpsBench, HasItsOwnTimesWithoutAPeer) {
  Byoc byoc;
  Ran ran = byoc("bench --ops=Relu --python /bin/false" + kQuick + " --compiler json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("ResNet-50, stage 5"));
  EXPECT_THAT(ran.out, HasSubstr("no times of onnxruntime: "));
  EXPECT_THAT(ran.out, HasSubstr("help: /bin/false -m pip install numpy onnxruntime"));
  EXPECT_THAT(ran.out, Not(HasSubstr("geometric mean")));
  const Json json = byoc.json("bench --ops=Relu --python none-such" + kQuick + " --compiler json");
  EXPECT_TRUE(json["peer"].is_null());
  EXPECT_EQ(json["cases"][0]["compared_with"], "json");
}

TEST(OpsBench, ComparesResultsWithCountedSizes) {
  Byoc byoc;
  Ran ran = byoc("bench --ops=NonZero --python /bin/false --compiler onednn" + kQuick);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("mask of pixels"));
}

TEST(OpsBench, ListsWhatByocRefuses) {
  Byoc byoc;
  const std::string table = byoc.write("t.json", R"({"without":{"Shape":"nothing runs"},"cases":[
    {"op":"Relu","from":"a","in":["f32[2]"]},
    {"op":"RandomNormal","from":"b","in":[],"attrs":{"shape":[2]}}]})");
  Ran ran = byoc("bench --ops --python /bin/false --compiler json --table " + table + kQuick);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("refused by byoc:\n  RandomNormal"));
}

TEST(OpsBench, RefusesWhatItCannotMeasure) {
  Byoc byoc;
  const std::map<std::string, std::string> faults = {
      {"--ops=Realu", "did you mean \"Relu\"?"},
      {"--ops=Shape", "Shape has no case: "},
      {"--ops m.ir", "leave out MODEL and --op"},
      {"--ops --op relu", "leave out MODEL and --op"},
      {"--ops --vs level=1", "no --vs"},
      {"--ops --shape x=1", "leave out --shape"},
      {"--ops --attr a=1", "--attr and --weight"},
      {"m.ir --table t.json", "--python and --table are for --ops"},
      {"--ops --rounds 0", "--rounds expects 1 or more"},
      {"--ops --threads one", "--threads expects numbers"}};
  for (const auto& [flags, message] : faults) {
    Ran ran = byoc("bench " + flags);
    EXPECT_EQ(ran.code, 2) << flags << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message)) << flags;
  }
}

TEST(OpsBench, ShowsWhatItHasWhenItIsInterrupted) {
  Ran ran;
  for (int seconds = 3; ran.out.empty() && seconds <= 96; seconds *= 2) {
    WithPeer peer("", cat("timeout --preserve-status -s INT ", seconds, " "));
    ran = (*peer)("bench --ops=Identity,Relu --compiler json --min-time 0.5 --no-check");
    if (ran.code == 0) ran = (*peer)("bench --ops=Identity --compiler json --min-time 60");
  }
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Identity"));
  EXPECT_THAT(ran.err, HasSubstr("error[interrupted]"));
}

}  // namespace
}  // namespace byoc::test
