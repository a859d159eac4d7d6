// SPDX-License-Identifier: Apache-2.0
#include "core/conform/use/use_samples.h"

#include <algorithm>
#include <random>
#include <set>

#include "core/conform/groups/group_samples.h"
#include "core/conform/samples/sample_table.h"

namespace byoc::conform {
namespace {

const SampleRow kLarge[] = {
    {"log sqrt rsqrt reciprocal", "f32[3,67,129]:0.25..4", ""},
    {"acosh", "f32[3,67,129]:1..4", ""},
    {"asin acos atanh tan", "f32[3,67,129]:-0.9..0.9", ""},
    {"divide mod", "f32[3,67,129] f32[3,67,129]:1..4", ""},
    {"power", "f32[3,67,129]:0.5..2 f32[129]:0..2", ""},
    {"where", "bool[3,67,129] f32[3,67,129] f32[129]", ""},
    {"prelu", "f32[3,67,129] f32[67,1]", ""},
    {"cast", "f32[3,67,129]", "to=i32"},
    {"conv1d", "f32[2,17,259] f32[33,17,3]", "pads=[1,1]"},
    {"conv2d", "f32[2,19,33,35] f32[37,19,3,3]", "pads=[1,1,1,1]"},
    {"conv2d", "f32[1,48,33,35] f32[48,1,3,3]", "group=48, pads=[1,1,1,1]"},
    {"conv2d", "f32[1,67,33,35] f32[35,67,1,1]", "strides=[2,2]"},
    {"conv2d_transpose", "f32[1,19,17,17] f32[19,13,3,3]", "strides=[2,2]"},
    {"max_pool average_pool", "f32[2,19,33,35]",
     "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"},
    {"global_average_pool global_max_pool", "f32[2,67,33,35]", ""},
    {"matmul", "f32[130,67] f32[67,259] | f32[3,33,70] f32[3,70,65] | f32[1,515] f32[515,129]", ""},
    {"gemm", "f32[130,67] f32[259,67]", "trans_b=true"},
    {"matmul_integers", "u8[130,67]:0..255 i8[67,259]", ""},
    {"batch_norm", "f32[2,67,33,35] f32[67] f32[67] f32[67] f32[67]:0.5..2", ""},
    {"instance_norm", "f32[2,67,33,35] f32[67] f32[67]", ""},
    {"group_norm", "f32[2,66,33,35] f32[66] f32[66]", "num_groups=3"},
    {"layer_norm", "f32[37,515] f32[515] f32[515]", ""},
    {"rms_norm", "f32[37,515] f32[515]", ""},
    {"softmax log_softmax", "f32[37,1031]", " | axis=0"},
    {"argmax argmin", "f32[67,515]", "axis=-1"},
    {"topk", "f32[67,515]", "k=5"},
    {"cumsum", "f32[67,515]", "axis=1"},
    // positive: the logarithm of a sum near zero has errors of any size
    {"log_sum", "f32[19,67,33]:0.25..4", "axes=[1] | axes=[2]"},
    {"concat", "f32[67,65] f32[67,130]", "axis=1"},
    {"split", "f32[67,195]", "axis=1, split=[65,130]"},
    {"slice", "f32[131,257]", "starts=[1,2], ends=[130,257], steps=[1,3]"},
    {"pad", "f32[67,129]", "pads=[1,2,0,1]"},
    {"reshape", "f32[67,130]", "shape=[130,67]"},
    {"transpose", "f32[67,131,5]", "perm=[2,0,1] | perm=[0,2,1]"},
    {"expand", "f32[129,1]", "shape=[3,129,67]"},
    {"gather", "f32[1031,33] i64[257]:0..1030", "axis=0"},
    {"resize", "f32[1,19,33,35]", "sizes=[1,19,66,70], mode=\"linear\""},
    {"quantize", "f32[3,67,129] f32[]:0.01..0.02 u8[]", ""},
    {"dequantize", "u8[3,67,129] f32[]:0.01..0.02 u8[]", ""},
};

constexpr std::string_view kUnaryLarge = "f32[3,67,129]";
constexpr std::string_view kBinaryLarge[] = {"f32[3,67,129] f32[3,67,129]",
                                             "f32[3,67,129] f32[129]"};
constexpr std::string_view kReducedLarge = "f32[19,67,33]";

std::vector<std::string_view> parts(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + separator.size());
  }
}

bool has_word(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = parts(list, " ");
  return std::ranges::find(words, word) != words.end();
}

/// Adds constants and ops of `from` to `to`, which has its parameters; returns its results there.
std::vector<ValueId> add_copies(const UseSample& from, const std::vector<ValueId>& params,
                                UseSample& to) {
  const Function& main = from.module.function("main");
  Function& out = to.module.functions["main"];
  std::vector<uint32_t> place(main.nodes.size());
  for (uint32_t n = 0; n < main.nodes.size(); ++n) {
    const Node& node = main.nodes[n];
    if (n < params.size()) {
      place[n] = params[n].node;
      continue;
    }
    if (auto* constant = std::get_if<Constant>(&node.kind)) {
      const auto& buffer = from.module.constants.at(constant->data->key());
      place[n] = out.add_constant(to.module.add_constant(buffer), node.types[0]);
      continue;
    }
    std::vector<ValueId> args;
    for (ValueId arg : main.args(node)) args.push_back({place[arg.node], arg.output});
    place[n] = out.add_copy(node, args);
  }
  std::vector<ValueId> results;
  for (ValueId result : main.results) results.push_back({place[result.node], result.output});
  return results;
}

/// Returns the second op on the result of the first. Form 1: that result is also one of the graph.
/// Form 2: the second op's other operand is that result, too.
std::optional<UseSample> linked(const Program& first, const Program& second, size_t form) {
  auto pair = chained(first, second);
  if (!pair) return std::nullopt;
  UseSample out{pair->label, std::move(pair->module), pair->domains, true};
  Function& main = out.module.functions["main"];
  const auto last = static_cast<uint32_t>(main.nodes.size() - 1);
  if (form == 1) {
    main.results.push_back({last - 1, 0});
    out.label += ", both results";
  }
  const bool has_two = second.domains.size() == 2;
  if (form != 2 || !has_two) return out;
  Function twice;  // without the parameter of the other operand, which is the last one
  const uint32_t params = main.num_params() - 1;
  for (uint32_t k = 0; k < params; ++k) twice.add_param(cat("x", k), main.nodes[k].types[0]);
  const std::vector<ValueId> args(main.args(main.nodes[last - 1]).begin(),
                                  main.args(main.nodes[last - 1]).end());
  const uint32_t made = twice.add_copy(main.nodes[last - 1], args);
  const std::vector<ValueId> same = {{made, 0}, {made, 0}};
  twice.results = {{twice.add_copy(main.nodes[last], same), 0}};
  out.module.functions["main"] = std::move(twice);
  out.domains.pop_back();
  out.label += ", of one value twice";
  return out;
}

}  // namespace

std::vector<Program> large_programs() {
  std::vector<Program> out;
  auto add = [&](const OpDef& op, std::string_view operands, std::string_view attrs) {
    if (auto program = program_of(op, operands, attrs, DType::kF32))
      out.push_back(*std::move(program));
  };
  for (const OpDef* op : ops_to_check()) {
    bool has_row = false;
    for (const SampleRow& row : kLarge) {
      if (!has_word(row.ops, op->name)) continue;
      has_row = true;
      for (std::string_view operands : parts(row.operands, " | ")) {
        for (std::string_view attrs : parts(row.attrs, " | ")) add(*op, operands, attrs);
      }
    }
    const bool is_open = std::ranges::any_of(
        op->attrs, [](const AttrSpec& attr) { return attr.need == AttrSpec::kRequired; });
    if (has_row || is_open) continue;
    if (op->kind == FusionKind::kElementwise && op->inputs.size() == 1) add(*op, kUnaryLarge, "");
    if (op->kind == FusionKind::kBroadcast && op->inputs.size() == 2) {
      for (std::string_view operands : kBinaryLarge) add(*op, operands, "");
    }
    const bool has_axes =
        std::ranges::any_of(op->attrs, [](const AttrSpec& attr) { return attr.name == "axes"; });
    if (op->kind == FusionKind::kReduction && op->inputs.size() == 1 && has_axes) {
      add(*op, kReducedLarge, "axes=[1]");
      add(*op, kReducedLarge, "axes=[2]");
    }
  }
  return out;
}

std::vector<UseSample> linked_samples(const std::vector<Program>& taken, uint64_t seed,
                                      size_t count) {
  std::vector<const Program*> firsts;
  std::vector<const OpDef*> readers;  // of one operand, or of two of one type
  for (const Program& program : taken) {
    const Function& main = program.module.function("main");
    const bool has_one_result = main.nodes.back().types.size() == 1;
    const bool takes_any = std::ranges::all_of(
        program.domains, [](const Domain& domain) { return domain == Domain(); });
    if (!has_one_result || !takes_any) continue;
    firsts.push_back(&program);
    if (std::ranges::find(readers, program.op) == readers.end()) readers.push_back(program.op);
  }
  std::mt19937_64 random(seed);
  std::vector<UseSample> out;
  std::set<std::string> seen;
  for (size_t tries = 8 * count; tries > 0 && out.size() < count && !readers.empty(); --tries) {
    const Program& first = *firsts[random() % firsts.size()];
    const OpDef& reader = *readers[random() % readers.size()];
    const Function& main = first.module.function("main");
    const TypeId type = main.nodes.back().types[0];
    const std::string one = cat(type);
    const bool is_twice = reader.inputs.size() == 2;
    auto second = program_of(reader, is_twice ? cat(one, " ", one) : one, "", type->dtype);
    if (!second || second->module.function("main").nodes.back().types.size() != 1) continue;
    auto sample = linked(first, *second, out.size() % 3);
    if (sample && seen.insert(sample->label).second) out.push_back(*std::move(sample));
  }
  return out;
}

UseSample joined(const std::vector<UseSample>& samples) {
  UseSample out;
  out.label = cat(samples.size(), " functions in one model");
  out.module.entry = "main";
  Function& main = out.module.functions["main"];
  std::vector<std::vector<ValueId>> params(samples.size());
  for (size_t s = 0; s < samples.size(); ++s) {
    const Function& from = samples[s].module.function("main");
    for (uint32_t k = 0; k < from.num_params(); ++k) {
      params[s].push_back({main.add_param(cat("x", s, "_", k), from.nodes[k].types[0]), 0});
      out.domains.push_back(samples[s].domains[k]);
    }
  }
  for (size_t s = 0; s < samples.size(); ++s) {
    for (ValueId result : add_copies(samples[s], params[s], out)) main.results.push_back(result);
  }
  return out;
}

}  // namespace byoc::conform
