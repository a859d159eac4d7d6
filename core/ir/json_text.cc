#include "core/ir/json_text.h"

#include <cmath>

#include "byoc/base/check.h"

namespace byoc {
namespace {

// Length of the well-formed UTF-8 sequence at the start (Unicode 15, table 3-7); 0 when there is
// none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  auto in = [&](size_t k, unsigned low, unsigned high) {
    return byte(k) >= low && byte(k) <= high;
  };
  if (byte(0) < 0x80) return 1;
  if (in(0, 0xc2, 0xdf)) return in(1, 0x80, 0xbf) ? 2 : 0;
  if (in(0, 0xe0, 0xef)) {
    bool second = in(1, byte(0) == 0xe0 ? 0xa0 : 0x80, byte(0) == 0xed ? 0x9f : 0xbf);
    return second && in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (!in(0, 0xf0, 0xf4)) return 0;
  bool second = in(1, byte(0) == 0xf0 ? 0x90 : 0x80, byte(0) == 0xf4 ? 0x8f : 0xbf);
  return second && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf) ? 4 : 0;
}

void print_escaped(std::string& out, char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    out += "\\u00";
    out += kDigits[(c >> 4) & 15];
    out += kDigits[c & 15];
  } else {
    out += c;
  }
}

void print_json_float(std::string& out, double value) {
  if (std::isfinite(value)) print_to(out, AttrValue(value));
  else out += cat("{\"float\":\"", value, "\"}");
}

template <class List, class Print>
void print_json_list(std::string& out, const List& list, Print&& print) {
  out += '[';
  for (size_t k = 0; k < list.size(); ++k) {
    if (k) out += ',';
    print(list[k]);
  }
  out += ']';
}

struct AttrPrinter {
  std::string& out;
  void operator()(int64_t v) const { print_to(out, v); }
  void operator()(double v) const { print_json_float(out, v); }
  void operator()(bool v) const { print_to(out, v); }
  void operator()(const std::string& v) const { print_json_string(out, v); }
  void operator()(DType v) const { out += cat("{\"dtype\":\"", v, "\"}"); }
  void operator()(const Ints& v) const { print_json_list(out, v, *this); }
  void operator()(const Floats& v) const { print_json_list(out, v, *this); }
  void operator()(const Strings& v) const { print_json_list(out, v, *this); }
  void operator()(const Bools& v) const {
    print_json_list(out, v, [&](bool b) { print_to(out, b); });
  }
  void operator()(const ConstantRef&) const {
    BYOC_CHECK(false, "a constant needs a table of types");
  }
};

}  // namespace

void print_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) out += "\\ufffd";
    else if (length == 1) print_escaped(out, text[0]);
    else out += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out += '"';
}

void print_json_dim(std::string& out, Dim dim) {
  if (dim.is_static()) return print_to(out, dim.extent());
  out += "{\"symbol\":";
  print_json_string(out, dim.name().text());
  if (dim.min() > 0) out += cat(",\"min\":", dim.min());
  if (dim.max() != Dim::kUnbounded) out += cat(",\"max\":", dim.max());
  out += '}';
}

void print_json_attr(std::string& out, const AttrValue& value) {
  std::visit(AttrPrinter{out}, value);
}

}  // namespace byoc
