#include "collector/thread_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace tp::collect {
namespace {

// Further ones have no name.
constexpr size_t kMostThreads = 4096;
// At a time: a read takes some 10 us.
constexpr size_t kMostNew = 64;
constexpr size_t kMostAtTheEnd = 256;

int FilterMode() { return prctl(PR_GET_SECCOMP, 0, 0, 0, 0); }

}  // namespace

ThreadNames::ThreadNames(Descriptions* descriptions)
    : descriptions_(descriptions), filtered_(FilterMode()) {}

void ThreadNames::Add(uint32_t thread_id) {
  last_ = thread_id;
  if (thread_id == 0 || threads_.size() >= kMostThreads) return;
  if (known_.insert(thread_id).second) threads_.push_back(thread_id);
}

void ThreadNames::ReadNew() {
  if (read_ == threads_.size() || !MayRead()) return;
  for (size_t i = 0; i < kMostNew && read_ < threads_.size(); ++i) Read(threads_[read_++]);
}

void ThreadNames::ReadNext() {
  if (read_ == 0 || !MayRead()) return;
  Read(threads_[next_++ % read_]);
}

void ThreadNames::ReadAll() {
  if (threads_.empty() || !MayRead()) return;
  for (size_t i = 0; i < std::min(threads_.size(), kMostAtTheEnd); ++i) Read(threads_[i]);
}

bool ThreadNames::MayRead() {
  if (!stopped_ && FilterMode() != filtered_) stopped_ = true;
  return !stopped_;
}

// A thread that has ended keeps the name that it had.
void ThreadNames::Read(uint32_t thread_id) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread_id);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char name[64];
  const ssize_t length = read(fd, name, sizeof(name));
  close(fd);
  if (length <= 0) return;
  std::string_view text(name, static_cast<size_t>(length));
  if (text.back() == '\n') text.remove_suffix(1);
  if (!text.empty()) descriptions_->SetThreadName(thread_id, text);
}

}  // namespace tp::collect
