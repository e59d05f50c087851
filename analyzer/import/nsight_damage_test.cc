// Exports that are none, are cut off, or hold what cannot be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/import/import.h"
#include "analyzer/import/nsight_export.h"

namespace tp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

void WriteGzip(const std::string& path, std::string_view bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(file);
}

TEST(Nsight, RowsWithValuesOfAnotherTypeAreLeftOutAndCounted) {
  NsightExport database;
  for (const char* start :
       {"'early'", "1.5", "x'00'", "-9223372036854775808", "9223372036854775807"}) {
    database.Execute(
        absl::StrCat("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (",
                     start, ", 9223372036854775807, 59, 'a', 1)"));
  }
  const std::string kernel =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, demangledName) VALUES ";
  for (const char* values : {"('a', 2, 0, 1, 7, 1, 1, 1)", "(1, x'01', 0, 1, 7, 1, 1, 1)",
                             "(1, 2, 4294967296, 1, 7, 1, 1, 1)", "(1, 2, 0, -1, 7, 1, 1, 1)",
                             "(1, 2, 0, 1, 'seven', 1, 1, 1)", "(1, 2, 0, 1, 7, 4294967296, 1, 1)",
                             "(1, 2, 0, 1, 7, 1, 'p', 1)", "(1, 2, 0, 1, 7, 1, 1, 'name')"}) {
    database.Execute(kernel + values);
  }
  database.Execute(kernel + "(5, 6, 0, 1, 7, NULL, NULL, NULL)");
  const WholeRecording recording = Import(database);
  EXPECT_EQ(recording.spans.size(), 0u);
  EXPECT_EQ(recording.activities.size(), 1u);
  EXPECT_EQ(recording.base_ns, 5);
  EXPECT_THAT(recording.notes,
              ElementsAre("5 rows of NVTX_EVENTS with values that cannot be right: left out",
                          "8 rows of CUPTI_ACTIVITY_KIND_KERNEL with values that cannot be right: "
                          "left out"));
}

TEST(Nsight, RecordsThatEndBeforeTheyStartAreCountedAndInNoSum) {
  NsightExport database;
  database.Range(-50, "-20", "before zero");
  database.Kernel(100, 50, "0", "a");
  database.Kernel(100, 150, "0", "b");
  const WholeRecording recording = Import(database);
  EXPECT_EQ(recording.base_ns, -50);
  const query::Table table = TableOf(recording, query::KERNELS);
  EXPECT_EQ(table.device_time_total_ns(), 50);
  ASSERT_EQ(table.losses_size(), 1);
  EXPECT_EQ(table.losses(0).cause(), "end before they start");
}

TEST(Nsight, TextsWithoutAnOrderAreFoundToo) {
  NsightExport database(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, demangledName "
      "INTEGER)");
  database.Execute(
      "INSERT INTO StringIds VALUES (7, 'seven'), ('x', 'none'), (3, 'three'), (3, 'again');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 3), (1, 2, 7)");
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.activities.size(), 2u);
  EXPECT_EQ(Text(recording, recording.activities[0].name), "three");
  EXPECT_EQ(Text(recording, recording.activities[1].name), "seven");
}

TEST(Nsight, AnEmptyExportIsARecordingOfNothingThatSaysSo) {
  const WholeRecording recording = Import(NsightExport());
  EXPECT_TRUE(recording.spans.empty());
  EXPECT_THAT(recording.notes, ElementsAre("it holds no CUDA work and no NVTX ranges"));
  EXPECT_EQ(TableOf(recording, query::OPERATIONS).operations_size(), 0);
}

std::string ErrorOf(const std::string& path) {
  const absl::StatusOr<WholeRecording> recording = ImportNsight(path);
  EXPECT_FALSE(recording.ok());
  if (recording.ok()) return "";
  EXPECT_EQ(recording.status().message().find('\n'), absl::string_view::npos);
  return std::string(recording.status().message());
}

TEST(Nsight, WhatIsNoExportIsAnErrorThatSaysWhy) {
  const NsightExport other("CREATE TABLE bookmarks (url TEXT)");
  EXPECT_THAT(ErrorOf(other.path()), HasSubstr("no export of Nsight Systems"));
  // Neither views nor virtual tables are tables.
  const NsightExport view("CREATE VIEW StringIds AS SELECT 1 AS id, 'a' AS value");
  EXPECT_THAT(ErrorOf(view.path()),
              AllOf(HasSubstr("no export of Nsight Systems"), HasSubstr("it is a view")));
  const std::string text = other.path() + ".txt";
  for (const char* bytes : {"", "SQLite", "this is no database", "SQLite format 3"}) {
    WriteFile(text, bytes);
    EXPECT_THAT(ErrorOf(text), HasSubstr("is no SQLite database"));
  }
  WriteFile(text, std::string("SQLite format 3\0 and nonsense", 29));
  EXPECT_THAT(ErrorOf(text), HasSubstr("is no SQLite database that can be read"));
  EXPECT_THAT(ErrorOf(other.path() + ".absent"), HasSubstr("cannot open"));
  EXPECT_THAT(ErrorOf(testing::TempDir()), HasSubstr("is a folder"));
}

TEST(Nsight, AViewInATablesPlaceIsToldAndNotRead) {
  NsightExport database;
  database.Kernel(100, 150, "0", "a");
  database.Execute(
      "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO kernels;"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM kernels");
  database.Range(1, "2", "range");
  const WholeRecording recording = Import(database);
  EXPECT_TRUE(recording.activities.empty());
  EXPECT_THAT(recording.notes,
              ElementsAre(HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL cannot be read: it is a view")));
}

TEST(Nsight, WaitsAreLeftOutAndCounted) {
  NsightExport database;
  database.Execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 5), (7, 9)");
  database.Kernel(100, 150, "0", "a");
  EXPECT_THAT(Import(database).notes, ElementsAre(HasSubstr("2 waits of streams and events")));
}

// A connection that leaves its last changes beside the database, as one does that was killed.
class UnfinishedWriter {
 public:
  UnfinishedWriter(const NsightExport& database, const std::string& sql) {
    EXPECT_EQ(sqlite3_open(database.path().c_str(), &connection_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~UnfinishedWriter() { sqlite3_close(connection_); }

 private:
  sqlite3* connection_ = nullptr;
};

TEST(Nsight, ChangesBesideTheFileAreToldNotToBeRead) {
  NsightExport database;
  database.Kernel(100, 150, "0", "a");
  ASSERT_THAT(Import(database).notes, IsEmpty());
  const std::string change = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 200;";
  // One that is done with is empty, or begins with zeros.
  for (const char* end : {"PRAGMA journal_mode = PERSIST;", "PRAGMA journal_mode = TRUNCATE;"}) {
    database.Execute(end + change);
    EXPECT_THAT(Import(database).notes, IsEmpty()) << end;
  }
  {
    // A cache that is too small for the change has it written before the end.
    const UnfinishedWriter writer(
        database,
        "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
        "INSERT INTO StringIds WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT "
        "i + 1 FROM n WHERE i < 9000) SELECT i, 'a long enough text ' || i FROM n;");
    EXPECT_THAT(Import(database).notes,
                ElementsAre(HasSubstr("report.sqlite-journal lies beside")));
  }
  WriteFile(database.path() + "-wal", "");
  EXPECT_THAT(Import(database).notes, IsEmpty());
  WriteFile(database.path() + "-wal", "a frame");
  EXPECT_THAT(Import(database).notes, ElementsAre(HasSubstr("report.sqlite-wal and was not read")));
  // Also if the file is reached by a link.
  const std::string link = database.path() + ".link";
  std::filesystem::create_symlink(database.path(), link);
  EXPECT_THAT(ImportNsight(link)->notes, ElementsAre(HasSubstr("report.sqlite-wal")));
}

// Enough for every table to have several pages.
void Fill(NsightExport* database, int count = 60) {
  const int64_t text = database->Text("aten::mm, op_id = 7, sizes = [[2, 3]]");
  const int64_t launch = database->Text("cudaLaunchKernel_v7000");
  const auto rows = [&](const std::string& values) {
    return absl::StrCat(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
        "i < ",
        count, ") INSERT INTO ", values, " FROM n;");
  };
  database->Execute(absl::StrCat(
      rows("StringIds SELECT 100 + i, 'kernel number ' || i"),
      rows(absl::StrCat("NVTX_EVENTS SELECT 100 * i, 100 * i + 50, 59, NULL, NULL, ", kThread,
                        ", NULL, ", text, ", 0")),
      rows(absl::StrCat("CUPTI_ACTIVITY_KIND_RUNTIME SELECT 100 * i + 10, 100 * i + 20, 0, ",
                        kThread, ", i, ", launch, ", 0")),
      rows(
          absl::StrCat("CUPTI_ACTIVITY_KIND_KERNEL SELECT 100 * i + 30, 100 * i + 90, 0, 1, 7, i, ",
                       kProcess, ", 100 + i, NULL, NULL, NULL"))));
}

TEST(Nsight, AFileThatIsCutAnywhereGivesWhatItHoldsAndSaysWhatIsMissing) {
  NsightExport database;
  Fill(&database);
  const WholeRecording whole = Import(database);
  ASSERT_EQ(whole.spans.size(), 60u);
  ASSERT_EQ(whole.activities.size(), 120u);
  EXPECT_THAT(whole.notes, IsEmpty());
  const std::string bytes = ReadFile(database.path());
  const std::string cut = database.path() + ".cut";
  int readable = 0;
  for (size_t size = 0; size < bytes.size(); size += 131) {
    WriteFile(cut, std::string_view(bytes).substr(0, size));
    const absl::StatusOr<WholeRecording> recording = ImportNsight(cut);
    if (!recording.ok()) {
      EXPECT_EQ(recording.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ++readable;
    EXPECT_THAT(recording->notes, testing::Contains(HasSubstr("bytes are missing")));
    EXPECT_LE(recording->spans.size(), 60u);
    EXPECT_LE(recording->activities.size(), 120u);
    for (const DeviceActivity& activity : recording->activities) {
      EXPECT_GT(activity.end_ns, activity.start_ns);
    }
  }
  EXPECT_GT(readable, 10);
}

TEST(Nsight, AGzippedFileIsUnpackedAsFarAsItGoes) {
  NsightExport database;
  Fill(&database);
  const std::string packed = database.path() + ".gz";
  WriteGzip(packed, ReadFile(database.path()));
  const absl::StatusOr<WholeRecording> whole = ImportNsight(packed);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->spans.size(), 60u);
  EXPECT_THAT(whole->notes, IsEmpty());

  const std::string bytes = ReadFile(packed);
  int readable = 0;
  for (size_t size = 0; size < bytes.size(); size += 61) {
    WriteFile(packed, std::string_view(bytes).substr(0, size));
    const absl::StatusOr<WholeRecording> recording = ImportNsight(packed);
    if (!recording.ok()) continue;
    ++readable;
    EXPECT_THAT(recording->notes.front(), HasSubstr("the gzipped data end in the middle"));
  }
  EXPECT_GT(readable, 0);
  WriteGzip(packed, std::string(100000, 'x'));
  EXPECT_THAT(ErrorOf(packed), HasSubstr("is no SQLite database"));
}

TEST(Nsight, BytesThatAreWrongDoNoHarm) {
  NsightExport database;
  Fill(&database);
  const std::string right = ReadFile(database.path());
  const std::string broken = database.path() + ".broken";
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    std::string bytes = right;
    for (int i = 0; i < 1 + round % 20; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    WriteFile(broken, bytes);
    const absl::StatusOr<WholeRecording> recording = ImportNsight(broken);
    if (!recording.ok()) {
      EXPECT_EQ(recording.status().message().find('\n'), absl::string_view::npos);
      continue;
    }
    // No more rows than the file has room for.
    EXPECT_LE(recording->spans.size(), bytes.size() / 4);
    TableOf(*recording, query::KERNELS);
  }
}

TEST(Nsight, PagesThatLeadToTheSameRowsAgainAndAgainEnd) {
  NsightExport database;
  Fill(&database, 2000);
  // Inner pages of tables say which pages are below them. Each is made to name one page again and
  // again: the small ones, which are the tables' first, a large one, that the next large one.
  std::string bytes = ReadFile(database.path());
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  std::vector<size_t> small, large;
  for (size_t page = 512; page < bytes.size(); page += 512) {
    constexpr unsigned char kInnerPage = 5;
    if (byte(page) == kInnerPage) (byte(page + 4) < 20 ? small : large).push_back(page);
  }
  ASSERT_GE(small.size(), 3u);
  ASSERT_GE(large.size(), 4u);
  const auto lead = [&](size_t page, size_t to) {
    const size_t number = to / 512 + 1;
    const std::string below = {0, 0, static_cast<char>(number >> 8), static_cast<char>(number)};
    for (size_t cell = 0; cell < byte(page + 4); ++cell) {
      const size_t pointer = page + 12 + 2 * cell;
      bytes.replace(page + byte(pointer) * 256u + byte(pointer + 1), 4, below);
    }
    bytes.replace(page + 8, 4, below);
  };
  for (const size_t page : small) lead(page, large[0]);
  for (size_t i = 0; i + 1 < 4; ++i) lead(large[i], large[i + 1]);
  WriteFile(database.path(), bytes);
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, testing::Contains(HasSubstr("more rows than there is room for")));
  EXPECT_LE(recording.spans.size() + recording.activities.size(), bytes.size());
}

}  // namespace
}  // namespace tp
