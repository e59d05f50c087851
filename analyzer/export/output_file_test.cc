#include "analyzer/export/output_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry);
  }

  std::string Path(const std::string& name) const { return folder_ / name; }
  static std::string Contents(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  size_t FileCount() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "output_file_test";
};

TEST_F(OutputFileTest, HasItsNameOnlyWhenItIsWhole) {
  auto file = OutputFile::Create(Path("a.json"));
  ASSERT_TRUE(file.ok()) << file.status();
  (*file)->Append(std::string(1 << 20, 'x'));
  EXPECT_FALSE(fs::exists(Path("a.json")));
  EXPECT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(Contents(Path("a.json")), std::string(1 << 20, 'x'));
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(OutputFileTest, LeavesTheOldFileWhereItIsNotFinished) {
  std::ofstream(Path("a.json")) << "old";
  {
    auto file = OutputFile::Create(Path("a.json"));
    (*file)->Append("new");
  }
  EXPECT_EQ(Contents(Path("a.json")), "old");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(OutputFileTest, ReplacesAFileAndKeepsItsModeAndTheLinkToIt) {
  std::ofstream(Path("a.json")) << "old";
  fs::permissions(Path("a.json"), fs::perms(0600));
  fs::create_symlink("a.json", Path("link"));
  auto file = OutputFile::Create(Path("link"));
  (*file)->Append("new");
  EXPECT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(Contents(Path("a.json")), "new");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(fs::status(Path("a.json")).permissions(), fs::perms(0600));
}

TEST_F(OutputFileTest, MakesTheFileThatALinkToNoneNames) {
  fs::create_directory(Path("folder"));
  fs::create_symlink("folder/link", Path("link"));
  fs::create_symlink("../a.json", Path("folder/link"));
  auto file = OutputFile::Create(Path("link"));
  (*file)->Append("new");
  EXPECT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(Contents(Path("a.json")), "new");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_symlink(Path("folder/link")));
  fs::remove_all(Path("folder"));
}

TEST_F(OutputFileTest, IsCompressedByItsName) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i) + "\n";
  auto file = OutputFile::Create(Path("a.json.gz"));
  (*file)->Append(text.substr(0, 10));
  (*file)->Append(text.substr(10));
  EXPECT_TRUE((*file)->Finish().ok());
  EXPECT_LT(fs::file_size(Path("a.json.gz")), text.size() / 3);
  gzFile packed = gzopen(Path("a.json.gz").c_str(), "rb");
  std::string unpacked(text.size() + 1, '\0');
  unpacked.resize(gzread(packed, unpacked.data(), unpacked.size()));
  EXPECT_EQ(gzclose(packed), Z_OK);
  EXPECT_EQ(unpacked, text);
}

TEST_F(OutputFileTest, WritesAPipeDirectly) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  auto file = OutputFile::Create(Path("pipe"));
  ASSERT_TRUE(file.ok()) << file.status();
  (*file)->Append("text");
  EXPECT_TRUE((*file)->Finish().ok());
  char read_back[8] = {};
  EXPECT_EQ(read(reader, read_back, sizeof(read_back)), 4);
  EXPECT_STREQ(read_back, "text");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(OutputFileTest, SaysWhatStandsInTheWay) {
  EXPECT_EQ(OutputFile::Create(Path("no/such/a.json")).status().message(),
            "cannot write " + Path("no/such/a.json") + ": No such file or directory");
  EXPECT_EQ(OutputFile::Create(Path(".")).status().message(),
            "cannot write " + Path(".") + ": Is a directory");
}

TEST_F(OutputFileTest, SaysBeforeLongWorkWhatStandsInTheWay) {
  EXPECT_EQ(OutputFile::Check(Path("no/such/a.json")).message(),
            "cannot write " + Path("no/such/a.json") + ": No such file or directory");
  EXPECT_EQ(OutputFile::Check(Path(".")).message(),
            "cannot write " + Path(".") + ": Is a directory");
  for (const std::string& path : {Path("a.json"), std::string("a.json"), std::string("-")}) {
    EXPECT_TRUE(OutputFile::Check(path).ok()) << path;
  }
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(OutputFileTest, AFullDiskIsOneErrorAndLeavesNothing) {
  // A limit on the size of files stands for the disk: the same error at the same place.
  signal(SIGXFSZ, SIG_IGN);
  rlimit usual;
  getrlimit(RLIMIT_FSIZE, &usual);
  for (const char* name : {"a.json", "a.json.gz"}) {
    const rlimit small = {1000, usual.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    auto file = OutputFile::Create(Path(name));
    uint32_t random = 1;
    for (int i = 0; i < 1000000 && (*file)->ok(); ++i) {
      (*file)->Append(std::to_string(random = random * 1664525 + 1013904223));
    }
    EXPECT_FALSE((*file)->ok());
    const absl::Status status = (*file)->Finish();
    setrlimit(RLIMIT_FSIZE, &usual);
    EXPECT_EQ(status.message(), "cannot write " + Path(name) + ": File too large");
    file->reset();
    EXPECT_EQ(FileCount(), 0u);
  }
}

TEST_F(OutputFileTest, CancelledItLeavesNothing) {
  bool cancelled = false;
  auto file = OutputFile::Create(Path("a.json"), [&] { return cancelled; });
  (*file)->Append("text");
  cancelled = true;
  EXPECT_EQ((*file)->Finish().code(), absl::StatusCode::kCancelled);
  file->reset();
  EXPECT_EQ(FileCount(), 0u);
}

}  // namespace
}  // namespace tp
