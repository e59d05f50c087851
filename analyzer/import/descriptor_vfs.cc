#include "analyzer/import/descriptor_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <string_view>

namespace tp {
namespace {

constexpr std::string_view kNamePrefix = "descriptor:";
constexpr size_t kHeaderBytes = 100;

// False unless all `size` bytes could be read.
bool ReadAt(int fd, void* bytes, size_t size, int64_t offset) {
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = pread(fd, static_cast<char*>(bytes) + filled, size - filled,
                              offset + static_cast<int64_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    filled += static_cast<size_t>(got);
  }
  return true;
}

int64_t SizeOf(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 ? about.st_size : 0;
}

uint32_t BigEndian(const unsigned char* bytes, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

// By SQLite's file format: pages of the size at 16, as many as the number at 28 says if it was
// written together with the change counter at 24.
int64_t SizeByHeader(int fd) {
  std::array<unsigned char, kHeaderBytes> header;
  if (!ReadAt(fd, header.data(), header.size(), 0)) return 0;
  if (std::memcmp(&header[24], &header[92], 4) != 0) return 0;
  const uint32_t page_bytes = BigEndian(&header[16], 2);
  return int64_t{page_bytes == 1 ? 65536 : page_bytes} * BigEndian(&header[28], 4);
}

// SQLite allots szOsFile bytes for it.
struct DescriptorFile {
  sqlite3_file base;
  int fd;
  int64_t bytes;            // That there are.
  int64_t bytes_by_header;  // That there should be, if more.
};

DescriptorFile* Of(sqlite3_file* file) { return reinterpret_cast<DescriptorFile*>(file); }

int CloseFile(sqlite3_file* file) {
  close(Of(file)->fd);
  return SQLITE_OK;
}

int ReadFile(sqlite3_file* base, void* bytes, int count, sqlite3_int64 offset) {
  const DescriptorFile& file = *Of(base);
  const auto size = static_cast<size_t>(count);
  if (offset + count <= file.bytes && ReadAt(file.fd, bytes, size, offset)) return SQLITE_OK;
  std::memset(bytes, 0, size);
  return offset + count <= file.bytes ? SQLITE_IOERR_READ : SQLITE_IOERR_SHORT_READ;
}

int FileSize(sqlite3_file* file, sqlite3_int64* bytes) {
  *bytes = std::max(Of(file)->bytes, Of(file)->bytes_by_header);
  return SQLITE_OK;
}

int CheckReservedLock(sqlite3_file*, int* is_locked) {
  *is_locked = 0;
  return SQLITE_OK;
}

int WriteFile(sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; }
int Truncate(sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; }
int Sync(sqlite3_file*, int) { return SQLITE_OK; }
int Lock(sqlite3_file*, int) { return SQLITE_OK; }
int FileControl(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int SectorSize(sqlite3_file*) { return 0; }
int Characteristics(sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; }

// Version 1 of the methods: no memory mapping (a file that shrinks would end the process) and no
// shared memory.
constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = CloseFile,
    .xRead = ReadFile,
    .xWrite = WriteFile,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Lock,
    .xCheckReservedLock = CheckReservedLock,
    .xFileControl = FileControl,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = Characteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

sqlite3_vfs* StandardVfs() { return sqlite3_vfs_find("unix"); }

// Temporary files are the standard VFS's.
int OpenFile(sqlite3_vfs*, const char* name, sqlite3_file* base, int flags, int* flags_out) {
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    sqlite3_vfs* standard = StandardVfs();
    return standard->xOpen(standard, name, base, flags, flags_out);
  }
  base->pMethods = nullptr;
  std::string_view text = name == nullptr ? std::string_view() : name;
  int fd = -1;
  if (text.starts_with(kNamePrefix)) {
    text.remove_prefix(kNamePrefix.size());
    std::from_chars(text.data(), text.data() + text.size(), fd);
  }
  const int own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return SQLITE_CANTOPEN;
  new (base) DescriptorFile{{&kMethods}, own, SizeOf(own), SizeByHeader(own)};
  if (flags_out != nullptr) *flags_out = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  return SQLITE_OK;
}

int FullPathname(sqlite3_vfs*, const char* name, int capacity, char* path) {
  if (strlen(name) >= static_cast<size_t>(capacity)) return SQLITE_CANTOPEN;
  std::memcpy(path, name, strlen(name) + 1);
  return SQLITE_OK;
}

}  // namespace

const char* DescriptorVfs() {
  static const sqlite3_vfs* const vfs = []() -> const sqlite3_vfs* {
    if (sqlite3_initialize() != SQLITE_OK || StandardVfs() == nullptr) return nullptr;
    static sqlite3_vfs own = *StandardVfs();
    own.zName = "tp-descriptor";
    own.szOsFile = std::max(own.szOsFile, static_cast<int>(sizeof(DescriptorFile)));
    own.pNext = nullptr;
    own.xOpen = OpenFile;
    own.xFullPathname = FullPathname;
    return sqlite3_vfs_register(&own, 0) == SQLITE_OK ? &own : nullptr;
  }();
  return vfs == nullptr ? nullptr : vfs->zName;
}

std::string DescriptorName(int fd) { return std::string(kNamePrefix) + std::to_string(fd); }

int64_t MissingBytes(int fd) { return std::max<int64_t>(0, SizeByHeader(fd) - SizeOf(fd)); }

}  // namespace tp
