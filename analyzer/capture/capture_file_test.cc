// Capture files as bytes: what was written is read, and what was damaged gives what came before, or
// one error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/capture/capture_format.h"
#include "analyzer/capture/capture_reader.h"
#include "analyzer/capture/capture_writer.h"
#include "analyzer/wire/framing.h"

namespace tp {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string EntryOf(uint64_t number, size_t bytes = 10) {
  capture::Entry entry;
  entry.mutable_message()->set_process(number);
  entry.mutable_message()->set_message(std::string(bytes, static_cast<char>('a' + number % 26)));
  std::string text;
  AppendMessage(entry, &text);
  return text;
}

class CaptureFile : public testing::Test {
 protected:
  CaptureFile() : path_(testing::TempDir() + "/capture_file_test.tpcap") {}
  ~CaptureFile() override { std::filesystem::remove(path_); }

  // One block for each group of entries.
  std::string WriteBlocks(const std::vector<std::vector<std::string>>& blocks) {
    auto writer = CaptureWriter::Create(path_);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (const std::vector<std::string>& block : blocks) {
      for (const std::string& entry : block) EXPECT_TRUE((*writer)->Append(entry).ok());
      EXPECT_TRUE((*writer)->Flush().ok());
    }
    EXPECT_TRUE((*writer)->Finish().ok());
    EXPECT_EQ((*writer)->bytes_written(), std::filesystem::file_size(path_));
    std::stringstream bytes;
    bytes << std::ifstream(path_).rdbuf();
    return bytes.str();
  }

  struct Read {
    absl::Status status;
    std::vector<uint64_t> numbers;
    std::string damage;
  };
  Read ReadBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::trunc) << bytes;
    Read read;
    auto reader = CaptureReader::Open(path_);
    read.status = reader.status();
    if (!reader.ok()) return read;
    capture::Entry entry;
    while ((*reader)->Next(&entry)) read.numbers.push_back(entry.message().process());
    read.damage = (*reader)->damage();
    EXPECT_FALSE((*reader)->Next(&entry)) << "it goes on after its end";
    return read;
  }

  std::string path_;
};

TEST_F(CaptureFile, GivesWhatWasWritten) {
  const Read read = ReadBytes(WriteBlocks({{EntryOf(1), EntryOf(2)}, {}, {EntryOf(3)}}));
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.numbers, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(read.damage, "");
}

TEST_F(CaptureFile, HasBlocksOfABoundedSizeAndEntriesWholeInThem) {
  auto writer = CaptureWriter::Create(path_);
  ASSERT_TRUE(writer.ok());
  for (uint64_t number = 0; number < 100; ++number) {
    ASSERT_TRUE((*writer)->Append(EntryOf(number, 300'000)).ok());
  }
  ASSERT_TRUE((*writer)->Append(EntryOf(100, 5 << 20)).ok());
  // Most is in the file before it ends.
  EXPECT_GT((*writer)->bytes_taken(), 30'000'000u);
  EXPECT_FALSE((*writer)->Append(EntryOf(101, kMostBlockBytes)).ok());
  std::stringstream bytes;
  bytes << std::ifstream(path_).rdbuf();
  const Read read = ReadBytes(bytes.str());
  EXPECT_EQ(read.numbers.size(), 101u);
  EXPECT_EQ(read.damage, "");
}

TEST_F(CaptureFile, CutAnywhereGivesAllWholeBlocksAndSaysWhatIsMissing) {
  const std::string bytes =
      WriteBlocks({{EntryOf(1), EntryOf(2)}, {EntryOf(3, 5000)}, {EntryOf(4)}});
  std::vector<size_t> ends = {kCaptureHeaderBytes};  // Of blocks.
  while (ends.back() < bytes.size()) {
    ends.push_back(ends.back() + ZSTD_findFrameCompressedSize(bytes.data() + ends.back(),
                                                              bytes.size() - ends.back()));
  }
  ASSERT_EQ(ends.size(), 4u);
  const std::vector<size_t> entries_by_blocks = {0, 2, 3, 4};
  for (size_t length = 0; length <= bytes.size(); ++length) {
    SCOPED_TRACE(length);
    const Read read = ReadBytes(bytes.substr(0, length));
    if (length < kCaptureHeaderBytes) {
      EXPECT_TRUE(absl::IsInvalidArgument(read.status)) << read.status;
      continue;
    }
    ASSERT_TRUE(read.status.ok()) << read.status;
    size_t blocks = 0;
    while (blocks + 1 < ends.size() && ends[blocks + 1] <= length) ++blocks;
    EXPECT_EQ(read.numbers.size(), entries_by_blocks[blocks]);
    const size_t behind = length - ends[blocks];
    if (behind == 0) {
      EXPECT_EQ(read.damage, "");
    } else {
      EXPECT_THAT(read.damage, HasSubstr("cut off"));
      EXPECT_THAT(read.damage, HasSubstr(": " + std::to_string(behind) + " bytes, from byte " +
                                         std::to_string(ends[blocks])));
    }
  }
}

TEST_F(CaptureFile, WithAnyBitFlippedGivesWhatCameBeforeOrOneError) {
  const std::string bytes = WriteBlocks({{EntryOf(1)}, {EntryOf(2, 500)}, {EntryOf(3)}});
  const std::vector<uint64_t> all = {1, 2, 3};
  for (size_t place = 0; place < bytes.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(std::to_string(place) + ", bit " + std::to_string(bit));
      std::string flipped = bytes;
      flipped[place] = static_cast<char>(flipped[place] ^ (1 << bit));
      const Read read = ReadBytes(flipped);
      if (!read.status.ok()) {
        EXPECT_LT(place, kCaptureHeaderBytes);
        continue;
      }
      // Nothing that was not written, and nothing missing without a word.
      ASSERT_LE(read.numbers.size(), all.size());
      EXPECT_TRUE(std::equal(read.numbers.begin(), read.numbers.end(), all.begin()));
      EXPECT_EQ(read.numbers.size() == all.size(), read.damage.empty()) << read.damage;
    }
  }
}

TEST_F(CaptureFile, OfANewerVersionIsRefusedWithAWord) {
  std::string bytes = WriteBlocks({{EntryOf(1)}});
  bytes[14] = 2;
  const Read read = ReadBytes(bytes);
  EXPECT_TRUE(absl::IsInvalidArgument(read.status));
  EXPECT_THAT(std::string(read.status.message()), HasSubstr("is a capture of version 2"));
}

// Frames that are right for Zstandard, and not what a capture may hold.
TEST_F(CaptureFile, TakesNoBlockThatIsTooLongOrUnchecked) {
  const std::string whole = WriteBlocks({{EntryOf(1)}});
  ZSTD_CCtx* context = ZSTD_createCCtx();
  const auto frame = [&](const std::string& content) {
    std::string packed(ZSTD_compressBound(content.size()), '\0');
    packed.resize(
        ZSTD_compress2(context, packed.data(), packed.size(), content.data(), content.size()));
    return packed;
  };
  const std::string unchecked = frame(EntryOf(2));
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const std::string bomb = frame(std::string(size_t{512} << 20, '\0'));
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const std::string without_length = frame(EntryOf(2));
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1);
  const std::string no_entry = frame("\x7F no entry");
  ZSTD_freeCCtx(context);
  const std::string skippable("\x50\x2A\x4D\x18\x10\0\0\0a skippable frame", 25);
  ASSERT_LT(bomb.size(), 100'000u);
  for (const std::string& other : {unchecked, bomb, without_length, no_entry, skippable}) {
    const Read read = ReadBytes(whole + other + other);
    EXPECT_EQ(read.numbers, std::vector<uint64_t>{1});
    EXPECT_THAT(read.damage, HasSubstr("damaged"));
  }
}

TEST_F(CaptureFile, ThatCannotBeWrittenSaysSo) {
  EXPECT_THAT(std::string(CaptureWriter::Create("/no/such/folder/a").status().message()),
              HasSubstr("cannot write /no/such/folder/a: No such file"));
  auto full = CaptureWriter::Create("/dev/full");
  EXPECT_THAT(std::string(full.status().message()), HasSubstr("No space left"));
}

}  // namespace
}  // namespace tp
