// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "fake/ptx.h"

namespace fake_cuda {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (c == at && depth == 0) out.push_back(std::exchange(part, ""));
    else part += c;
  }
  out.push_back(part);
  return out;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

Space space_of(const std::string& word) {
  if (word == ".shared") return Space::kShared;
  return word == ".local" ? Space::kLocal : Space::kGlobal;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}
  std::unique_ptr<Module> parse() {
    std::string line;
    while (std::getline(text_, line)) {
      ++number_;
      line = trimmed(line.substr(0, line.find("//")));
      if (!line.empty()) read(line);
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw std::runtime_error("line " + std::to_string(number_) + ": " + what);
  }
  void read(std::string line);
  void read_variable(const std::string& line);
  std::string contents_of(const std::string& line, uint64_t bytes, uint64_t item);
  void read_instruction(std::string line);
  void end_kernel();
  Operand operand(const std::string& text);
  Operand address(const std::string& text);
  uint32_t reg(const std::string& name) {
    return registers_.emplace(name, static_cast<uint32_t>(registers_.size())).first->second;
  }

  std::istringstream text_;
  uint32_t number_ = 0;
  std::unique_ptr<Module> out_ = std::make_unique<Module>();
  Kernel* kernel_ = nullptr;
  std::map<std::string, uint32_t> registers_, labels_;
  std::vector<std::string> targets_;  // of branches, by instruction
};

void Parser::read(std::string line) {
  if (line.starts_with(".version")) {
    int major = 0, minor = 0;
    std::sscanf(line.c_str(), ".version %d.%d", &major, &minor);
    out_->version = 10 * major + minor;
  } else if (line.starts_with(".target")) {
    std::sscanf(line.c_str(), ".target sm_%d", &out_->sm);
  } else if (line.starts_with(".address_size") || line == "(" || line == ")" || line == "{") {
    return;
  } else if (const size_t entry = line.find(".entry "); entry != std::string::npos) {
    std::string name = line.substr(entry + 7, line.find('(') - entry - 7);
    auto& made = out_->kernels[name] = std::make_unique<Kernel>();
    kernel_ = made.get();
    kernel_->name = name;
    registers_.clear(), labels_.clear(), targets_.clear();
  } else if (line.starts_with(".param")) {
    if (line.back() == ',') line.pop_back();
    const std::string name = line.substr(line.find_last_of(' ') + 1);
    kernel_->variables[name] = {Space::kParam, 8, 8 * kernel_->parameters++};
  } else if (line.starts_with(".maxntid")) {
    std::sscanf(line.c_str(), ".maxntid %u", &kernel_->most_threads);
  } else if (line[0] == '{' && line.back() == '}') {  // with registers of their own
    for (const std::string& one : split(line.substr(1, line.size() - 2), ';'))
      if (const std::string part = trimmed(one); !part.empty() && !part.starts_with(".reg"))
        read_instruction(part);
  } else if (line == "}") {
    end_kernel();
  } else if (line.starts_with(".reg") || line.starts_with(".pragma") ||
             line.starts_with(".minnctapersm")) {  // advice
    return;
  } else if (line[0] == '.' || line.find(".global .align") != std::string::npos) {
    read_variable(line);
  } else if (line.back() == ':') {
    labels_[line.substr(0, line.size() - 1)] = static_cast<uint32_t>(kernel_->code.size());
  } else if (line.back() == ';') {
    read_instruction(line.substr(0, line.size() - 1));
  } else {
    wrong("\"" + line + "\"");
  }
}

// Returns the bytes of "= {1, 2}" in a line; zeros without it.
std::string Parser::contents_of(const std::string& line, uint64_t bytes, uint64_t item) {
  std::string out(bytes, '\0');
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return out;
  std::string numbers = line.substr(equals + 1);
  for (char& c : numbers)
    if (c == '{' || c == '}' || c == ';') c = ' ';
  uint64_t at = 0;
  for (const std::string& one : split(numbers, ',')) {
    const Operand value = operand(trimmed(one));
    if (at + item <= bytes) std::memcpy(out.data() + at, &value.number, item);
    at += item;
  }
  return out;
}

// Reads ".shared .align 16 .b8 name[128];" or a global one with numbers.
void Parser::read_variable(const std::string& line) {
  Variable made;
  std::string name, type;
  uint64_t align = 1;
  std::istringstream words(line);
  for (std::string word; words >> word && word != "=";) {
    if (word == ".shared" || word == ".local" || word == ".global") made.space = space_of(word);
    else if (word == ".align") words >> align;
    else if (word == ".visible" || word == ".extern" || word == ".const") continue;
    else if (word[0] == '.') type = word.substr(1);
    else name = word;
  }
  if (name.empty() || type.size() < 2) wrong("\"" + line + "\"");
  const uint64_t item = std::stoul(type.substr(1)) / 8;
  made.bytes = item;
  if (name.back() == ';') name.pop_back();
  if (const size_t bracket = name.find('['); bracket != std::string::npos) {
    made.bytes = item * std::stoull(name.substr(bracket + 1));
    name.resize(bracket);
  }
  if (made.space == Space::kGlobal) {
    made.contents = contents_of(line, made.bytes, item);
    out_->globals[name] = made;
    return;
  }
  uint64_t& end = made.space == Space::kShared ? kernel_->shared_bytes : kernel_->local_bytes;
  end = (end + align - 1) / align * align;
  made.offset = end;
  end += made.bytes;
  kernel_->variables[name] = made;
}

Operand Parser::address(const std::string& text) {
  const size_t plus = text.find_last_of('+');
  Operand out = operand(trimmed(text.substr(0, plus)));
  if (plus != std::string::npos)
    out.number += static_cast<uint64_t>(std::stoll(text.substr(plus + 1)));
  return out;
}

Operand Parser::operand(const std::string& text) {
  static const std::map<std::string, Operand::Kind> kSpecial = {{"%tid.x", Operand::kThread},
                                                                {"%ctaid.x", Operand::kGroup},
                                                                {"%ntid.x", Operand::kThreads},
                                                                {"%nctaid.x", Operand::kGroups}};
  Operand out;
  if (text.empty()) wrong("an operand is empty");
  if (const auto known = kSpecial.find(text); known != kSpecial.end()) {
    out.kind = known->second;
  } else if (text[0] == '%') {
    out.kind = Operand::kRegister;
    out.reg = reg(text);
  } else if (text[0] == '[') {
    return address(text.substr(1, text.size() - 2));
  } else if (text[0] == '{') {
    for (const std::string& part : split(text.substr(1, text.size() - 2), ','))
      out.list.push_back(operand(trimmed(part)));
  } else if (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) {
    out.kind = Operand::kNumber;
    const bool is_float = text.starts_with("0f") || text.starts_with("0d");
    if (is_float) out.number = std::stoull(text.substr(2), nullptr, 16);
    else if (text[0] == '-') out.number = static_cast<uint64_t>(std::stoll(text));
    else out.number = std::stoull(text, nullptr, 0);
  } else {
    out.kind = Operand::kVariable;
    out.name = text;
  }
  return out;
}

void Parser::read_instruction(std::string line) {
  Instruction made;
  made.line = number_;
  if (line[0] == '@') {
    made.is_negated = line[1] == '!';
    const size_t end = line.find_first_of(" \t");
    made.predicate = static_cast<int32_t>(
        reg(line.substr(made.is_negated ? 2 : 1, end - (made.is_negated ? 2 : 1))));
    line = trimmed(line.substr(end));
  }
  const size_t end = line.find_first_of(" \t");
  made.opcode = line.substr(0, end);
  std::string target;
  if (end != std::string::npos) {
    for (const std::string& part : split(line.substr(end), ',')) {
      if (made.opcode.starts_with("bra")) target = trimmed(part);
      else made.operands.push_back(operand(trimmed(part)));
    }
  }
  try {
    resolve(made, split(made.opcode, '.'));
  } catch (const std::exception& error) {
    wrong(error.what());
  }
  targets_.push_back(target);
  kernel_->code.push_back(std::move(made));
}

void Parser::end_kernel() {
  if (kernel_ == nullptr) return;
  for (size_t k = 0; k < targets_.size(); ++k) {
    if (targets_[k].empty()) continue;
    if (!labels_.contains(targets_[k])) wrong("no label " + targets_[k]);
    kernel_->code[k].target = labels_.at(targets_[k]);
  }
  kernel_->registers = static_cast<uint32_t>(registers_.size());
  kernel_ = nullptr;
}

}  // namespace

std::unique_ptr<Module> parse(const std::string& text) { return Parser(text).parse(); }

}  // namespace fake_cuda
