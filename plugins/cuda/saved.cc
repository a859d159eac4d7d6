// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/saved.h"

#include "byoc/base/dtype.h"
#include "plugins/llvm/store/bytes.h"

namespace byoc::cuda {
namespace {

using llvm_plugin::put_number;
using llvm_plugin::put_numbers;
using llvm_plugin::put_text;
using llvm_plugin::Reader;

constexpr size_t kKeyBytes = sizeof byoc_const::key;

void write(std::string& out, const Program& program) {
  put_number(out, program.workspace_bytes);
  put_number(out, program.failures.size());
  for (const std::string& op : program.failures) put_text(out, op);
  put_number(out, program.launches.size());
  for (const Launch& launch : program.launches) {
    put_text(out, launch.kernel);
    for (uint64_t x : {launch.groups, launch.threads}) put_number(out, x);
    put_number(out, launch.product.has_value());
    for (auto field : kMatrixProductFields)
      if (launch.product) put_number(out, (*launch.product).*field);
    put_number(out, launch.arguments.size());
    for (const Argument& argument : launch.arguments)
      put_number(out, argument.kind), put_number(out, argument.at);
  }
}

[[noreturn]] void refuse() {
  throw sdk::Error(BYOC_DATA_LOSS, "the saved module is cut short or changed");
}

// Returns how many things of an artifact follow, of which each has at least a byte.
uint64_t count(Reader& reader) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  const uint64_t n = reader.number();
  if (n > kMost) refuse();
  return n;
}

Argument read_argument(Reader& reader, const SavedFunction& function, const Program& program) {
  const uint64_t kind = reader.number(), at = reader.number();
  const uint64_t limits[] = {function.n_in, function.constants.size(), function.n_out,
                             program.workspace_bytes + 1, 1};
  if (kind >= std::size(limits) || at >= limits[kind]) refuse();
  return {static_cast<Argument::Kind>(kind), at};
}

// Returns true for floats of 16 to 64 bits, as a DType.
bool is_type(uint64_t x) { return x <= static_cast<uint64_t>(DType::kBF16); }

std::optional<MatrixProduct> read_product(Reader& reader) {
  const uint64_t count = reader.number();
  if (count == 0) return std::nullopt;
  MatrixProduct out;
  for (auto field : kMatrixProductFields) out.*field = reader.number();
  constexpr uint64_t kMost = INT32_MAX;
  const bool is_sound = count == 1 && is_type(out.factor_type) && is_type(out.result_type) &&
                        out.m <= kMost && out.n <= kMost && out.k <= kMost && out.batch <= kMost;
  if (!is_sound) refuse();
  return out;
}

void read(Reader& reader, const SavedFunction& function, Program& out) {
  out.workspace_bytes = reader.number();
  for (uint64_t n = count(reader); n > 0; --n) out.failures.emplace_back(reader.text());
  for (uint64_t n = count(reader); n > 0; --n) {
    Launch& launch = out.launches.emplace_back();
    launch.kernel = reader.text();
    launch.groups = static_cast<uint32_t>(reader.number());
    launch.threads = static_cast<uint32_t>(reader.number());
    launch.product = read_product(reader);
    for (uint64_t a = count(reader); a > 0; --a)
      launch.arguments.push_back(read_argument(reader, function, out));
    const bool is_sound = launch.product ? launch.arguments.size() == 3 : !launch.kernel.empty();
    if (launch.arguments.size() > Launch::kMostArguments || !is_sound) refuse();
  }
}

}  // namespace

std::string write_saved(const SavedModule& module) {
  std::string out;
  put_text(out, kFormat);
  put_number(out, module.sm);
  put_text(out, module.ptx);
  put_number(out, module.functions.size());
  for (const SavedFunction& function : module.functions) {
    put_text(out, function.symbol);
    put_text(out, function.signature);
    put_number(out, function.n_in), put_number(out, function.n_out);
    put_number(out, function.constants.size());
    for (const std::string& key : function.constants) out += key;
    put_numbers(out, function.used);
    write(out, function.program);
    write(out, function.by_library);
  }
  return out;
}

SavedModule read_saved(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.text() != kFormat) refuse();
  SavedModule out;
  out.sm = reader.number();
  out.ptx = reader.text();
  for (uint64_t n = count(reader); n > 0; --n) {
    SavedFunction& function = out.functions.emplace_back();
    function.symbol = reader.text();
    function.signature = reader.text();
    function.n_in = count(reader), function.n_out = count(reader);
    for (uint64_t c = count(reader); c > 0; --c)
      function.constants.emplace_back(reader.raw(kKeyBytes));
    function.used = reader.numbers();
    if (function.used.size() != function.constants.size()) refuse();
    read(reader, function, function.program);
    read(reader, function, function.by_library);
  }
  if (!reader.rest().empty()) refuse();
  return out;
}

}  // namespace byoc::cuda
