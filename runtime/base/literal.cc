// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/literal.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "runtime/base/element_type.h"

namespace byoc {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void print_hex(std::string& out, uint64_t bits) {
  char text[20];
  out += "0x";
  out.append(text, std::to_chars(text, text + sizeof text, bits, 16).ptr);
}

template <class T>
void print_number(std::string& out, T value) {
  char text[40];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// `value` is exact in T, so the shortest form of T names it; `bits` of `usual` is the NaN of "nan".
template <class T>
void print_float(std::string& out, T value, uint64_t bits, uint64_t usual_nan) {
  if (std::isnan(value)) {
    if (bits == usual_nan) out += "nan";
    else print_hex(out, bits);
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    size_t from = out.size();
    print_number(out, value);
    if (out.find_first_of(".e", from) == std::string::npos) out += ".0";
  }
}

constexpr uint64_t kNanF32 = 0x7fc00000, kNanF64 = 0x7ff8000000000000, kNanF16 = 0x7e00,
                   kNanBf16 = 0x7fc0;

uint64_t usual_nan(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return kNanF64;
    case DType::kF16:
      return kNanF16;
    case DType::kBF16:
      return kNanBf16;
    default:
      return kNanF32;
  }
}

template <class T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  const char* end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) result = std::from_chars(text.data(), end, value);
  else result = std::from_chars(text.data(), end, value, base);
  return result.ec == std::errc() && result.ptr == end;
}

template <class T>
bool parse_int(std::string_view text, std::byte* to) {
  T value{};
  if (!parse_number(text, value)) return false;
  store(to, value);
  return true;
}

template <class Half>
bool parse_half(std::string_view text, std::byte* to) {
  float value = 0;
  if (!parse_number(text, value) || std::isnan(value)) return false;
  Half half(value);
  if (std::isinf(static_cast<float>(half)) && !std::isinf(value)) return false;
  store(to, half);
  return true;
}

template <class T>
bool parse_float(std::string_view text, std::byte* to) {
  T value = 0;
  if (!parse_number(text, value) || std::isnan(value)) return false;
  store(to, value);
  return true;
}

bool store_bits(uint64_t bits, size_t size, std::byte* to) {
  if (size < 8 && bits >> (8 * size) != 0) return false;
  std::memcpy(to, &bits, size);  // little endian, as all of byoc
  return true;
}

bool parse_bool(std::string_view text, std::byte* to) {
  if (text != "true" && text != "false") return false;
  store<uint8_t>(to, text == "true");
  return true;
}

}  // namespace

void print_element(std::string& out, DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::kF32:
      return print_float(out, load<float>(from), load<uint32_t>(from), kNanF32);
    case DType::kF64:
      return print_float(out, load<double>(from), load<uint64_t>(from), kNanF64);
    case DType::kF16:
      return print_float(out, static_cast<float>(load<Eigen::half>(from)), load<uint16_t>(from),
                         kNanF16);
    case DType::kBF16:
      return print_float(out, static_cast<float>(load<Eigen::bfloat16>(from)), load<uint16_t>(from),
                         kNanBf16);
    case DType::kI8:
      return print_number(out, load<int8_t>(from));
    case DType::kU8:
      return print_number(out, load<uint8_t>(from));
    case DType::kI16:
      return print_number(out, load<int16_t>(from));
    case DType::kU16:
      return print_number(out, load<uint16_t>(from));
    case DType::kI32:
      return print_number(out, load<int32_t>(from));
    case DType::kU32:
      return print_number(out, load<uint32_t>(from));
    case DType::kI64:
      return print_number(out, load<int64_t>(from));
    case DType::kU64:
      return print_number(out, load<uint64_t>(from));
    case DType::kBool:
      break;
  }
  uint8_t value = load<uint8_t>(from);
  if (value > 1) print_hex(out, value);
  else out += value ? "true" : "false";
}

bool parse_element(std::string_view text, DType dtype, std::byte* to) {
  if (text.starts_with("0x")) {
    uint64_t bits = 0;
    return parse_number(text.substr(2), bits, 16) && store_bits(bits, dtype_size(dtype), to);
  }
  if (is_float(dtype) && text == "nan") return store_bits(usual_nan(dtype), dtype_size(dtype), to);
  switch (dtype) {
    case DType::kF32:
      return parse_float<float>(text, to);
    case DType::kF64:
      return parse_float<double>(text, to);
    case DType::kF16:
      return parse_half<Eigen::half>(text, to);
    case DType::kBF16:
      return parse_half<Eigen::bfloat16>(text, to);
    case DType::kI8:
      return parse_int<int8_t>(text, to);
    case DType::kU8:
      return parse_int<uint8_t>(text, to);
    case DType::kI16:
      return parse_int<int16_t>(text, to);
    case DType::kU16:
      return parse_int<uint16_t>(text, to);
    case DType::kI32:
      return parse_int<int32_t>(text, to);
    case DType::kU32:
      return parse_int<uint32_t>(text, to);
    case DType::kI64:
      return parse_int<int64_t>(text, to);
    case DType::kU64:
      return parse_int<uint64_t>(text, to);
    case DType::kBool:
      return parse_bool(text, to);
  }
  return false;
}

double element_value(DType dtype, const std::byte* from) {
  return with_element_type(dtype, [&]<class T>(T) { return static_cast<double>(load<T>(from)); });
}

}  // namespace byoc
