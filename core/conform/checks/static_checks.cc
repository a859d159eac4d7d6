// SPDX-License-Identifier: Apache-2.0
// Group 1: the checks that run no code of the plugin. Only `imports` loads something, in a child:
// the libraries that the plugin names.
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/conform/context/check_context.h"
#include "core/conform/process/needed.h"
#include "runtime/host/plugin_loader.h"

namespace byoc::conform {
namespace {

Answer of(const Status& status, std::string note = "") {
  return status.ok() ? pass(std::move(note)) : fail(sentence(status));
}

Answer check_file(CheckContext& context) { return of(check_plugin_file(context.options().path)); }

Answer check_elf(CheckContext& context) { return of(context.elf().status()); }

Answer check_strip(CheckContext& context) {
  if (!context.elf()->has_loose_note) return pass();
  return fail(
      "its manifest is in a section that strip removes; BYOC_MANIFEST puts it in a segment");
}

Answer check_manifest(CheckContext& context) {
  const Result<PluginManifest>& manifest = context.manifest();
  return of(manifest.status(), manifest.ok() ? cat(manifest->id, " ", manifest->version) : "");
}

Answer check_manifest_abi(CheckContext& context) {
  return of(check_abi(*context.manifest()),
            cat("ABI ", context.manifest()->abi_major, ".", context.manifest()->min_host_minor));
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t k = 0; k < names.size() && k < 4; ++k) out += cat(k ? ", " : "", names[k]);
  return names.size() > 4 ? cat(out, " and ", names.size() - 4, " more") : out;
}

std::vector<std::string> names_where(const ElfImage& elf, bool (*fits)(const ElfSymbol&)) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : elf.symbols) {
    if (fits(symbol)) names.push_back(symbol.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Answer check_exports(CheckContext& context) {
  auto names =
      names_where(*context.elf(), [](const ElfSymbol& s) { return s.is_defined && !s.is_unique; });
  if (names == std::vector<std::string>{BYOC_ENTRY_SYMBOL}) return pass(names[0]);
  if (std::count(names.begin(), names.end(), BYOC_ENTRY_SYMBOL) == 0)
    return fail(cat("does not export ", BYOC_ENTRY_SYMBOL));
  std::erase(names, BYOC_ENTRY_SYMBOL);
  return fail(cat("exports ", names.size(), names.size() == 1 ? " symbol" : " symbols",
                  " in addition to ", BYOC_ENTRY_SYMBOL, ": ", listed(names),
                  "; link it with byoc_add_plugin()"));
}

/// Returns true for mangled names in std, their guards, and what is local to functions there.
bool is_of_standard_library(const std::string& symbol) {
  std::string_view rest = symbol;
  if (!rest.starts_with("_ZG") && !rest.starts_with("_Z")) return false;
  for (std::string_view prefix : {"_ZGV", "_Z", "Z", "N", "K"})
    if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  return rest.starts_with("St");
}

Answer check_unique(CheckContext& context) {
  auto names =
      names_where(*context.elf(), [](const ElfSymbol& s) { return s.is_defined && s.is_unique; });
  if (names.empty()) return pass();
  if (std::ranges::all_of(names, is_of_standard_library))
    return pass(
        cat("warning: has GNU unique symbols of the standard library, which all plugins "
            "share as they share the library: ",
            listed(names), "; -fno-gnu-unique removes them"));
  return fail(cat("has GNU unique symbols, which the loader shares in the whole process: ",
                  listed(names), "; compile with -fno-gnu-unique and hidden visibility"));
}

std::vector<std::string> unresolved(const ElfImage& elf) {
  std::vector<std::string> missing;
  std::vector<void*> libraries;
  for (const std::string& needed : elf.needed) {
    if (void* library = open_needed(needed)) libraries.push_back(library);
  }
#ifdef BYOC_IS_SANITIZED
  libraries.push_back(RTLD_DEFAULT);  // the sanitizer's own functions come with the executable
#endif
  for (const ElfSymbol& symbol : elf.symbols) {
    if (symbol.is_defined || symbol.is_weak) continue;
    bool found = std::any_of(libraries.begin(), libraries.end(), [&](void* library) {
      return dlsym(library, symbol.name.c_str()) != nullptr;
    });
    if (!found) missing.push_back(symbol.name);
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

Answer check_imports(CheckContext& context) {
  const ElfImage& elf = *context.elf();
  return context.judged_in_child([&]() -> std::vector<std::string> {
    enter_folder_of(context.options().path);
    process::doing("loading the libraries it needs");
    std::vector<std::string> missing = unresolved(elf);
    if (missing.empty()) return {};
    return {cat("imports ", listed(missing), ", which none of ", listed(elf.needed), " defines")};
  });
}

Answer check_text_relocations(CheckContext& context) {
  if (!context.elf()->has_text_relocations) return pass();
  return fail("its code has to be changed when it is loaded (TEXTREL); compile it with -fPIC");
}

Answer check_stack(CheckContext& context) {
  if (!context.elf()->has_executable_stack) return pass();
  return fail("requests an executable stack; link with -z noexecstack");
}

/// Returns true for an absolute path of which root alone can change each folder that exists.
bool is_of_root_alone(const std::string& path) {
  if (!path.starts_with('/') || path.find("/../") != path.npos) return false;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    struct stat facts;
    const std::string folder = path.substr(0, end);
    if (::stat(folder.c_str(), &facts) != 0) return errno == ENOENT;
    if (facts.st_uid != 0 || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return false;
    if (end == path.npos) return true;
  }
}

Answer check_run_path(CheckContext& context) {
  std::string fixed;
  for (const std::string& path : context.elf()->run_paths) {
    if (path.starts_with("$ORIGIN")) continue;
    if (!is_of_root_alone(path))
      return fail(cat("searches for libraries in \"", path,
                      "\", where others than root can put one; RUNPATH may hold $ORIGIN"));
    fixed += cat(fixed.empty() ? "" : ", ", path);
  }
  if (fixed.empty()) return pass();
  return pass(cat("warning: searches for libraries in ", fixed,
                  ", too, which another machine may lack; $ORIGIN moves with the plugin"));
}

Answer check_openmp(CheckContext& context) {
  for (const std::string& needed : context.elf()->needed) {
    if (needed.starts_with("libomp.so") || needed.starts_with("libiomp5.so"))
      return fail(
          cat("brings a second OpenMP runtime, ", needed, "; use parallel_for, or libgomp"));
  }
  return pass();
}

const Check kStaticChecks[] = {
    {1, "file", "a regular file that other users cannot change", "", check_file,
     "name the .so itself, owned by you or root, and chmod go-w it"},
    {1, "elf", "a shared object for this machine", "", check_elf,
     "build it for this machine as a shared object: byoc_add_plugin()"},
    {1, "strip", "strip removes nothing that the host reads", "elf", check_strip,
     "define the manifest with BYOC_PLUGIN or BYOC_MANIFEST, which put it in a segment"},
    {1, "manifest", "the note exists and has id, version and ABI", "elf strip", check_manifest,
     "add BYOC_PLUGIN(Class, \"id\", \"version\") to one source file; in C BYOC_MANIFEST"},
    {1, "abi", "the ABI that it needs is the one of this host", "manifest", check_manifest_abi,
     "build it again with the headers of this byoc, on this kind of machine"},
    {1, "exports", "one exported symbol, the entry", "elf", check_exports,
     "build it with byoc_add_plugin(), which hides all symbols but the entry"},
    {1, "unique", "no GNU unique symbol", "elf", check_unique,
     "build it with byoc_add_plugin(), or with -fno-gnu-unique and hidden visibility"},
    {1, "imports", "every imported symbol comes from a library that it names", "elf dependencies",
     check_imports, "link the library that defines the symbol: byoc_add_plugin(... LINK ...)"},
    {1, "textrel", "code that needs no changes when it is loaded", "elf", check_text_relocations,
     "compile every object with -fPIC, also those of static libraries"},
    {1, "stack", "no executable stack", "elf", check_stack,
     "link with -z noexecstack, as byoc_add_plugin() does"},
    {1, "runpath", "libraries are searched where root and its owner alone can put some", "elf",
     check_run_path, "link with the RUNPATH $ORIGIN alone, as byoc_add_plugin() does"},
    {1, "openmp", "no second OpenMP runtime", "elf", check_openmp,
     "use the host's parallel_for, or libgomp"},
};

}  // namespace

std::span<const Check> static_checks() { return kStaticChecks; }

}  // namespace byoc::conform
