#include "tools/inject/injector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tools/inject/architecture.h"
#include "tools/inject/borrowed_thread.h"
#include "tools/inject/memory_map.h"
#include "tools/inject/obstacles.h"
#include "tools/inject/remote_symbols.h"
#include "tools/inject/steps.h"
#include "tools/inject/system_call_filters.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatienceForCall{100};
constexpr std::chrono::milliseconds kPatienceForThread{200};
constexpr std::chrono::seconds kPatience{4};
constexpr int kGreetingMilliseconds = 5000;
constexpr size_t kPageBytes = 4096;
constexpr size_t kMostRefusalBytes = 512;

size_t PagesFor(size_t bytes) { return (bytes + kPageBytes - 1) & ~(kPageBytes - 1); }

// What is known of the process before it is touched.
struct Target {
  pid_t pid;
  BorrowedThread::Surroundings surroundings;
  std::map<std::string, uint64_t> functions;  // The C library's.
  uint64_t entry = 0;                         // The collector's, if it is there.
  // Of which a thread may be in the middle anywhere, and which making a thread would enter again.
  bool has_own_allocator = false;
};

bool IsCLibrary(const std::string& file) {
  return absl::StartsWith(file, "libc.so.6") || absl::StartsWith(file, "libc-2.") ||
         absl::StartsWith(file, "libpthread") || absl::StartsWith(file, "libdl.so") ||
         absl::StartsWith(file, "libdl-2.") || absl::StartsWith(file, "ld-linux") ||
         absl::StartsWith(file, "ld-2.");
}

bool IsCollector(const std::string& file) {
  return file == kAttachedLibrary || file == absl::StrCat("memfd:", kAttachedLibrary);
}

bool IsAllocator(const std::string& file) {
  return absl::StrContains(file, "jemalloc") || absl::StrContains(file, "tcmalloc") ||
         absl::StrContains(file, "mimalloc") || absl::StrContains(file, "libhoard");
}

std::string ProgramOf(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/exe"), error).filename();
}

absl::StatusOr<Target> Examine(pid_t pid) {
  Target target{.pid = pid, .surroundings = {}, .functions = {}};
  const RemoteMemory memory(pid);
  target.surroundings.mappings = MappingsOf(pid);
  const std::string program = ProgramOf(pid);
  for (const Mapping& mapping : target.surroundings.mappings) {
    const std::string file = FileOf(mapping);
    if (IsCollector(file) && mapping.offset == 0 && target.entry == 0) {
      const std::map<std::string, uint64_t> exports = FunctionsAt(memory, mapping.begin);
      const auto entry = exports.find(kAttachFunction);
      if (entry == exports.end()) {
        return absl::FailedPreconditionError(
            "carries a collector that cannot be attached to: it is of another version");
      }
      target.entry = entry->second;
    }
    const bool is_program = mapping.offset == 0 && file == program;
    target.has_own_allocator |=
        IsAllocator(file) ||
        (is_program && FunctionsAt(memory, mapping.begin).count("malloc") != 0);
    if (!IsCLibrary(file)) continue;
    if (mapping.offset == 0) target.functions.merge(FunctionsAt(memory, mapping.begin));
    if (!mapping.is_executable) continue;
    target.surroundings.library_code.push_back(mapping);
    if (target.surroundings.places.is_complete()) continue;
    std::string code(mapping.end - mapping.begin, '\0');
    if (memory.Read(mapping.begin, code.data(), code.size())) {
      FindPlaces(code, mapping.begin, &target.surroundings.places);
    }
  }
  for (const char* name : {"pthread_create", "pthread_detach", "pthread_self", "dlopen", "dlsym",
                           "dlerror", "close", "send", "munmap"}) {
    if (target.functions.count(name) == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("has no ", name,
                       " in its C library (is it glibc, and linked dynamically?): "
                       "start it with `tpctl run`"));
    }
  }
  if (!target.surroundings.places.is_complete()) {
    return absl::FailedPreconditionError(
        "has a C library without the code that ends signal handlers: start it with `tpctl run`");
  }
  return target;
}

// Those that can be borrowed, best first.
std::vector<pid_t> Threads(pid_t pid) {
  std::vector<std::pair<int, pid_t>> ranked;
  const std::string folder = absl::StrCat("/proc/", pid, "/task");
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return {};
  while (const dirent* entry = readdir(directory)) {
    pid_t thread = 0;
    if (!absl::SimpleAtoi(entry->d_name, &thread)) continue;
    std::ifstream file(absl::StrCat(folder, "/", thread, "/syscall"));
    std::string word;
    file >> word;
    long number = -1;
    if (word != "running" && !absl::SimpleAtoi(word, &number)) continue;
    if (const int rank = RankOfCall(number); rank >= 0) ranked.emplace_back(rank, thread);
  }
  closedir(directory);
  std::sort(ranked.begin(), ranked.end());
  std::vector<pid_t> threads;
  for (const auto& [rank, thread] : ranked) threads.push_back(thread);
  return threads;
}

absl::Status CheckFilters(pid_t pid, pid_t thread) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/task/", thread, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "Seccomp:") || absl::EndsWith(line, "0")) continue;
    const std::optional<std::vector<FilterProgram>> filters = ReadFilters(thread);
    if (!filters.has_value()) {
      return absl::FailedPreconditionError(
          "has a filter of system calls (seccomp) that cannot be read, and a call that it forbids "
          "might end it: run tpctl as root on the host (CAP_SYS_ADMIN)");
    }
    if (const char* call = DeadlyCall(*filters); call != nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "has a filter of system calls (seccomp) that ends it at ", call,
          ", which the collector needs: allow that, or attach before the filter comes"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadLibrary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty()) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  return bytes;
}

int PidDescriptor(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::Status WriteAll(int fd, const std::string& bytes) {
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t got = write(fd, bytes.data() + written, bytes.size() - written);
    if (got <= 0) return absl::ErrnoToStatus(errno, "writing the library into its memory");
    written += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

// One try with one thread. What the process was made to open or map is in its hands once the new
// thread is there; else it is taken back.
class Attempt {
 public:
  Attempt(const Target& target, BorrowedThread* thread) : target_(target), thread_(thread) {}

  absl::StatusOr<int> Make(const std::string& library, const AttachArguments& arguments) {
    const absl::StatusOr<int> socket = Begin(library, arguments);
    if (!socket.ok() && !absl::IsNotFound(socket.status())) TakeBack();
    return socket;
  }

 private:
  absl::StatusOr<uint64_t> Call(const char* name, long number,
                                const std::vector<uint64_t>& arguments) {
    const absl::StatusOr<long> result = thread_->SystemCall(number, arguments);
    if (!result.ok()) return result.status();
    if (*result < 0 && *result > -4096) {
      return absl::FailedPreconditionError(
          absl::StrCat("does not get what the collector needs: ", name, ": ",
                       strerror(static_cast<int>(-*result))));
    }
    return static_cast<uint64_t>(*result);
  }

  absl::StatusOr<int> Begin(const std::string& library, const AttachArguments& arguments) {
    const RemoteMemory& memory = thread_->memory();
    const uint64_t scratch = thread_->scratch();
    memory.Write(scratch, kAttachedLibrary, sizeof(kAttachedLibrary));
    const absl::StatusOr<uint64_t> file =
        Call("memfd_create", SYS_memfd_create, {scratch, MFD_CLOEXEC});
    if (!file.ok()) return file.status();
    library_ = static_cast<int>(*file);
    Step("library");
    const absl::StatusOr<uint64_t> paired =
        Call("socketpair", SYS_socketpair,
             {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, scratch});
    if (!paired.ok()) return paired.status();
    if (!memory.Read(scratch, sockets_, sizeof(sockets_))) return Unreadable();
    const Descriptor process(PidDescriptor(target_.pid));
    Descriptor socket(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), sockets_[1], 0)));
    if (socket.get() < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot give us its end of a connection (pidfd_getfd, Linux 5.6 or later): ",
                       strerror(errno)));
    }
    Step("sockets");
    const Bootstrap bootstrap = BootstrapCode();
    {
      const Descriptor to(open(absl::StrCat("/proc/", target_.pid, "/fd/", library_).c_str(),
                               O_WRONLY | O_CLOEXEC));
      std::string bytes = library;
      bytes.resize(PagesFor(bytes.size()) + kPageBytes);
      std::copy(bootstrap.code.begin(), bootstrap.code.end(), bytes.end() - kPageBytes);
      if (absl::Status written = WriteAll(to.get(), bytes); !written.ok()) return written;
    }
    Step("written");
    const uint64_t code_offset = PagesFor(library.size());
    const absl::StatusOr<uint64_t> code =
        Call("mmap", SYS_mmap,
             {0, 2 * kPageBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, *file, code_offset});
    if (!code.ok()) return code.status();
    region_ = *code;
    const uint64_t place = region_ + kPageBytes;
    const absl::StatusOr<uint64_t> data =
        Call("mmap", SYS_mmap,
             {place, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
              ~uint64_t{0}, 0});
    if (!data.ok()) return data.status();
    Step("mapped");
    const BootstrapParameters parameters = Parameters(arguments);
    static_assert(sizeof(parameters) <= kPageBytes);
    if (!memory.Write(place, &parameters, sizeof(parameters))) return Unreadable();
    Step("prepared");
    const absl::Status called = thread_->Call(region_ + bootstrap.begin, place, kPatienceForThread);
    Step("called");
    if (!called.ok() && !absl::IsDeadlineExceeded(called)) return called;
    // Once it is there, all that was made is the new thread's.
    if (!thread_->has_made_thread()) {
      return absl::UnavailableError(called.ok() ? "cannot make a thread"
                                                : "is in the middle of what making a thread needs");
    }
    Step("made");
    return socket.Release();
  }

  static absl::Status Unreadable() {
    return absl::UnavailableError("has memory that cannot be read or written");
  }

  BootstrapParameters Parameters(const AttachArguments& arguments) const {
    const auto function = [this](const char* name) { return target_.functions.at(name); };
    BootstrapParameters parameters = {};
    parameters.pthread_create = function("pthread_create");
    parameters.pthread_detach = function("pthread_detach");
    parameters.pthread_self = function("pthread_self");
    parameters.dlopen = function("dlopen");
    parameters.dlsym = function("dlsym");
    parameters.dlerror = function("dlerror");
    parameters.close = function("close");
    parameters.send = function("send");
    parameters.munmap = function("munmap");
    parameters.region = region_;
    parameters.region_bytes = 2 * kPageBytes;
    parameters.entry = target_.entry;
    parameters.library = library_;
    parameters.other_socket = sockets_[1];
    parameters.socket = sockets_[0];
    snprintf(parameters.path, sizeof(parameters.path), "/proc/self/fd/%d", library_);
    snprintf(parameters.function, sizeof(parameters.function), "%s", kAttachFunction);
    memcpy(parameters.refusal, kAttachRefusal, strlen(kAttachRefusal));
    parameters.arguments = arguments;
    parameters.arguments.struct_bytes = sizeof(arguments);
    parameters.arguments.socket = sockets_[0];
    return parameters;
  }

  void TakeBack() {
    if (region_ != 0) (void)thread_->SystemCall(SYS_munmap, {region_, 2 * kPageBytes});
    for (const int fd : {library_, sockets_[0], sockets_[1]}) {
      if (fd >= 0) (void)thread_->SystemCall(SYS_close, {static_cast<uint64_t>(fd)});
    }
  }

  const Target& target_;
  BorrowedThread* thread_;
  int library_ = -1;
  int sockets_[2] = {-1, -1};
  uint64_t region_ = 0;
};

// Until the collector greets; or why it does not.
absl::Status WaitForGreeting(int socket) {
  pollfd polled = {socket, POLLIN, 0};
  if (poll(&polled, 1, kGreetingMilliseconds) == 0) {
    return absl::DeadlineExceededError(
        "has got the collector, which has not begun yet: another thread loads a library, or the "
        "process is stopped; it begins when that is over, and finds the daemon by itself");
  }
  char bytes[kMostRefusalBytes];
  // The reason follows the word at once.
  absl::SleepFor(absl::ZeroDuration());
  ssize_t got = recv(socket, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  if (got <= 0) return absl::NotFoundError("has ended meanwhile");
  const std::string_view greeting(bytes, static_cast<size_t>(got));
  if (!absl::StartsWith(absl::string_view(greeting.data(), greeting.size()), kAttachRefusal)) {
    return absl::OkStatus();
  }
  std::string reason;
  while ((got = recv(socket, bytes, sizeof(bytes), 0)) > 0 || (got < 0 && errno == EAGAIN)) {
    if (got > 0) reason.append(bytes, static_cast<size_t>(got));
    if (got < 0 && poll(&polled, 1, 1000) <= 0) break;
    if (reason.size() > kMostRefusalBytes) break;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("does not take the collector: ", reason.substr(strlen(kAttachRefusal))));
}

}  // namespace

absl::StatusOr<Injection> Inject(pid_t pid, const std::string& library, AttachArguments arguments) {
  if (const std::optional<Obstacle> obstacle = ObstacleToAttach(pid); obstacle.has_value()) {
    const std::string text = obstacle->remedy.empty()
                                 ? obstacle->what
                                 : absl::StrCat(obstacle->what, ": ", obstacle->remedy);
    return obstacle->is_permission ? absl::Status(absl::PermissionDeniedError(text))
                                   : absl::Status(absl::FailedPreconditionError(text));
  }
  absl::StatusOr<Target> target = Examine(pid);
  if (!target.ok()) return target.status();
  std::string bytes;
  if (target->entry == 0) {
    absl::StatusOr<std::string> read = ReadLibrary(library);
    if (!read.ok()) return read.status();
    bytes = *std::move(read);
  }
  const Clock::time_point end = Clock::now() + kPatience;
  absl::Status last = absl::UnavailableError("has no thread that can be borrowed");
  for (int round = 0; Clock::now() < end; ++round) {
    const auto place = round == 0 || target->has_own_allocator ? BorrowedThread::Place::kCall
                                                               : BorrowedThread::Place::kAnywhere;
    for (const pid_t thread : Threads(pid)) {
      if (Clock::now() >= end) break;
      absl::StatusOr<BorrowedThread> borrowed =
          BorrowedThread::Stop(pid, thread, target->surroundings, place, kPatienceForCall);
      if (!borrowed.ok()) {
        last = borrowed.status();
        if (absl::IsPermissionDenied(last)) {
          const Obstacle obstacle = WhyNotPermitted(pid);
          return absl::PermissionDeniedError(absl::StrCat(obstacle.what, ": ", obstacle.remedy));
        }
        if (absl::IsNotFound(last) && thread == pid)
          return absl::NotFoundError("has ended meanwhile");
        continue;
      }
      if (absl::Status filters = CheckFilters(pid, thread); !filters.ok()) return filters;
      absl::StatusOr<int> socket = Attempt(*target, &*borrowed).Make(bytes, arguments);
      const std::chrono::nanoseconds stopped = borrowed->GiveBack();
      if (!socket.ok()) {
        last = socket.status();
        if (absl::IsFailedPrecondition(last)) return last;
        continue;
      }
      if (absl::Status greeted = WaitForGreeting(*socket); !greeted.ok()) {
        close(*socket);
        return greeted;
      }
      Step("greeted");
      return Injection{.socket = *socket, .was_there = target->entry != 0, .stopped = stopped};
    }
    if (access(absl::StrCat("/proc/", pid).c_str(), F_OK) != 0) {
      return absl::NotFoundError("has ended meanwhile");
    }
    // Another moment, so that a loop is not met at the same place each time.
    absl::SleepFor(absl::Microseconds(500 + 137 * (round % 16)));
  }
  return absl::UnavailableError(absl::StrCat("cannot be attached to just now (",
                                             std::string(last.message()),
                                             "): try again, or start it with `tpctl run`"));
}

}  // namespace tp
