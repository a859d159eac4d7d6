// SPDX-License-Identifier: Apache-2.0
#include "core/tools/ops_bench/op_cases.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "byoc/base/literal.h"
#include "runtime/cli/values.h"

namespace byoc::driver {
namespace {

constexpr int kOpset = 21;  // of cases that name none: the newest of which ORT has all kernels

/// Splits off the text before `end`; all of it when there is none.
std::string_view take(std::string_view& text, std::string_view end) {
  const size_t at = std::min(text.find(end), text.size());
  std::string_view out = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return out;
}

bool parse_number(std::string_view text, double& out) {
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

/// Parses "const i64[3] in 0..9 distinct" and "f32[2]=0.5,1".
Result<CaseOperand> parse_operand(const std::string& name, std::string_view text) {
  CaseOperand out;
  out.name = name;
  const std::string whole(text);
  if (text.starts_with("const ")) out.is_constant = true, text.remove_prefix(6);
  if (size_t at = text.find('='); at != text.npos) {
    out.values = text.substr(at + 1);
    text = text.substr(0, at);
  }
  BYOC_TRY(out.spec, parse_tensor_spec(take(text, " in ")));
  if (text.empty()) return out;
  out.has_range = true;
  const bool fits = parse_number(take(text, ".."), out.low) &&
                    parse_number(take(text, " "), out.high) && out.low <= out.high;
  out.is_distinct = text == "distinct";
  if (!fits || !(text.empty() || out.is_distinct))
    return table_error(cat("\"", whole, "\" is no operand: it has the form \"f32[2,3] in 0..1\""));
  return out;
}

std::vector<std::string> strings_of(const Json& json) {
  std::vector<std::string> out;
  for (const Json& one : json) out.push_back(one.get<std::string>());
  return out;
}

/// Fills the operands and the node of a case with "in": the inputs of one node, in its order.
Status add_node(const Json& row, OpCase& to) {
  Json names = Json::array(), outputs = Json::array();
  for (const std::string& text : strings_of(row.at("in"))) {
    const std::string name = text.empty() ? "" : cat("in_", names.size());
    names.push_back(name);
    if (text.empty()) continue;
    BYOC_TRY(CaseOperand operand, parse_operand(name, text));
    to.operands.push_back(std::move(operand));
  }
  for (int k = 0; k < row.value("out", 1); ++k) outputs.push_back(cat("out_", k));
  to.outputs = strings_of(outputs);
  to.nodes = Json::array({{{"op", to.op},
                           {"domain", row.value("domain", "")},
                           {"in", std::move(names)},
                           {"out", std::move(outputs)},
                           {"attrs", row.value("attrs", Json::object())}}});
  return {};
}

/// Fills them for a case with "nodes", whose operands have names.
Status add_nodes(const Json& row, OpCase& to) {
  to.nodes = row.at("nodes");
  for (const auto& [name, text] : row.at("operands").items()) {
    BYOC_TRY(CaseOperand operand, parse_operand(name, text.get<std::string>()));
    to.operands.push_back(std::move(operand));
  }
  to.outputs = strings_of(row.at("out"));
  return {};
}

Result<OpCase> parse_case(const Json& row) {
  OpCase out;
  out.op = row.at("op").get<std::string>();
  out.from = row.at("from").get<std::string>();
  out.opset = row.value("opset", kOpset);
  out.tolerance = row.value("tolerance", -1.0);
  out.steps = row.value("steps", 0.0);
  BYOC_TRY_STATUS(row.contains("nodes") ? add_nodes(row, out) : add_node(row, out));
  for (const CaseOperand& operand : out.operands)
    out.shapes += cat(out.shapes.empty() ? "" : " ", operand.spec);
  return out;
}

uint64_t next(uint64_t& state) {  // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Returns the numbers of the range in a random order.
std::vector<double> permuted_range(double low, double high, uint64_t& state) {
  std::vector<double> all(static_cast<size_t>(high - low) + 1);
  std::iota(all.begin(), all.end(), low);
  for (size_t k = all.size(); k > 1; --k) std::swap(all[k - 1], all[next(state) % k]);
  return all;
}

template <class T>
void store_as(double value, std::byte* to) {
  T element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof element);
}

bool store(DType dtype, double value, std::byte* to) {
  switch (dtype) {
    case DType::kF32:
      return store_as<float>(value, to), true;
    case DType::kF64:
      return store_as<double>(value, to), true;
    case DType::kI64:
      return store_as<int64_t>(value, to), true;
    case DType::kI32:
      return store_as<int32_t>(value, to), true;
    case DType::kI8:
      return store_as<int8_t>(value, to), true;
    case DType::kU8:
      return store_as<uint8_t>(value, to), true;
    default:
      return parse_element(cat(value), dtype, to);
  }
}

Status fill_range(const CaseOperand& operand, uint64_t seed, Tensor& tensor) {
  uint64_t state = seed;
  std::vector<double> order;
  if (operand.is_distinct) order = permuted_range(operand.low, operand.high, state);
  const size_t size = dtype_size(operand.spec.dtype);
  const bool is_whole = !is_float(operand.spec.dtype);
  for (size_t k = 0; k * size < tensor.size_bytes(); ++k) {
    const double share = static_cast<double>(next(state) >> 11) * 0x1p-53;
    double value = operand.low + share * (operand.high - operand.low + (is_whole ? 1 : 0));
    if (is_whole) value = std::min(std::floor(value), operand.high);
    if (operand.is_distinct) value = order[k % order.size()];
    if (!store(operand.spec.dtype, value, tensor.data() + k * size))
      return table_error(cat("operand ", operand.name, ": ", value, " is no ", operand.spec.dtype));
  }
  return {};
}

}  // namespace

std::string installed_ops_file(const std::string& file) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path().parent_path() / "share/byoc/ops" / file).string();
}

Result<OpTable> read_op_table(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    return not_found(cat("cannot read the table of operators ", path))
        .with_slug("ops-table")
        .with_help("it is installed with byoc; --table names another one, bench/ops/cases.json");
  auto parsed = parse_json(text.str());
  if (!parsed.ok()) return std::move(parsed.status()).at(path);
  OpTable out;
  size_t number = 0;
  try {
    for (const auto& [op, why] : parsed->at("without").items()) out.without[op] = why;
    for (const Json& row : parsed->at("cases")) {
      ++number;
      auto one = parse_case(row);
      if (!one.ok()) return std::move(one.status()).at(cat(path, ", case ", number));
      out.cases.push_back(*std::move(one));
    }
  } catch (const std::exception& e) {
    return table_error(e.what()).at(cat(path, ", case ", number));
  }
  return out;
}

Result<Tensor> values_of(const CaseOperand& operand, uint64_t seed) {
  if (!operand.values.empty()) return cli::parse_value(operand.values, &operand.spec, seed, {});
  BYOC_TRY(Tensor out, Tensor::make(operand.spec));
  if (operand.has_range) BYOC_TRY_STATUS(fill_range(operand, seed, out));
  else fill_random(out, seed);
  return out;
}

}  // namespace byoc::driver
