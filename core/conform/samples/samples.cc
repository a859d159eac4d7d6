// SPDX-License-Identifier: Apache-2.0
#include "core/conform/samples/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "byoc/base/check.h"
#include "byoc/text/text.h"
#include "core/conform/samples/sample_table.h"
#include "core/op/kernel/convert.h"

namespace byoc::conform {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    size_t end = std::min(text.find(separator), text.size());
    out.push_back(trimmed(text.substr(0, end)));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

double number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  BYOC_CHECK(error == std::errc() && end == text.data() + text.size(), "no number: ", text);
  return value;
}

/// The type and the values of an operand, parsed from "T[2,3]:0..4" for a dtype T.
struct Operand {
  std::string type;
  Domain domain;
};

Operand parse_operand(std::string_view text, DType dtype) {
  Operand out;
  std::string_view type = text.substr(0, text.find(':'));
  if (type.starts_with("T")) out.type = cat(dtype, type.substr(1));
  else out.type = std::string(type);
  if (type.size() == text.size()) return out;
  std::string_view range = text.substr(type.size() + 1);
  size_t dots = range.find("..");
  out.domain = {number(range.substr(0, dots)), number(range.substr(dots + 2))};
  return out;
}

bool names(std::string_view list, std::string_view op) {
  auto words = pieces(list, ' ');
  return std::find(words.begin(), words.end(), op) != words.end();
}

/// Returns the rows that name the op; without any, rows that its fusion kind and operands allow.
std::vector<SampleRow> rows_of(const OpDef& op) {
  std::vector<SampleRow> rows;
  for (const SampleRow& row : sample_rows()) {
    if (names(row.ops, op.name)) rows.push_back(row);
  }
  bool open = std::any_of(op.attrs.begin(), op.attrs.end(),
                          [](const AttrSpec& attr) { return attr.need == AttrSpec::kRequired; });
  bool has_axes = std::any_of(op.attrs.begin(), op.attrs.end(),
                              [](const AttrSpec& attr) { return attr.name == "axes"; });
  if (open) return rows;
  bool only_rows = !rows.empty() && rows[0].attrs.empty();  // with a domain of their own
  if (op.kind == FusionKind::kElementwise && op.inputs.size() == 1 && !only_rows)
    rows.insert(rows.begin(), {op.name, kUnary, ""});
  if (!rows.empty()) return rows;
  if (op.inputs.size() == 1 && op.kind == FusionKind::kReduction && has_axes)
    return {{op.name, kReduced, kReductions}, {op.name, "T[0,3] | T[2,0]", "axes=[1]"}};
  if (op.inputs.size() == 2 && op.kind == FusionKind::kBroadcast) return {{op.name, kBinary, ""}};
  return rows;
}

template <class T>
T element(double value) {
  if constexpr (std::is_same_v<T, bool>) return value > 0;
  else if constexpr (std::is_integral_v<T>) return op::saturated<T>(value);
  else return static_cast<T>(static_cast<op::Compute<T>>(value));
}

template <class T>
T special_element(Special special, uint64_t which, double usual) {
  if constexpr (std::is_integral_v<T>) {
    return element<T>(usual);
  } else {
    using Limits = std::numeric_limits<T>;
    if (which == 0) return Limits::denorm_min();
    if (which == 1) return static_cast<T>(-0.0f);
    if (which == 2 && special >= Special::kInfinities) return Limits::infinity();
    if (which == 3 && special >= Special::kInfinities) return -Limits::infinity();
    if (which == 4 && special >= Special::kNans) return Limits::quiet_NaN();
    return element<T>(usual);
  }
}

}  // namespace

std::vector<const OpDef*> ops_to_check() {
  std::vector<const OpDef*> ops = all_ops().all();
  // Samples have results of known sizes, which ops that count do not give; ops without operands are
  // constants then.
  std::erase_if(
      ops, [](const OpDef* op) { return op->is_annotation || op->sizes || op->inputs.empty(); });
  return ops;
}

std::optional<Program> program_of(const OpDef& op, std::string_view operands,
                                  std::string_view attrs, DType dtype) {
  Program out;
  std::string params, args, types;
  for (std::string_view word : pieces(operands, ' ')) {
    Operand operand = parse_operand(word, dtype);
    std::string comma = out.domains.empty() ? "" : ", ";
    params += cat(comma, "%x", out.domains.size(), ": ", operand.type);
    args += cat(comma, "%x", out.domains.size());
    types += cat(" ", operand.type);
    out.domains.push_back(operand.domain);
  }
  std::string given = attrs.empty() ? "" : cat(" {", attrs, "}");
  Result<IRModule> module = parse_module(
      cat("fn main(", params, ") { %0 = ", op.name, "(", args, ")", given, " return %0 }"),
      all_ops());
  if (!module.ok()) return std::nullopt;
  Function& main = module->function("main");
  const uint32_t last = static_cast<uint32_t>(main.nodes.size() - 1);
  const Node& node = main.nodes[last];
  main.results.clear();
  std::vector<TypeId> in, results;
  for (uint32_t k = 0; k < node.types.size(); ++k) {
    main.results.push_back({last, k});
    results.push_back(node.types[k]);
  }
  for (ValueId arg : main.args(node)) in.push_back(main.type(arg));
  const Attrs& complete = *std::get<Call>(node.kind).attrs;
  if (!op.reference || !op.reference(in, results, complete).ok()) return std::nullopt;
  out.label = cat(op.name, types, given);
  out.op = &op;
  out.dtype = dtype;
  out.module = *std::move(module);
  return out;
}

std::vector<Program> programs_of(const OpDef& op, Level level) {
  std::vector<Program> out;
  auto rows = rows_of(op);
  bool has_first = false;  // a dtype with all alternatives; core tries one of each other
  for (int d = 0; d < kDTypeCount; ++d) {
    size_t before = out.size();
    bool all = level == Level::kFull || !has_first;
    for (const SampleRow& row : rows) {
      for (std::string_view operands : pieces(row.operands, '|')) {
        for (std::string_view attrs : pieces(row.attrs, '|')) {
          if (!all && out.size() > before) continue;
          if (auto program = program_of(op, operands, attrs, static_cast<DType>(d)))
            out.push_back(*std::move(program));
        }
      }
    }
    has_first |= out.size() > before;
  }
  return out;
}

const std::vector<Program>& kept_programs_of(const OpDef& op, Level level) {
  static auto& kept = *new std::map<std::pair<const OpDef*, Level>, std::vector<Program>>;
  auto [at, is_new] = kept.try_emplace({&op, level});
  if (is_new) at->second = programs_of(op, level);
  return at->second;
}

std::vector<std::string> ops_without_samples() {
  std::vector<std::string> out;
  for (const OpDef* op : ops_to_check()) {
    if (kept_programs_of(*op, Level::kCore).empty()) out.push_back(op->name);
  }
  return out;
}

std::optional<Domain> large_domain(const TensorType& type, Domain usual, bool is_exact) {
  if (usual != Domain()) return std::nullopt;
  constexpr double kLargest = 120;  // whose exp is no f32
  if (type.dtype == DType::kF32 || type.dtype == DType::kF64) return Domain{-kLargest, kLargest};
  if (!is_int(type.dtype) || !is_exact) return std::nullopt;
  const double half = std::ldexp(1.0, static_cast<int>(8 * dtype_size(type.dtype)) - 1);
  return !is_signed_int(type.dtype) ? Domain{0, 2 * half - 1} : Domain{-half, half - 1};
}

Special most_special(const OpDef& op) {
  constexpr std::string_view kChoosing =
      "relu leaky_relu prelu thresholded_relu clip maximum minimum max min hard_sigmoid hard_swish";
  // For a window of -inf alone oneDNN returns the lowest finite number, its initial value.
  constexpr std::string_view kWindows = "max_pool global_max_pool";
  if (names(kWindows, op.name)) return Special::kDenormals;
  return names(kChoosing, op.name) ? Special::kInfinities : Special::kNans;
}

Program with_constants(const Program& program, uint64_t seed) {
  Program out = program;
  const Function& main = program.module.function("main");
  Function now;
  std::vector<ValueId> args;
  for (uint32_t k = 0; k < main.num_params(); ++k) {
    TypeId type = main.nodes[k].types[0];
    if (k == 0) {
      args.push_back({now.add_param(std::get<Param>(main.nodes[k].kind).name, type), 0});
      continue;
    }
    auto bytes = static_cast<size_t>(*size_bytes(*type));
    auto buffer =
        Buffer::make(bytes, [&](std::byte* to) { fill(to, *type, program.domains[k], seed + k); });
    args.push_back({now.add_constant(out.module.add_constant(std::move(buffer)), type), 0});
  }
  uint32_t node = now.add_copy(main.nodes.back(), args);
  for (uint32_t k = 0; k < main.nodes.back().types.size(); ++k) now.results.push_back({node, k});
  out.module.functions["main"] = std::move(now);
  out.domains.resize(1);
  out.label += " with constants";
  return out;
}

std::optional<Program> with_repeated_operand(const Program& program) {
  const Function& main = program.module.function("main");
  const uint32_t params = main.num_params();
  const bool fits = params > 1 && main.nodes.size() == params + 1 &&
                    main.nodes[0].types[0] == main.nodes[1].types[0] &&
                    program.domains[0] == program.domains[1];
  if (!fits) return std::nullopt;
  Program out = program;
  Function now;
  std::vector<ValueId> args;
  for (uint32_t k = 0; k < params; ++k) {
    if (k != 1) now.add_param(std::get<Param>(main.nodes[k].kind).name, main.nodes[k].types[0]);
  }
  for (ValueId arg : main.args(main.nodes.back()))
    args.push_back({arg.node == 0 ? 0 : arg.node - 1, 0});
  const uint32_t node = now.add_copy(main.nodes.back(), args);
  for (uint32_t k = 0; k < main.nodes.back().types.size(); ++k) now.results.push_back({node, k});
  out.module.functions["main"] = std::move(now);
  out.domains.erase(out.domains.begin() + 1);
  out.label += ", one value twice";
  return out;
}

void fill(std::byte* to, const TensorType& type, Domain domain, uint64_t seed, Special special) {
  std::mt19937_64 next(seed);
  int64_t n = *num_elements(type.shape);
  auto made =
      op::for_dtype("fill", type.dtype, op::AllTypes{}, [&]<class T>() -> Result<RefKernel> {
        T* at = reinterpret_cast<T*>(to);
        bool is_unsigned = std::is_unsigned_v<T> && !std::is_same_v<T, bool>;
        double low = is_unsigned ? std::max(domain.low, 0.0) : domain.low;
        for (int64_t k = 0; k < n; ++k) {
          uint64_t bits = next();
          double unit = static_cast<double>(bits >> 11) * 0x1p-53;
          bool whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
          double span = domain.high - low + (whole ? 1 : 0);
          double value = whole ? std::floor(low + unit * span) : low + unit * span;
          bool usual = special == Special::kNone;
          at[k] = usual ? element<T>(value) : special_element<T>(special, bits % 9, value);
        }
        return RefKernel();
      });
  BYOC_CHECK(made.ok(), made.status().to_string());
}

}  // namespace byoc::conform
