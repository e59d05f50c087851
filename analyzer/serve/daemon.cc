#include "analyzer/serve/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/version.h"

namespace tp {
namespace {

constexpr std::string_view kCollectorGreeting = "TPC1";
constexpr std::string_view kToolGreeting = "TPQ1";
constexpr int kAcceptedPerTurn = 64;
// Large enough for a usual batch, so that reading one allocates nothing.
constexpr size_t kArenaBytes = size_t{2} << 20;

google::protobuf::ArenaOptions ArenaOver(std::vector<char>& block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  options.max_block_size = size_t{1} << 20;
  return options;
}

uint64_t ResidentBytes() {
  unsigned long pages = 0;
  if (FILE* file = fopen("/proc/self/statm", "re"); file != nullptr) {
    if (fscanf(file, "%*s %lu", &pages) != 1) pages = 0;
    fclose(file);
  }
  return uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// A connection is a descriptor, and the usual limit of 1,024 leaves too few.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 4096));
  setrlimit(RLIMIT_NOFILE, &limit);
}

sigset_t EndingSignals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, number);
  return ending;
}

}  // namespace

absl::Status Daemon::BlockEndingSignals() {
  const sigset_t ending = EndingSignals();
  const int failed = pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  return failed == 0 ? absl::OkStatus() : absl::ErrnoToStatus(failed, "pthread_sigmask");
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Create(ListeningSocket socket,
                                                       const StoreLimits& limits) {
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create();
  if (!reactor.ok()) return reactor.status();
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(socket), limits, *std::move(reactor)));
  if (absl::Status started = daemon->Start(); !started.ok()) return started;
  return daemon;
}

Daemon::Daemon(ListeningSocket socket, const StoreLimits& limits, std::unique_ptr<Reactor> reactor)
    : started_ns_(MonotonicNow()),
      reactor_(std::move(reactor)),
      socket_(std::move(socket)),
      store_(limits),
      arena_block_(kArenaBytes),
      arena_(ArenaOver(arena_block_)),
      control_{.describe = [this] { return Describe(); },
               .stop =
                   [this] {
                     // After the answer has been written.
                     reactor_->After(absl::ZeroDuration(), [this] { Stop("a tool asked for it"); });
                   },
               .adopt = [this](const Credentials& asker, FileDescriptor socket,
                               pid_t pid) { return Adopt(asker, std::move(socket), pid); }} {}

Daemon::~Daemon() = default;

absl::Status Daemon::Start() {
  RaiseDescriptorLimit();
  store_.OnLetGo([this](const Session& session) { recorders_.LetGo(session, MonotonicNow()); });
  const sigset_t ending = EndingSignals();
  signals_ = FileDescriptor(signalfd(-1, &ending, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_.is_open()) return absl::ErrnoToStatus(errno, "signalfd");
  absl::Status watched = reactor_->Watch(signals_.get(), EPOLLIN, [this](uint32_t) {
    signalfd_siginfo signal;
    if (read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      Stop(strsignal(static_cast<int>(signal.ssi_signo)));
    }
  });
  if (!watched.ok()) return watched;
  if (absl::Status written = socket_.lock().WritePid(getpid()); !written.ok()) return written;
  if (absl::Status listens = Listen(); !listens.ok()) return listens;
  Tick();
  return absl::OkStatus();
}

absl::Status Daemon::Listen() {
  return reactor_->Watch(socket_.fd(), EPOLLIN, [this](uint32_t) { Accept(); });
}

void Daemon::KeepPlace() {
  if (socket_.fd() < 0 || socket_.IsInPlace()) {
    told_out_of_place_ = false;
    return;
  }
  // Who came before it was removed is not to be lost with it.
  Accept();
  reactor_->Forget(socket_.fd());
  const absl::StatusOr<bool> renewed = socket_.Restore();
  if (absl::IsAlreadyExists(renewed.status())) {
    Stop(absl::StrCat("another daemon has come to ", socket_.path()));
    return;
  }
  absl::Status kept = renewed.status();
  kept.Update(Listen());
  if (renewed.value_or(false)) spdlog::warn("{} had been removed: made anew", socket_.path());
  if (!kept.ok() && !std::exchange(told_out_of_place_, true)) {
    spdlog::error("{} is not in its place: {}", socket_.path(), std::string(kept.message()));
  }
}

void Daemon::Run() {
  spdlog::info("tpd {} listens on {} (pid {})", kVersion, socket_.path(), getpid());
  reactor_->Run();
}

void Daemon::Stop(std::string_view why) {
  spdlog::info("ends: {}", why);
  if (socket_.fd() >= 0) reactor_->Forget(socket_.fd());
  socket_.Close();
  reactor_->Stop();
}

void Daemon::Tick() {
  const int64_t now_ns = MonotonicNow();
  recorders_.LookForEndings();
  store_.Trim();
  rejections_.Tick(now_ns);
  if (store_.over_limit() && !told_over_limit_) {
    spdlog::warn("the running processes' summaries hold {} MiB, more than --memory allows",
                 store_.memory_bytes() >> 20);
  }
  told_over_limit_ = store_.over_limit();
  KeepPlace();
  reactor_->After(absl::Seconds(1), [this] { Tick(); });
}

void Daemon::Accept() {
  for (int accepted = 0; accepted < kAcceptedPerTurn; ++accepted) {
    FileDescriptor fd(accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.is_open()) {
      Admit(std::move(fd));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      spdlog::warn("cannot accept a connection for now: {}", strerror(errno));
      // Who waits stays in the queue, and the event would come again and again.
      reactor_->Change(socket_.fd(), 0);
      reactor_->After(absl::Milliseconds(200), [this] { reactor_->Change(socket_.fd(), EPOLLIN); });
    }
    if (errno != EINTR && errno != ECONNABORTED) return;
  }
}

void Daemon::Admit(FileDescriptor fd) {
  const absl::StatusOr<Credentials> credentials = PeerCredentials(fd.get());
  if (!credentials.ok()) return;
  if (peers_.size() >= kMaxConnections) {
    rejections_.Rejected(*credentials, "unknown",
                         absl::StrCat("there are ", peers_.size(), " connections already"),
                         MonotonicNow());
    return;
  }
  const uint64_t number = ++last_number_;
  auto peer = std::make_unique<Peer>();
  peer->credentials = *credentials;
  Peer* raw = peer.get();
  Connection::Events events{
      .greeting = [this, number](std::string_view greeting) { return Greeted(number, greeting); },
      .message =
          [raw](std::string_view message) {
            if (auto* collector = std::get_if<std::unique_ptr<CollectorPeer>>(&raw->who)) {
              return (*collector)->Take(message);
            }
            return std::get<std::unique_ptr<QueryPeer>>(raw->who)->Take(message);
          },
      .turn_end =
          [raw] {
            if (auto* collector = std::get_if<std::unique_ptr<CollectorPeer>>(&raw->who)) {
              (*collector)->TurnEnd();
            }
          },
      .drained =
          [raw] {
            if (auto* collector = std::get_if<std::unique_ptr<CollectorPeer>>(&raw->who)) {
              (*collector)->Drained();
            } else if (auto* query = std::get_if<std::unique_ptr<QueryPeer>>(&raw->who)) {
              (*query)->Drained();
            }
          },
      .closed = [this, number](const absl::Status& why) { Closed(number, why); }};
  peer->connection = std::make_unique<Connection>(reactor_.get(), std::move(fd),
                                                  Connection::Limits(), std::move(events));
  peers_[number] = std::move(peer);
  if (absl::Status started = raw->connection->Start(); !started.ok()) {
    raw->connection->Close(started);
  }
}

// The kernel remembers who made a pair: that is who is there. Whoever is allowed to make that
// process do so could as well have made it connect.
absl::Status Daemon::Adopt(const Credentials& asker, FileDescriptor socket, pid_t pid) {
  int domain = 0, type = 0;
  socklen_t length = sizeof(int);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 ||
      getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &length) != 0 || domain != AF_UNIX ||
      type != SOCK_STREAM) {
    return absl::InvalidArgumentError("what came to be adopted is no Unix stream socket");
  }
  const absl::StatusOr<Credentials> owner = PeerCredentials(socket.get());
  if (!owner.ok()) return owner.status();
  if (asker.uid != 0 && asker.uid != owner->uid) {
    return absl::PermissionDeniedError("the socket is another user's: only root may bring it");
  }
  if (owner->pid != pid) {
    return absl::InvalidArgumentError(
        absl::StrCat("the socket belongs to process ", owner->pid, ", not to ", pid));
  }
  if (peers_.size() >= kMaxConnections) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the daemon has ", peers_.size(), " connections already"));
  }
  const int flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return absl::ErrnoToStatus(errno, "fcntl");
  }
  Admit(std::move(socket));
  return absl::OkStatus();
}

absl::Status Daemon::Greeted(uint64_t number, std::string_view greeting) {
  Peer& peer = *peers_.at(number);
  if (greeting == kCollectorGreeting) {
    if (geteuid() != 0 && peer.credentials.uid != geteuid()) {
      return absl::PermissionDeniedError("it is another user's collector");
    }
    peer.who = std::make_unique<CollectorPeer>(
        peer.connection.get(), peer.credentials, &store_, &recorders_, &arena_,
        [this](CollectorPeer* collector, CollectorPeer::Command command, uint64_t token) {
          OnAnswer(collector, command, token);
        });
    return absl::OkStatus();
  }
  if (greeting == kToolGreeting) {
    peer.connection->AcceptDescriptors();
    peer.who = std::make_unique<QueryPeer>(peer.connection.get(), peer.credentials, reactor_.get(),
                                           &store_, &recorders_, &control_);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("it is neither a collector nor a tool of this profiler");
}

void Daemon::Closed(uint64_t number, const absl::Status& why) {
  std::unique_ptr<Peer> peer = std::move(peers_.at(number));
  peers_.erase(number);
  bytes_of_closed_ += peer->connection->bytes_received();
  const auto* collector = std::get_if<std::unique_ptr<CollectorPeer>>(&peer->who);
  const Session* session = collector != nullptr ? (*collector)->session() : nullptr;
  if (session != nullptr && absl::IsDataLoss(why)) {
    // Nobody's fault: that is how it looks when a process is killed.
    spdlog::info("process {} disconnected in the middle of a message", session->Name());
  } else if (!why.ok()) {
    const std::string who = session != nullptr       ? "process " + session->Name() + ","
                            : collector != nullptr   ? "a collector,"
                            : peer->who.index() == 0 ? "a stranger,"
                                                     : "a tool,";
    const absl::string_view message = why.message();
    rejections_.Rejected(peer->credentials, who, {message.data(), message.size()}, MonotonicNow());
  } else if (session != nullptr) {
    spdlog::info("process {} disconnected", session->Name());
  }
  if (collector != nullptr) {
    (*collector)->Closed();
    OnCollectorClosed(collector->get());
    store_.Trim();
  }
  // The connection is in the middle of telling this; what belongs to it goes once it is done.
  if (ended_.empty()) reactor_->After(absl::ZeroDuration(), [this] { ended_.clear(); });
  ended_.push_back(std::move(peer));
}

void Daemon::OnAnswer(const CollectorPeer* collector, CollectorPeer::Command command,
                      uint64_t token) {
  for (const auto& [number, peer] : peers_) {
    if (auto* query = std::get_if<std::unique_ptr<QueryPeer>>(&peer->who)) {
      (*query)->Answered(collector, command, token);
    }
  }
}

void Daemon::OnCollectorClosed(const CollectorPeer* collector) {
  for (const auto& [number, peer] : peers_) {
    if (auto* query = std::get_if<std::unique_ptr<QueryPeer>>(&peer->who)) {
      (*query)->CollectorClosed(collector);
    }
  }
}

query::Daemon Daemon::Describe() const {
  query::Daemon daemon;
  daemon.set_pid(getpid());
  daemon.set_version(kVersion);
  daemon.set_uptime_ns(MonotonicNow() - started_ns_);
  daemon.set_events(store_.events());
  uint64_t bytes = bytes_of_closed_;
  for (const auto& [number, peer] : peers_) bytes += peer->connection->bytes_received();
  daemon.set_bytes(bytes);
  daemon.set_connections(peers_.size());
  daemon.set_rejected_connections(rejections_.count());
  daemon.set_memory_bytes(ResidentBytes());
  daemon.set_socket(socket_.path());
  daemon.set_activated(socket_.is_anothers());
  return daemon;
}

}  // namespace tp
