// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/machine/link.h"

#include <sys/statvfs.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Target/TargetMachine.h"

LLD_HAS_DRIVER(elf)

namespace byoc::llvm_plugin {
namespace {

constexpr std::string_view kLibm[] = {
    "acos",      "acosh", "asin",  "asinh", "atan",  "atan2", "atanh", "ceil",
    "cos",       "cosh",  "erf",   "exp",   "exp2",  "floor", "fma",   "fmod",
    "log",       "log2",  "log10", "log1p", "expm1", "pow",   "rint",  "round",
    "roundeven", "sin",   "sinh",  "sqrt",  "tan",   "tanh",  "trunc", "nearbyint"};
constexpr std::string_view kLibc[] = {"memcpy", "memmove", "memset"};

bool has_room(const std::string& folder, uint64_t bytes) {
  struct statvfs info;
  return ::statvfs(folder.c_str(), &info) == 0 && info.f_bavail * info.f_frsize >= bytes;
}

/// A private folder that is deleted with all that is in it. It is in memory where there is room,
/// because files of a disk cost small modules more than the rest of a link.
class PrivateFolder {
 public:
  static Result<std::unique_ptr<PrivateFolder>> make(uint64_t bytes) {
    const char* chosen = ::secure_getenv("TMPDIR");
    for (std::string parent : {chosen ? chosen : "", "/dev/shm", "/tmp"}) {
      if (parent.empty() || parent[0] != '/' || !has_room(parent, bytes)) continue;
      std::string path = parent + "/byoc-link-XXXXXX";
      if (::mkdtemp(path.data()) == nullptr) continue;  // mode 0700
      auto folder = std::make_unique<PrivateFolder>();
      folder->path_ = std::move(path);
      return folder;
    }
    return failed(
        cat("no folder for the linker's files: neither $TMPDIR nor /dev/shm nor /tmp can "
            "be written and has ",
            bytes, " bytes free; set TMPDIR to one"));
  }
  ~PrivateFolder() {
    std::error_code unused;  // lld leaves temporary files where it cannot write its output
    if (!path_.empty()) std::filesystem::remove_all(path_, unused);
  }
  std::string file(const std::string& name) const {
    BYOC_CHECK(!path_.empty() && name.find('/') == std::string::npos, "the file ", name,
               " is not in the folder ", path_);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

/// Writes without write_file's sync, because the file is of no use after a crash.
Status write_temporary(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file ? Status() : system_error("cannot write", path, errno);
}

/// Restores the host's signal handlers. LLVM installs its own to delete unfinished files, and keeps
/// them. Its stack for signals is that of this thread alone.
class HostSignals {
 public:
  HostSignals() {
    for (int signal = 1; signal < kSignals; ++signal)
      ::sigaction(signal, nullptr, &actions_[signal]);
    ::sigaltstack(nullptr, &stack_);
  }
  ~HostSignals() {
    for (int signal = 1; signal < kSignals; ++signal) {
      struct sigaction now {};
      bool is_known = ::sigaction(signal, nullptr, &now) == 0;
      if (is_known && now.sa_handler != actions_[signal].sa_handler)
        ::sigaction(signal, &actions_[signal], nullptr);
    }
    ::sigaltstack(&stack_, nullptr);
  }

 private:
  static constexpr int kSignals = 32;
  struct sigaction actions_[kSignals] = {};
  stack_t stack_ = {};
};

/// Makes errors from which lld cannot go on return from it. Without, such an error ends the
/// process: lld's driver prepares a way back, which has no effect until it is enabled. Its signal
/// handlers belong to the whole process, and pass signals of other threads on.
class RecoverFromFatalErrors {
 public:
  RecoverFromFatalErrors() { llvm::CrashRecoveryContext::Enable(); }
  ~RecoverFromFatalErrors() { llvm::CrashRecoveryContext::Disable(); }
};

/// Runs lld on a thread of its own and waits for it: lld allocates in thread-local arenas, which
/// are freed when their thread ends, and grow by 7 KiB with each link until then.
lld::Result run_lld(const std::vector<const char*>& arguments, llvm::raw_ostream& stream) {
  const RecoverFromFatalErrors recover;
  lld::Result result{1, true};
  std::jthread([&] {
    result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  }).join();
  return result;
}

Status lld(const std::vector<std::string>& arguments) {
  static std::mutex one_at_a_time;  // lld keeps its state in globals
  std::lock_guard lock(one_at_a_time);
  HostSignals keep;
  static bool broken = false;
  if (broken) return {Code::kInternal, "lld cannot run again after a failure in this process"};
  std::vector<const char*> raw;
  for (const std::string& argument : arguments) raw.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result;
  try {
    result = run_lld(raw, stream);
  } catch (const std::system_error& error) {
    return {Code::kInternal, cat("no thread can be started to link code: ", error.what())};
  }
  broken = !result.canRunAgain;
  if (result.retCode == 0) return {};
  return {Code::kInternal, cat("lld: ", messages)};
}

std::vector<std::string> base_arguments(const Machine& machine) {
  bool is_arm = machine.triple.starts_with("aarch64");
  return {"ld.lld",
          "-shared",
          "-m",
          is_arm ? "aarch64elf" : "elf_x86_64",
          "--threads=1",
          "--hash-style=gnu",
          "--build-id=none",
          "--strip-all",
          "-z",
          "defs",
          "-z",
          "noexecstack",
          "-z",
          "now",
          "-Bsymbolic"};
}

/// Returns the functions that the objects call and none of them defines.
Result<std::set<std::string>> undefined_symbols(std::span<const std::string> objects) {
  std::set<std::string> needed, defined;
  for (const std::string& bytes : objects) {
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, ""));
    if (!object) return data_loss(cat("unreadable object: ", llvm::toString(object.takeError())));
    for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
      auto name = symbol.getName();
      auto flags = symbol.getFlags();
      if (!name || !flags) return data_loss("an object with a broken symbol table");
      bool undefined = (*flags & llvm::object::SymbolRef::SF_Undefined) != 0;
      if (!name->empty()) (undefined ? needed : defined).insert(name->str());
    }
  }
  std::erase_if(needed, [&](const std::string& name) { return defined.contains(name); });
  return needed;
}

/// Makes a library of that name with those functions, all empty: enough to link against.
Result<std::string> make_stub(const std::string& soname, const std::vector<std::string>& symbols,
                              const Machine& machine) {
  BYOC_CHECK(!symbols.empty(), "the stub of ", soname, " has functions");
  llvm::LLVMContext context;
  llvm::Module module("stub", context);
  BYOC_TRY(auto target, make_target_machine(machine, Effort::kLittle));
  set_target(module, *target);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  for (const std::string& symbol : symbols) {
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module);
    llvm::IRBuilder<>(llvm::BasicBlock::Create(context, "", function)).CreateRetVoid();
  }
  BYOC_TRY(std::string object, generate(module, *target, CodeKind::kObject));
  BYOC_TRY(auto folder, PrivateFolder::make(4 * object.size()));
  std::string path = folder->file(soname + ".o"), out = folder->file(soname);
  BYOC_TRY_STATUS(write_temporary(path, object));
  std::vector<std::string> arguments = base_arguments(machine);
  arguments.insert(arguments.end(), {"-soname", soname, path, "-o", out});
  BYOC_TRY_STATUS(lld(arguments));
  return read_file(out);
}

std::vector<std::string> symbols_of(const std::string& soname) {
  std::vector<std::string> out;
  if (soname == "libc.so.6") out.assign(std::begin(kLibc), std::end(kLibc));
  else
    for (std::string_view name : kLibm) out.insert(out.end(), {std::string(name), cat(name, "f")});
  return out;
}

/// Returns the stub of a library with all functions that code may call. It is made once per process
/// and kind of machine.
Result<std::string> stub_of(const std::string& soname, const Machine& machine) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::string> made;
  std::lock_guard lock(mutex);
  std::string& stub = made[{soname, machine.triple}];
  if (stub.empty()) {
    BYOC_TRY(stub, make_stub(soname, symbols_of(soname), machine));
  }
  return stub;
}

/// Writes stubs of the libraries that are needed and returns their files.
Result<std::vector<std::string>> write_stubs(const std::set<std::string>& needed,
                                             const Machine& machine, PrivateFolder& folder) {
  std::set<std::string> libraries;
  for (const std::string& symbol : needed) {
    if (!is_libc(symbol) && !is_libm(symbol))
      return unimplemented(cat("generated code calls ", symbol, ", which no known library has"));
    libraries.insert(is_libc(symbol) ? "libc.so.6" : "libm.so.6");
  }
  std::vector<std::string> out;
  for (const std::string& soname : libraries) {
    BYOC_TRY(std::string stub, stub_of(soname, machine));
    out.push_back(folder.file(soname));
    BYOC_TRY_STATUS(write_temporary(out.back(), stub));
  }
  return out;
}

}  // namespace

bool is_libm(std::string_view symbol) {
  bool is_float = symbol.ends_with('f') && symbol != "erf";
  std::string_view base = is_float ? symbol.substr(0, symbol.size() - 1) : symbol;
  return std::find(std::begin(kLibm), std::end(kLibm), base) != std::end(kLibm);
}

bool is_libc(std::string_view symbol) {
  return std::find(std::begin(kLibc), std::end(kLibc), symbol) != std::end(kLibc);
}

Result<std::string> link_shared(std::span<const std::string> objects, const std::string& exported,
                                const Machine& machine) {
  BYOC_CHECK(!objects.empty() && !exported.empty(), "a library has code and exports a symbol");
  BYOC_TRY(std::set<std::string> needed, undefined_symbols(objects));
  uint64_t bytes = 0;
  for (const std::string& object : objects) bytes += object.size();
  BYOC_TRY(auto folder, PrivateFolder::make(4 * bytes));
  BYOC_TRY(std::vector<std::string> libraries, write_stubs(needed, machine, *folder));
  std::vector<std::string> arguments = base_arguments(machine);
  for (size_t k = 0; k < objects.size(); ++k) {
    std::string path = folder->file(cat(k, ".o"));
    BYOC_TRY_STATUS(write_temporary(path, objects[k]));
    arguments.push_back(std::move(path));
  }
  std::string map = folder->file("exports");
  BYOC_TRY_STATUS(write_temporary(map, cat("{ global: ", exported, "; local: *; };\n")));
  arguments.insert(arguments.end(), {"--version-script", map, "--as-needed"});
  for (const std::string& library : libraries) arguments.push_back(library);
  std::string out = folder->file("out.so");
  arguments.insert(arguments.end(), {"-o", out});
  BYOC_TRY_STATUS(lld(arguments));
  return read_file(out);
}

}  // namespace byoc::llvm_plugin
