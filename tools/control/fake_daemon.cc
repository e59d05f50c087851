#include "tools/control/fake_daemon.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "google/protobuf/io/coded_stream.h"

namespace tp {
namespace {

bool ReadWhole(int socket, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t n = read(socket, bytes, count);
    if (n <= 0) return false;
    bytes += n;
    count -= n;
  }
  return true;
}

bool ReadRequest(int socket, query::Request* request) {
  uint64_t length = 0;
  for (int shift = 0;; shift += 7) {
    char byte;
    if (!ReadWhole(socket, &byte, 1)) return false;
    length |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  std::string body(length, '\0');
  return ReadWhole(socket, body.data(), length) && request->ParseFromString(body);
}

void AddOperation(query::Table* table, const char* name, const char* kind, int64_t count,
                  int64_t self_cpu_us, int64_t cpu_us, int64_t self_device_us, int64_t device_us) {
  query::OperationRow* row = table->add_operations();
  row->set_name(name);
  row->set_kind(kind);
  row->set_count(count);
  row->set_self_cpu_time_total_ns(self_cpu_us * 1000);
  row->set_cpu_time_total_ns(cpu_us * 1000);
  row->set_self_device_time_total_ns(self_device_us * 1000);
  row->set_device_time_total_ns(device_us * 1000);
  table->set_self_cpu_time_total_ns(table->self_cpu_time_total_ns() + self_cpu_us * 1000);
  table->set_self_device_time_total_ns(table->self_device_time_total_ns() + self_device_us * 1000);
}

template <typename Row>
void SetTimes(int64_t count, int64_t total_ns, Row* row) {
  row->set_count(count);
  row->set_total_ns(total_ns);
  row->set_min_ns(total_ns / count / 2);
  row->set_max_ns(total_ns / count * 3);
}

void AddKernel(query::Table* table, const char* name, const char* kind, int64_t count,
               int64_t total_us) {
  query::WorkRow* row = table->add_kernels();
  row->set_name(name);
  row->set_raw_name(name);
  row->set_kind(kind);
  SetTimes(count, total_us * 1000, row);
}

void FillProcesses(int refresh, google::protobuf::RepeatedPtrField<query::Process>* processes) {
  query::Process* busy = processes->Add();
  busy->set_pid(4242);
  busy->set_command("python train.py --model resnet50");
  busy->set_state(query::CAPTURING);
  busy->set_cupti_version(130001);
  busy->set_rank(-1);
  busy->set_connected_ns(1'000'000'000);
  busy->set_last_seen_ns(9'000'000'000);
  busy->set_device_time_ns(1'500'000'000);
  query::KindCount* kernels = busy->add_events();
  kernels->set_kind("kernels");
  kernels->set_count(120'000 + 12'300 * refresh);
  query::Loss* loss = busy->add_losses();
  loss->set_kind("kernels");
  loss->set_cause("dropped by CUPTI");
  loss->set_count(120);
  query::Process* idle = processes->Add();
  idle->set_pid(4300);
  idle->set_command("python loader.py");
  idle->set_state(query::DORMANT);
  idle->set_reason("it has made no CUDA call yet");
  idle->set_rank(-1);
  idle->set_connected_ns(2'000'000'000);
  idle->set_last_seen_ns(9'000'000'000);
}

void FillTable(const query::TableRequest& request, int refresh, query::Table* table) {
  const int64_t now_ns = int64_t{10'000'000'000} + int64_t{1'000'000'000} * refresh;
  table->set_view(request.view());
  table->set_now_ns(now_ns);
  table->set_device_kind("cuda");
  const int64_t r = refresh;
  switch (request.view()) {
    case query::KERNELS:
      AddKernel(table, "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_256x128>(Params)",
                "k", 8'000 + r * 80, 1'100'000 + r * 400'000);
      AddKernel(table, "void at::native::vectorized_elementwise_kernel<4, AddFunctor<float>>(int)",
                "k", 64'000 + r * 640, 310'000 + r * 110'000);
      AddKernel(table, "Memcpy HtoD (Pageable -> Device)", "m", 400 + r, 90'000 + r * 22'000);
      break;
    case query::COPIES: {
      query::CopyRow* row = table->add_copies();
      row->set_direction("HtoD");
      row->set_source_memory("pageable");
      row->set_destination_memory("device");
      row->set_bytes(int64_t{3'200'000'000} + r * 400'000'000);
      SetTimes(400, 90'000'000, row);
      break;
    }
    case query::API: {
      query::CallRow* row = table->add_calls();
      row->set_name("cudaLaunchKernel");
      row->set_domain("runtime");
      SetTimes(72'000 + r * 720, 400'000'000, row);
      break;
    }
    case query::STREAMS: {
      query::StreamRow* row = table->add_streams();
      row->set_pid(4242);
      row->set_context(1);
      row->set_stream(7);
      row->set_count(72'400);
      row->set_total_ns(1'500'000'000);
      row->set_busy_ns(1'400'000'000);
      break;
    }
    case query::PROCESSES:
      break;
    default:
      AddOperation(table, "aten::mm", "o", 8'000 + r * 80, 210'000, 230'000,
                   1'100'000 + r * 400'000, 1'100'000 + r * 400'000);
      AddOperation(table, "aten::add_", "o", 64'000 + r * 640, 180'000, 190'000,
                   310'000 + r * 110'000, 310'000 + r * 110'000);
      AddOperation(table, "aten::copy_", "o", 400 + r, 12'000, 95'000, 90'000 + r * 22'000,
                   90'000 + r * 22'000);
      AddOperation(table, "train step", "u", 100 + r, 9'000, 900'000, 0, 1'500'000 + r * 532'000);
  }
  table->set_device_time_total_ns((1'500'000 + r * 532'000) * 1000);
  FillProcesses(refresh, table->mutable_processes());
  query::DeviceUse* device = table->add_devices();
  device->set_busy_ns(1'490'000'000 + r * 532'000'000);
  device->set_first_ns(6'000'000'000);
  device->set_last_ns(now_ns);
  query::Loss* loss = table->add_losses();
  loss->set_kind("kernels");
  loss->set_cause("dropped by CUPTI");
  loss->set_count(120);
}

}  // namespace

FakeDaemon::FakeDaemon(Answer answer) : answer_(std::move(answer)) {
  char folder[] = "/tmp/tpctl-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) abort();
  folder_ = folder;
  path_ = folder_ + "/tpd.sock";
  Listen();
}

FakeDaemon::FakeDaemon(Answer answer, const std::string& path)
    : answer_(std::move(answer)), folder_(path.substr(0, path.rfind('/'))), path_(path) {
  if (mkdir(folder_.c_str(), 0700) != 0) abort();
  Listen();
}

void FakeDaemon::Listen() {
  setenv("TP_SOCKET", path_.c_str(), 1);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 8) != 0) {
    abort();
  }
  acceptor_ = std::thread([this] { Accept(); });
}

FakeDaemon::~FakeDaemon() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (int connection : connections_) shutdown(connection, SHUT_RDWR);
  for (std::thread& server : servers_) server.join();
  for (int connection : connections_) close(connection);
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

std::vector<query::Request> FakeDaemon::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

std::string FakeDaemon::Framed(const query::Response& response) {
  const std::string body = response.SerializeAsString();
  uint8_t length[10];
  uint8_t* const end =
      google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(body.size(), length);
  return std::string(&length[0], end) + body;
}

void FakeDaemon::Accept() {
  while (!stopping_) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    connections_.push_back(connection);
    servers_.emplace_back([this, connection] { Serve(connection); });
  }
}

void FakeDaemon::Serve(int connection) {
  char greeting[4];
  if (ReadWhole(connection, greeting, 4) && std::memcmp(greeting, "TPQ1", 4) == 0) {
    query::Request request;
    while (ReadRequest(connection, &request)) {
      {
        std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const std::string bytes = answer_(request);
      if (bytes.empty()) break;
      if (send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
    }
  }
  shutdown(connection, SHUT_RDWR);
}

query::Response SampleResponse(const query::Request& request, int refresh) {
  query::Response response;
  switch (request.request_case()) {
    case query::Request::kProcesses:
      FillProcesses(refresh, response.mutable_processes()->mutable_processes());
      response.mutable_processes()->set_now_ns(10'000'000'000);
      break;
    case query::Request::kTable:
      FillTable(request.table(), refresh, response.mutable_table());
      break;
    case query::Request::kDaemon: {
      query::Daemon* daemon = response.mutable_daemon();
      daemon->set_pid(77);
      daemon->set_version("0.1.0");
      daemon->set_uptime_ns(192'000'000'000);
      daemon->set_events(1'234'567);
      daemon->set_socket("/run/tp/tpd.sock");
      break;
    }
    default:
      response.mutable_stop();
  }
  return response;
}

}  // namespace tp
