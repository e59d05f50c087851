// Lets SQLite read a database through an open file descriptor: a file that has no name any more, or
// whose name might lead elsewhere the next time. The file is taken as one that nobody changes.
#ifndef ANALYZER_IMPORT_DESCRIPTOR_VFS_H_
#define ANALYZER_IMPORT_DESCRIPTOR_VFS_H_

#include <cstdint>
#include <string>

namespace tp {

// The VFS to name in sqlite3_open_v2: the standard one, but that databases' names are those of
// DescriptorName. Where the file ends earlier than its header says, the pages that are missing or
// not whole read as zeros. Null: SQLite does not work at all. Any thread.
const char* DescriptorVfs();

// The name of the database in `fd`, of which the VFS makes its own duplicate when it is opened.
std::string DescriptorName(int fd);

// How many bytes are missing at the end of the database in `fd`, by its header; 0: none, or nobody
// can tell.
int64_t MissingBytes(int fd);

}  // namespace tp

#endif  // ANALYZER_IMPORT_DESCRIPTOR_VFS_H_
