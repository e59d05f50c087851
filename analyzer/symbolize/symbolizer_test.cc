#include "analyzer/symbolize/symbolizer.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace tp_symbolizer_test {
// Something with a C++ name, in this program's own file.
__attribute__((noinline)) int Named(int value) { return value + 1; }
}  // namespace tp_symbolizer_test

extern "C" int tp_also_named(int value) { return value + 2; }

namespace tp {
namespace {

using testing::StartsWith;

std::string OwnPath() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// The file's address of code in memory, as a return to just behind its first byte.
uint64_t InFile(const void* code) {
  Dl_info info;
  link_map* map = nullptr;
  EXPECT_NE(dladdr1(code, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP), 0);
  return reinterpret_cast<uintptr_t>(code) - map->l_addr + 1;
}

std::string Identity(const std::string& path) {
  struct stat about = {};
  stat(path.c_str(), &about);
  return absl::StrCat("t", about.st_mtim.tv_sec * int64_t{1'000'000'000} + about.st_mtim.tv_nsec,
                      ".", about.st_size);
}

// A file of its own that a test may damage.
class SymbolizerTest : public testing::Test {
 protected:
  SymbolizerTest() {
    char folder[] = "/tmp/tp-symbolizer-XXXXXX";
    folder_ = mkdtemp(folder);
    path_ = folder_ + "/program";
    std::filesystem::copy_file(OwnPath(), path_);
  }
  ~SymbolizerTest() override { std::filesystem::remove_all(folder_); }

  std::string Module() const { return path_ + "\n" + Identity(path_); }

  std::string folder_, path_;
  const uint64_t named_ = InFile(reinterpret_cast<const void*>(&tp_symbolizer_test::Named));
  const uint64_t also_named_ = InFile(reinterpret_cast<const void*>(&tp_also_named));
};

TEST_F(SymbolizerTest, NamesFunctionsOfAProgram) {
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.FrameName(getpid(), Module(), named_), "tp_symbolizer_test::Named(int)");
  EXPECT_EQ(symbolizer.FrameName(getpid(), Module(), also_named_), "tp_also_named");
}

TEST_F(SymbolizerTest, AReturnToTheNextFunctionIsFromTheOneBefore) {
  // As behind a call of a function that does not return, which is the last of its caller.
  const absl::StatusOr<ElfSymbols> symbols = ElfSymbols::Open(path_);
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  uint64_t end = named_;
  while (symbols->FunctionAt(end) == symbols->FunctionAt(named_)) ++end;
  EXPECT_EQ(Symbolizer().FrameName(getpid(), Module(), end), "tp_symbolizer_test::Named(int)");
}

TEST_F(SymbolizerTest, NamesFunctionsThatALibraryExports) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&strtol), &info), 0);
  const absl::StatusOr<ElfSymbols> library = ElfSymbols::Open(info.dli_fname);
  ASSERT_TRUE(library.ok()) << library.status();
  ASSERT_FALSE(library->build_id().empty());
  Symbolizer symbolizer;
  EXPECT_THAT(
      symbolizer.FrameName(getpid(), absl::StrCat(info.dli_fname, "\nb", library->build_id()),
                           InFile(reinterpret_cast<const void*>(&qsort_r))),
      StartsWith("qsort_r"));
}

TEST_F(SymbolizerTest, AFileThatIsAnotherThanTheProcessHasGivesNoNames) {
  Symbolizer symbolizer;
  for (const char* identity : {"", "b0123456789abcdef", "t1.2", "x"}) {
    EXPECT_EQ(symbolizer.FrameName(getpid(), path_ + "\n" + identity, 0x1234), "program+0x1234");
  }
  const std::string module = Module();
  std::ofstream(path_, std::ios::app) << "more";
  EXPECT_THAT(symbolizer.FrameName(getpid(), module, named_), StartsWith("program+0x"));
}

TEST_F(SymbolizerTest, WhatHasNoNameIsModuleAndAddress) {
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.FrameName(getpid(), Module(), 0), "program+0x0");
  EXPECT_EQ(symbolizer.FrameName(getpid(), Module(), ~uint64_t{0} >> 16), "program+0xffffffffffff");
  EXPECT_EQ(symbolizer.FrameName(getpid(), "/no/such/file.so\nbabcd", 16), "file.so+0x10");
  EXPECT_EQ(symbolizer.FrameName(getpid(), "linux-vdso.so.1\nb12", 16), "linux-vdso.so.1+0x10");
  EXPECT_EQ(symbolizer.FrameName(getpid(), "/dev/zero\nt0.0", 16), "zero+0x10");
  EXPECT_EQ(symbolizer.FrameName(getpid(), "", 16), "+0x10");
}

TEST_F(SymbolizerTest, ADamagedFileGivesNamesOrNone) {
  std::ifstream file(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const auto look = [&](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const absl::StatusOr<ElfSymbols> symbols = ElfSymbols::Open(path_);
    if (symbols.ok()) {
      for (uint64_t address : {named_, also_named_, uint64_t{0}, ~uint64_t{0}}) {
        symbols->FunctionAt(address);
      }
    }
  };
  for (size_t parts = 0; parts < 16; ++parts) look(whole.substr(0, whole.size() * parts / 16));
  // The header, byte by byte, and the table of sections, which is at the end.
  for (size_t at = 0; at < 64; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x5a);
    look(bytes);
  }
  for (size_t back = 1; back < 64 * 40; back += 7) {
    std::string bytes = whole;
    bytes[bytes.size() - back] = static_cast<char>(0xff);
    look(bytes);
  }
}

TEST_F(SymbolizerTest, FilesBeyondTheLimitAreReadAgain) {
  Symbolizer symbolizer({.files = 1});
  const std::string other = folder_ + "/other";
  std::filesystem::copy_file(path_, other);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(symbolizer.FrameName(getpid(), Module(), also_named_), "tp_also_named");
    const size_t bytes = symbolizer.memory_bytes();
    EXPECT_EQ(symbolizer.FrameName(getpid(), other + "\n" + Identity(other), also_named_),
              "tp_also_named");
    EXPECT_EQ(symbolizer.memory_bytes(), bytes);
  }
}

}  // namespace
}  // namespace tp
