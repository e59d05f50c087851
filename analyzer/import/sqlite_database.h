// A SQLite database that somebody else wrote: read row by row, and trusted in nothing.
//
//   absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open("report.sqlite.gz");
//   TableRows rows = database->Rows("KERNELS", {"start", "end", "stream"});
//   while (rows.Next()) {
//     int64_t start = rows.Required(0);
//     uint32_t stream = rows.Unsigned(2);      // 0 where the table has no such column.
//     if (!rows.RowIsRight()) continue;
//   }
//   if (!rows.damage().empty()) ...
//
// The file may be gzipped (unpacked_file.h). What is damaged gives what can be read of it: a file
// that ends too early is read as if the rest were empty pages, which SQLite then finds broken where
// it needs them. No view, trigger, virtual table or function of the database's own is ever run.
// Memory: SQLite's cache and one row. Not thread-safe.
#ifndef ANALYZER_IMPORT_SQLITE_DATABASE_H_
#define ANALYZER_IMPORT_SQLITE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tp {

// True if `bytes`, a file's first, begin as a SQLite database does.
bool BeginsLikeSqlite(std::string_view bytes);
inline constexpr size_t kSqliteBeginningBytes = 16;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// The rows of a table, in the order in which they are stored. Columns go by their place in the list
// that was asked for; NULL stands in each row for one that the table lacks.
class TableRows {
 public:
  // False at the end, or where the table is damaged.
  bool Next();

  bool HasColumn(int column) const { return has_column_[static_cast<size_t>(column)]; }
  bool IsNull(int column) const;
  // `if_null` if there is none. Anything but an integer (or a text, or within the limits) makes the
  // row wrong.
  int64_t Integer(int column, int64_t if_null = 0);
  uint32_t Unsigned(int column, uint32_t if_null = 0);
  // NULL makes the row wrong.
  int64_t Required(int column);
  // As does the caller, if it knows better.
  void Reject() { right_ = false; }
  // Until Next(). NULL is the empty text.
  std::string_view Text(int column);

  // False if what was asked for since Next() is not what such a column can hold.
  bool RowIsRight();
  // Rows for which that was so.
  uint64_t wrong_rows() const { return wrong_rows_; }
  // How many rows there were so far.
  uint64_t rows() const { return rows_; }
  // "" unless the table breaks off: why.
  const std::string& damage() const { return damage_; }

 private:
  friend class SqliteDatabase;
  SqliteStatement statement_;  // Null: no such table.
  std::vector<bool> has_column_;
  uint64_t most_rows_ = 0;
  uint64_t rows_ = 0;
  uint64_t wrong_rows_ = 0;
  bool right_ = true;
  std::string damage_;
};

// Values by a number that a table gives them. Not quicker than one look-up into the file each.
class TextsById {
 public:
  // Until the next call; "" if there is none, or it cannot be read.
  std::string_view Text(int64_t id);
  const std::string& damage() const { return damage_; }

 private:
  friend class SqliteDatabase;
  SqliteStatement statement_;
  std::string damage_;
};

class SqliteDatabase {
 public:
  // InvalidArgument, in one line, if it is no database or its list of tables cannot be read.
  static absl::StatusOr<SqliteDatabase> Open(const std::string& path);

  bool HasTable(std::string_view table) const;
  // "" unless there is something with this name that is no plain table and so is not read.
  std::string WhyNoTable(std::string_view table) const;
  // No rows if there is no such table; damage() if WhyNoTable() is something.
  TableRows Rows(std::string_view table, const std::vector<std::string_view>& columns);
  // Looks `id` up in a table with the columns `id` and `value`. A table that is not ordered by its
  // ids is copied into a temporary one that is.
  TextsById Texts(std::string_view table);

  // "" unless the file, as a whole, is not what it should be.
  const std::string& damage() const { return damage_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  SqliteDatabase() = default;

  bool HasEntry(std::string_view name, std::string_view condition) const;
  std::vector<std::string> ColumnsOf(std::string_view table, bool* ordered_by_id) const;

  std::unique_ptr<sqlite3, Close> connection_;
  uint64_t most_rows_ = 0;  // That a table of a file of this size can have.
  std::string damage_;
};

}  // namespace tp

#endif  // ANALYZER_IMPORT_SQLITE_DATABASE_H_
