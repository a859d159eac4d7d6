// SPDX-License-Identifier: Apache-2.0
// byoc doctor: each kind of fault, made on purpose, is named with a cure and decides the exit code.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// Runs the command with its own cache folder, so that the state of the machine does not matter.
class Doctor : public testing::Test {
 protected:
  Doctor() {
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::create_directory(cache());
  }
  std::string cache() const { return folder_.file("cache"); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  /// Returns the command with variables before it; root becomes a user without privileges, who
  /// cannot write where the mode forbids it.
  Byoc byoc(const std::string& variables = "", bool as_user = false) const {
    bool drops = as_user && ::geteuid() == 0;
    return Byoc(cat("env -u BYOC_PLUGIN_PATH XDG_CACHE_HOME=", cache(), " ", variables,
                    drops ? " setpriv --reuid=65534 --regid=65534 --clear-groups " : " ",
                    BYOC_BUILD_DIR, "/bin/byoc"));
  }
  TempFolder folder_;
};

/// Returns the findings about one topic.
std::vector<Json> about(const Json& json, const std::string& topic) {
  std::vector<Json> out;
  for (const Json& finding : json["findings"]) {
    if (finding["topic"] == topic) out.push_back(finding);
  }
  return out;
}

TEST_F(Doctor, FindsNothingWrongInASoundInstallation) {
  Ran ran = byoc()("doctor --min-free 0");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("nothing is wrong\n"));
  EXPECT_THAT(ran.out, HasSubstr("plugin ABI 1."));
  EXPECT_THAT(ran.out, HasSubstr("\n  json "));
  EXPECT_THAT(ran.out, HasSubstr("libgomp.so.1"));
  Json json = byoc().json("doctor --min-free 0");
  EXPECT_TRUE(json["findings"].empty()) << json["findings"].dump(1);
  ASSERT_EQ(json["openmp"].size(), 1u) << json["openmp"].dump(1);
  EXPECT_EQ(json["openmp"][0]["library"], "libgomp.so.1");
  EXPECT_EQ(json["caches"][0]["path"], cache() + "/byoc");
}

TEST_F(Doctor, ListsTheTargetsOfThisMachine) {
  Json machine = byoc().json("doctor")["machine"];
  ASSERT_EQ(machine["targets"].size(), 4u);
  for (const Json& target : machine["targets"])
    EXPECT_NE(target["allowed"].get<bool>(), !target["why_not"].get<std::string>().empty());
#if defined(__x86_64__)
  // the compiler's own look at the processor
  EXPECT_EQ(machine["targets"][1]["allowed"].get<bool>(),
            __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(machine["targets"][2]["allowed"].get<bool>(), __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_FALSE(machine["targets"][3]["allowed"].get<bool>());
#endif
}

TEST_F(Doctor, NamesABrokenPluginAndItsCure) {
  std::string line = "doctor --plugin " + fault_path("faulty_no_entry");
  Ran ran = byoc()(line);
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("libbyoc_faulty_no_entry.so is refused: no entry symbol"));
  EXPECT_THAT(ran.out, HasSubstr("  cure: define it extern \"C\""));
  Json json = byoc().json(line);
  ASSERT_EQ(about(json, "plugins").size(), 1u);
  EXPECT_EQ(about(json, "plugins")[0]["level"], "problem");
  EXPECT_EQ(json["refused"].size(), 1u);
}

/// Returns the origin of the plugin with that id.
Json origin_of(const Json& json, const std::string& id) {
  for (const char* list : {"plugins", "not_opened", "refused"}) {
    for (const Json& row : json[list]) {
      if (row["id"] == id) return row["origin"];
    }
  }
  return {};
}

TEST_F(Doctor, NamesTheFolderOrTheOptionThatAPluginCameFrom) {
  const std::string own = fs::canonical(cat(BYOC_BUILD_DIR, "/lib/byoc/plugins"));
  const std::string folder = file("plugins");
  fs::create_directory(folder);
  fs::copy(cat(own, "/libbyoc_json.so"), folder + "/libbyoc_other_name.so");
  const std::string option = " --plugin " + folder + "/libbyoc_other_name.so";
  for (const std::string command : {"doctor --min-free 0", "plugins"}) {
    Json found = origin_of(byoc().json(command), "json");
    EXPECT_EQ(found["kind"], "installation") << found;
    EXPECT_EQ(fs::canonical(found["folder"].get<std::string>()), own);
    found = origin_of(byoc().json(command + option), "json");
    EXPECT_EQ(found["kind"], "option") << found;
    found = origin_of(byoc("BYOC_PLUGIN_PATH=" + folder).json(command), "json");
    EXPECT_EQ(found["kind"], "environment") << found;
    EXPECT_EQ(found["folder"], folder);
  }
  const std::string printed = byoc("BYOC_PLUGIN_PATH=" + folder)("doctor --min-free 0").out;
  EXPECT_THAT(printed, HasSubstr(cat("\n    from: BYOC_PLUGIN_PATH, folder ", folder, "\n")));
  EXPECT_THAT(printed, HasSubstr("\n    from: installation, folder /"));
  EXPECT_THAT(byoc()("doctor --min-free 0" + option).out, HasSubstr("\n    from: --plugin\n"));
}

TEST_F(Doctor, NamesTheWheelAndTheEntryPointThatAPluginCameFrom) {
  const std::string info = file("packages/byoc_plugin_chip-1.2.dist-info");
  const std::string folder = file("packages/byoc_plugin_chip/plugins");
  fs::create_directories(info);
  fs::create_directories(folder);
  fs::copy(cat(BYOC_BUILD_DIR, "/lib/byoc/plugins/libbyoc_json.so"), folder);
  put(info + "/RECORD",
      "byoc_plugin_chip/__init__.py,sha256=x,12\n"
      "byoc_plugin_chip/plugins/libbyoc_json.so,sha256=y,34\n");
  put(info + "/METADATA", "Metadata-Version: 2.1\nName: byoc-plugin-chip\nVersion: 1.2\n\ntext\n");
  put(info + "/entry_points.txt",
      "[console_scripts]\nrun = a:b\n\n[byoc.plugins]\nchip = byoc_plugin_chip:plugins\n");
  Byoc with_wheel = byoc("BYOC_PLUGIN_PATH=" + folder);
  const Json expected = {{"kind", "wheel"},
                         {"folder", folder},
                         {"package", "byoc-plugin-chip"},
                         {"version", "1.2"},
                         {"entry_point", "chip"},
                         {"text", "wheel byoc-plugin-chip 1.2, entry point chip"}};
  for (const char* command : {"doctor --min-free 0", "plugins"})
    EXPECT_EQ(origin_of(with_wheel.json(command), "json"), expected);
  EXPECT_THAT(with_wheel("doctor --min-free 0").out,
              HasSubstr("\n    from: wheel byoc-plugin-chip 1.2, entry point chip\n"));
  put(info + "/RECORD", "byoc_plugin_chip/plugins/libbyoc_json.so.old,sha256=y,34\n");
  EXPECT_EQ(origin_of(with_wheel.json("plugins"), "json")["kind"], "environment");
}

TEST_F(Doctor, ListsPluginsThatWereNotBuiltWithTheCure) {
  const std::string folder = file("plugins");
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms(0755));
  put(folder + "/toy.absent",
      R"({"id":"toy","reason":"Toy was missing","help":"install toy-dev"})");
  put(folder + "/torn.absent", "{");
  put(folder + "/json.absent", R"({"id":"json","reason":"is there after all","help":""})");
  Byoc with_folder(cat("env XDG_CACHE_HOME=", cache(), " BYOC_PLUGIN_PATH=", folder, " ",
                       BYOC_BUILD_DIR, "/bin/byoc"));
  for (const char* command : {"doctor --min-free 0", "plugins"}) {
    Json absent = with_folder.json(command)["not_built"];
    ASSERT_EQ(absent.size(), 2u) << absent;
    EXPECT_THAT(absent[0]["reason"].get<std::string>(), HasSubstr("torn.absent cannot be read"));
    EXPECT_EQ(absent[1],
              (Json{{"id", "toy"}, {"reason", "Toy was missing"}, {"help", "install toy-dev"}}));
  }
  EXPECT_THAT(with_folder("doctor --min-free 0").out,
              HasSubstr("not built: toy, Toy was missing; cure: install toy-dev\n"));
  EXPECT_THAT(with_folder("plugins").out,
              HasSubstr("  toy\n    Toy was missing\n    cure: install toy-dev\n"));
}

TEST_F(Doctor, ListsTheDevicesOfPluginsOrWhyThereAreNone) {
  const std::string sim = cat(" --plugin ", BYOC_BUILD_DIR, "/tests/sim/libbyoc_sim.so",
                              " --plugin-option sim.wraps=", BYOC_BUILD_DIR,
                              "/lib/byoc/plugins/libbyoc_json.so --plugin-option sim.memory_mib=7");
  const std::string none = " --plugin-option sim.devices=0";
  for (const std::string command : {"doctor --min-free 0", "plugins"}) {
    const Json found = byoc().json(command + sim)["devices"];
    const auto row = std::find_if(found.begin(), found.end(),
                                  [](const Json& one) { return one["plugin"] == "sim"; });
    ASSERT_NE(row, found.end()) << found;
    EXPECT_EQ((*row)["devices"][0]["name"], "simulated device 0");
    EXPECT_EQ((*row)["devices"][0]["bytes"], 7 << 20);
    EXPECT_THAT(byoc()(command + sim).out,
                HasSubstr("  sim: device 0, simulated device 0, 7 MiB\n"));
    EXPECT_THAT(byoc()(command + sim + none).out,
                HasSubstr("  sim: no device, the plugin lists no device\n"));
  }
}

TEST_F(Doctor, NamesASecondOpenMpRuntimeAndWhoBringsIt) {
  std::string line = "doctor --min-free 0 --plugin " + fault_path("unruly_openmp");
  Ran ran = byoc()(line);
  EXPECT_EQ(ran.code, 0) << "a warning: " << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("warning: 2 OpenMP runtimes"));
  EXPECT_THAT(ran.out, HasSubstr("libgomp.so.1 of "));
  EXPECT_THAT(ran.out, HasSubstr("libomp.so.5 of example"));
  EXPECT_THAT(ran.out, HasSubstr("  cure: "));
  ASSERT_EQ(about(byoc().json(line), "openmp").size(), 1u);
}

TEST_F(Doctor, NamesACacheThatCannotBeWritten) {
  std::string reach = cat("setpriv --reuid=65534 --regid=65534 --clear-groups test -x ",
                          BYOC_BUILD_DIR, "/bin/byoc");
  if (::geteuid() == 0 && std::system(reach.c_str()) != 0)
    GTEST_SKIP() << "users without privileges cannot reach the build folder";
  fs::create_directory(cache() + "/byoc");
  fs::permissions(cache() + "/byoc", fs::perms(0555));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((cache() + "/byoc").c_str(), 65534, 65534), 0);
  }
  Json json = byoc("", true).json("doctor");
  ASSERT_EQ(about(json, "caches").size(), 1u) << json.dump(1);
  EXPECT_EQ(about(json, "caches")[0]["level"], "problem");
  EXPECT_THAT(about(json, "caches")[0]["what"].get<std::string>(),
              HasSubstr("/cache/byoc is not used: no file can be made in it"));
  EXPECT_FALSE(json["caches"][0]["usable"].get<bool>());
  EXPECT_EQ(byoc("", true)("doctor").code, 1);
  fs::permissions(cache() + "/byoc", fs::perms(0777));
  EXPECT_THAT(byoc("", true)("doctor").out, HasSubstr("other users may write to it"));
}

TEST_F(Doctor, NamesACacheThatCannotBeMade) {
  Ran ran = byoc("XDG_CACHE_HOME=/proc/self")("doctor");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("/proc/self/byoc is not used: it cannot be made in /proc/"));
  ran = byoc("XDG_CACHE_HOME= HOME=")("doctor");
  EXPECT_THAT(ran.out, HasSubstr("warning: there is no cache folder"));
}

TEST_F(Doctor, CountsTheFilesOfACache) {
  fs::create_directories(cache() + "/byoc/llvm/deep");
  for (const char* folder : {"/byoc", "/byoc/llvm"})
    fs::permissions(cache() + folder, fs::perms(0700));
  put(cache() + "/byoc/llvm/a", std::string(1000, 'a'));
  put(cache() + "/byoc/llvm/deep/b", std::string(24, 'b'));
  Json caches = byoc().json("doctor")["caches"];
  ASSERT_EQ(caches.size(), 3u);  // that of trials of plugins is the last
  EXPECT_EQ(caches[1]["path"], cache() + "/byoc/llvm");
  EXPECT_EQ(caches[1]["files"], 2);
  EXPECT_EQ(caches[1]["bytes"], 1024);
  EXPECT_TRUE(caches[1]["usable"].get<bool>()) << caches.dump(1);
}

TEST_F(Doctor, WarnsWhenAFileSystemIsAlmostFull) {
  Ran ran = byoc()("doctor --min-free 18446744073709551615");
  EXPECT_EQ(ran.code, 0) << "a warning: " << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("warning: the file system of " + cache() + "/byoc has "));
  EXPECT_THAT(ran.out, HasSubstr(" MiB free, less than "));
  EXPECT_TRUE(about(byoc().json("doctor --min-free 0"), "space").empty());
}

// The disk is a file system in memory of 1 MiB, which this process's namespace alone has.
TEST_F(Doctor, NamesAFullDiskAndTheCacheThatIsOnIt) {
  std::string disk = file("disk"), script = file("script");
  fs::create_directory(disk);
  std::string mount = "mount -t tmpfs -o size=1m none " + disk;
  if (std::system(("unshare -rm " + mount + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "this system lets no user mount a file system of his own";
  put(script, cat(mount, " && mkdir ", disk, "/byoc && chmod 700 ", disk, "/byoc\n",
                  "dd if=/dev/zero of=", disk, "/filled bs=4096 2>", file("dd"), "\n",
                  "env -u BYOC_PLUGIN_PATH XDG_CACHE_HOME=", disk, " ", BYOC_BUILD_DIR,
                  "/bin/byoc \"$@\"\n"));
  Byoc on_disk("unshare -rm sh " + script);
  Ran ran = on_disk("doctor --min-free 1");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("problem: the file system of " + disk + "/byoc is full\n"));
  EXPECT_THAT(ran.out, HasSubstr("problem: the cache " + disk +
                                 "/byoc is not used: no file can be "
                                 "written in it: No space left on device\n"));
  EXPECT_THAT(ran.out, HasSubstr("  cure: delete files, or name another folder"));
  Json json = on_disk.json("doctor --min-free 1");
  ASSERT_EQ(about(json, "space").size(), 1u);
  EXPECT_EQ(about(json, "space")[0]["level"], "problem");
  EXPECT_EQ(json["caches"][0]["usable"], false);
}

TEST_F(Doctor, ReadsTheEnvironment) {
  Byoc with = byoc("BYOC_LOG=error BYOC_DMUP=x BYOC_PLUGIN_PATH=/nowhere/at/all");
  Json json = with.json("doctor");
  auto findings = about(json, "environment");
  ASSERT_EQ(findings.size(), 2u) << json.dump(1);
  EXPECT_EQ(findings[0]["what"], "byoc reads no variable BYOC_DMUP; did you mean \"BYOC_DUMP\"?");
  EXPECT_EQ(findings[1]["what"], "BYOC_PLUGIN_PATH names /nowhere/at/all, which is no folder");
  EXPECT_THAT(with("doctor").out, HasSubstr("\n  BYOC_LOG=error  ("));
  EXPECT_EQ(with("doctor").code, 1);
}

}  // namespace
}  // namespace byoc::test
