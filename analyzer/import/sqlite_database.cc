#include "analyzer/import/sqlite_database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/import/descriptor_vfs.h"
#include "analyzer/import/unpacked_file.h"

namespace tp {
namespace {

constexpr std::string_view kBeginning("SQLite format 3", kSqliteBeginningBytes);
// A text or a row that is longer is damage.
constexpr int kLongestBytes = 64 << 20;
// Of a row with its place in the page, at the least: what a table's file can hold bounds how many
// rows there can be, whatever circles its pages form.
constexpr uint64_t kShortestRowBytes = 4;
constexpr size_t kLongestMessageBytes = 200;
constexpr std::string_view kPlainTable = "type = 'table' AND rootpage > 0";

std::string Quoted(std::string_view name) {
  return absl::StrCat("\"", absl::StrReplaceAll({name.data(), name.size()}, {{"\"", "\"\""}}),
                      "\"");
}

// What went wrong last, in one line: SQLite quotes what the file says.
std::string Message(sqlite3* connection) {
  std::string message = sqlite3_errmsg(connection);
  if (message.size() > kLongestMessageBytes) {
    message.resize(kLongestMessageBytes);
    message += "...";
  }
  for (char& c : message) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return message;
}

// The first bytes of a rollback journal that is to be played back: one that is done with is empty,
// or begins with zeros.
constexpr std::string_view kJournalBeginning = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

// "" unless there are changes beside the file that the file alone lacks. They are not read: that
// takes locks and changes files, and nothing of what others wrote is to be changed.
std::string ChangesBeside(const std::string& path) {
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) return "";
  const std::string log = absl::StrCat(real, "-wal"), journal = absl::StrCat(real, "-journal");
  std::error_code none;
  if (const auto bytes = std::filesystem::file_size(log, none); !none && bytes > 0) {
    return absl::StrCat("what was last written to it lies in ", log,
                        " and was not read, so that records may be missing: sqlite3 ", path,
                        " 'PRAGMA wal_checkpoint' brings it in");
  }
  std::string beginning(kJournalBeginning.size(), '\0');
  std::ifstream(journal, std::ios::binary).read(beginning.data(), kJournalBeginning.size());
  if (beginning != kJournalBeginning) return "";
  return absl::StrCat("it was being written when it was last used (", journal,
                      " lies beside it), so that records may be missing or wrong: sqlite3 ", path,
                      " 'SELECT 1 FROM sqlite_schema' sets it right");
}

// Null, with SQLite's message in the connection, if it cannot be.
sqlite3_stmt* Prepare(sqlite3* connection, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  return statement;
}

std::string_view ColumnText(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement, column))};
}

}  // namespace

bool BeginsLikeSqlite(std::string_view bytes) { return bytes.starts_with(kBeginning); }

void FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool TableRows::Next() {
  if (statement_ == nullptr || !damage_.empty()) return false;
  right_ = true;
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_DONE) return false;
  if (result != SQLITE_ROW) {
    damage_ = Message(sqlite3_db_handle(statement_.get()));
  } else if (rows_ == most_rows_) {
    damage_ = "it has more rows than there is room for in the file";
  } else {
    ++rows_;
    return true;
  }
  return false;
}

bool TableRows::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

int64_t TableRows::Integer(int column, int64_t if_null) {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(statement_.get(), column);
  if (type != SQLITE_NULL) right_ = false;
  return if_null;
}

uint32_t TableRows::Unsigned(int column, uint32_t if_null) {
  const int64_t value = Integer(column, if_null);
  if (value < 0 || value > UINT32_MAX) right_ = false;
  return static_cast<uint32_t>(value);
}

int64_t TableRows::Required(int column) {
  if (IsNull(column)) right_ = false;
  return Integer(column);
}

std::string_view TableRows::Text(int column) {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type == SQLITE_TEXT) return ColumnText(statement_.get(), column);
  if (type != SQLITE_NULL) right_ = false;
  return {};
}

bool TableRows::RowIsRight() {
  if (!right_) ++wrong_rows_;
  return right_;
}

std::string_view TextsById::Text(int64_t id) {
  if (statement_ == nullptr) return {};
  sqlite3_reset(statement_.get());
  sqlite3_bind_int64(statement_.get(), 1, id);
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW && sqlite3_column_type(statement_.get(), 0) == SQLITE_TEXT) {
    return ColumnText(statement_.get(), 0);
  }
  if (result != SQLITE_ROW && result != SQLITE_DONE && damage_.empty()) {
    damage_ = Message(sqlite3_db_handle(statement_.get()));
  }
  return {};
}

void SqliteDatabase::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

absl::StatusOr<SqliteDatabase> SqliteDatabase::Open(const std::string& path) {
  absl::StatusOr<UnpackedFile> unpacked =
      OpenUnpacked(path, kSqliteBeginningBytes, BeginsLikeSqlite, "SQLite database");
  if (!unpacked.ok()) return unpacked.status();
  const int fd = unpacked->file.get();
  const char* vfs = DescriptorVfs();
  if (vfs == nullptr) return absl::InternalError("SQLite cannot be used");
  sqlite3* connection = nullptr;
  const int opened = sqlite3_open_v2(DescriptorName(fd).c_str(), &connection,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  SqliteDatabase database;
  database.connection_.reset(connection);
  if (connection == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory to read ", path));
  }
  if (opened != SQLITE_OK) {
    return absl::InvalidArgumentError(absl::StrCat(path, " cannot be read: ", Message(connection)));
  }
  for (const auto& [setting, on] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                    {SQLITE_DBCONFIG_DQS_DML, 0}}) {
    sqlite3_db_config(connection, setting, on, nullptr);
  }
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kLongestBytes);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_exec(connection, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
  // Reads the schema.
  if (sqlite3_exec(connection, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no SQLite database that can be read: ", Message(connection)));
  }
  struct stat about = {};
  fstat(fd, &about);
  database.most_rows_ = static_cast<uint64_t>(about.st_size) / kShortestRowBytes;
  database.damage_ = unpacked->damage;
  const int64_t missing = MissingBytes(fd);
  if (database.damage_.empty() && missing > 0) {
    database.damage_ = absl::StrCat("the last ", missing, " of its ", about.st_size + missing,
                                    " bytes are missing");
  }
  if (const std::string changes = ChangesBeside(path); !changes.empty()) {
    absl::StrAppend(&database.damage_, database.damage_.empty() ? "" : "; ", changes);
  }
  return database;
}

bool SqliteDatabase::HasTable(std::string_view table) const {
  return !ColumnsOf(table, nullptr).empty();
}

bool SqliteDatabase::HasEntry(std::string_view name, std::string_view condition) const {
  const SqliteStatement statement(Prepare(
      connection_.get(), absl::StrCat("SELECT 1 FROM sqlite_schema WHERE name = ? AND ",
                                      absl::string_view(condition.data(), condition.size()))));
  if (statement == nullptr) return false;
  sqlite3_bind_text(statement.get(), 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
  return sqlite3_step(statement.get()) == SQLITE_ROW;
}

std::string SqliteDatabase::WhyNoTable(std::string_view table) const {
  if (HasEntry(table, kPlainTable) || !HasEntry(table, "type IN ('table', 'view')")) return "";
  return "it is a view or a virtual table, and only plain ones are read";
}

// None, too, if it is no plain table.
std::vector<std::string> SqliteDatabase::ColumnsOf(std::string_view table,
                                                   bool* ordered_by_id) const {
  std::vector<std::string> columns;
  if (!HasEntry(table, kPlainTable)) return columns;
  const SqliteStatement statement(
      Prepare(connection_.get(), absl::StrCat("PRAGMA table_info(", Quoted(table), ")")));
  if (statement == nullptr) return columns;
  constexpr int kName = 1, kPlaceInPrimaryKey = 5;
  while (sqlite3_step(statement.get()) == SQLITE_ROW) {
    columns.emplace_back(ColumnText(statement.get(), kName));
    if (ordered_by_id != nullptr && absl::EqualsIgnoreCase(columns.back(), "id")) {
      *ordered_by_id = sqlite3_column_int(statement.get(), kPlaceInPrimaryKey) == 1;
    }
  }
  return columns;
}

TableRows SqliteDatabase::Rows(std::string_view table,
                               const std::vector<std::string_view>& columns) {
  TableRows rows;
  rows.most_rows_ = most_rows_;
  const std::vector<std::string> known = ColumnsOf(table, nullptr);
  std::vector<std::string> selected;
  for (const std::string_view column : columns) {
    const bool has = std::any_of(known.begin(), known.end(), [&](const std::string& name) {
      return absl::EqualsIgnoreCase(name, {column.data(), column.size()});
    });
    rows.has_column_.push_back(has);
    selected.push_back(has ? Quoted(column) : "NULL");
  }
  rows.damage_ = WhyNoTable(table);
  if (known.empty()) return rows;
  rows.statement_.reset(
      Prepare(connection_.get(),
              absl::StrCat("SELECT ", absl::StrJoin(selected, ", "), " FROM ", Quoted(table))));
  if (rows.statement_ == nullptr) rows.damage_ = Message(connection_.get());
  return rows;
}

TextsById SqliteDatabase::Texts(std::string_view table) {
  TextsById texts;
  bool ordered_by_id = false;
  texts.damage_ = WhyNoTable(table);
  if (ColumnsOf(table, &ordered_by_id).empty()) return texts;
  std::string source = absl::StrCat("main.", Quoted(table));
  if (!ordered_by_id) {
    const std::string copy = absl::StrCat(
        "CREATE TEMP TABLE texts (id INTEGER PRIMARY KEY, value);"
        "INSERT OR IGNORE INTO texts SELECT id, value FROM ",
        source, " WHERE typeof(id) = 'integer' LIMIT ", most_rows_);
    if (sqlite3_exec(connection_.get(), copy.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      texts.damage_ = Message(connection_.get());
    }
    source = "temp.texts";
  }
  texts.statement_.reset(
      Prepare(connection_.get(), absl::StrCat("SELECT value FROM ", source, " WHERE id = ?")));
  if (texts.statement_ == nullptr) texts.damage_ = Message(connection_.get());
  return texts;
}

}  // namespace tp
