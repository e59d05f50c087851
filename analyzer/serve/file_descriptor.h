// An open file descriptor with one owner, closed with it.
#ifndef ANALYZER_SERVE_FILE_DESCRIPTOR_H_
#define ANALYZER_SERVE_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace tp {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_FILE_DESCRIPTOR_H_
