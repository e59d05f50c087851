#include "analyzer/import/unpacked_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <string>

namespace tp {
namespace {

using testing::HasSubstr;

bool BeginsWithWord(std::string_view bytes) { return bytes == "word"; }

class UnpackedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "unpacked-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    ASSERT_EQ(setenv("TMPDIR", folder.c_str(), 1), 0);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }

  // "T": as it is, "9": gzipped.
  std::string Write(const std::string& bytes, const std::string& mode) const {
    std::string path = folder_ / "file";
    gzFile file = gzopen(path.c_str(), ("wb" + mode).c_str());
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    gzclose(file);
    return path;
  }
  static absl::StatusOr<UnpackedFile> Open(const std::string& path) {
    return OpenUnpacked(path, 4, BeginsWithWord, "list of words");
  }
  static std::string ReadAt(const UnpackedFile& unpacked, int64_t offset, size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = pread(unpacked.file.get(), bytes.data(), size, offset);
    bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return bytes;
  }

  std::filesystem::path folder_;
};

TEST_F(UnpackedFileTest, WhatIsNotPackedIsTheFileItself) {
  const std::string path = Write("word and more", "T");
  const absl::StatusOr<UnpackedFile> unpacked = Open(path);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_EQ(ReadAt(*unpacked, 5, 100), "and more");
  struct stat file, opened;
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  ASSERT_EQ(fstat(unpacked->file.get(), &opened), 0);
  EXPECT_EQ(file.st_ino, opened.st_ino);
}

TEST_F(UnpackedFileTest, WhatIsPackedIsReadAnywhereAndLeavesNoFileBehind) {
  std::string bytes = "word";
  for (int i = 0; i < 500'000; ++i) bytes += std::to_string(i);
  const absl::StatusOr<UnpackedFile> unpacked = Open(Write(bytes, "9"));
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_EQ(unpacked->damage, "");
  for (const size_t at : {size_t{0}, size_t{1'000'000}, bytes.size() - 100}) {
    EXPECT_EQ(ReadAt(*unpacked, static_cast<int64_t>(at), 100), bytes.substr(at, 100)) << at;
  }
  EXPECT_EQ(ReadAt(*unpacked, static_cast<int64_t>(bytes.size()), 1), "");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename(), "file");
  }
}

TEST_F(UnpackedFileTest, WhatIsSomethingElseIsNotUnpacked) {
  setenv("TMPDIR", "/nowhere", 1);
  for (const char* mode : {"T", "9"}) {
    const absl::StatusOr<UnpackedFile> unpacked = Open(Write("another thing", mode));
    EXPECT_EQ(unpacked.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(unpacked.status().message()), HasSubstr("file is no list of words"));
  }
}

TEST_F(UnpackedFileTest, AFolderThatIsNotThereIsNamed) {
  const std::string path = Write("word", "9");
  setenv("TMPDIR", "/nowhere", 1);
  EXPECT_THAT(std::string(Open(path).status().message()),
              testing::AllOf(HasSubstr("into /nowhere"), HasSubstr("No such file")));
}

TEST_F(UnpackedFileTest, AFullDiskIsToldAsSuch) {
  const std::string path = Write("word" + std::string(100'000, 'x'), "9");
  // Writing beyond the limit fails as it does on a full disk, with another number.
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little = {50'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const absl::StatusOr<UnpackedFile> unpacked = Open(path);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(std::string(unpacked.status().message()),
              testing::AllOf(HasSubstr("cannot unpack " + path), HasSubstr("File too large")));
}

}  // namespace
}  // namespace tp
