// Replays a PyTorch (Kineto) trace as a CUDA program: its operations as NVTX ranges on as many
// threads as the trace has, its launches inside them, with the names, streams and durations of its
// kernels, and the bytes of its copies and fills. Runs on the simulated CUDA alone, which is told
// name and duration of each piece of work before it is launched.
//
//   replay_trace TRACE.json[.gz]
//
// As fast as it goes: only the device's durations are the trace's. Spans without length are left
// out, since they have no place in averages. Device work whose launch the trace lacks is launched
// by a thread without ranges.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

__global__ void replayed() {}

namespace {

using Json = nlohmann::json;

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "replay_trace: %s\n", what.c_str());
  exit(2);
}

void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) Fail(std::string(what) + ": " + cudaGetErrorString(error));
}

// What the simulated CUDA lets a replayer say; see tests/simcuda/core/control.h.
struct Control {
  void (*next_duration_ns)(uint64_t);
  void (*next_kernel_name)(const char*);
  void (*set_stream_id)(void*, uint32_t);

  Control() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    auto find = [driver](const char* name) {
      void* function = driver == nullptr ? nullptr : dlsym(driver, name);
      if (function == nullptr) Fail("needs the simulated CUDA's libcuda.so.1");
      return function;
    };
    next_duration_ns = reinterpret_cast<void (*)(uint64_t)>(find("simcuda_next_duration_ns"));
    next_kernel_name = reinterpret_cast<void (*)(const char*)>(find("simcuda_next_kernel_name"));
    set_stream_id = reinterpret_cast<void (*)(void*, uint32_t)>(find("simcuda_set_stream_id"));
  }
};

struct DeviceWork {
  char kind;  // 'k', 'm', 's'.
  std::string name;
  int64_t duration_ns;
  int device;
  uint32_t stream;
  uint64_t bytes;
};

// A span (text is what NVTX is told) or a launch (of device work), by start.
struct HostEvent {
  int64_t start_ns, end_ns;
  bool is_launch;
  std::string text;
  std::vector<DeviceWork> work;
};

std::string ReadAll(const char* path) {
  gzFile file = gzopen(path, "rb");  // Reads files that are not compressed as well.
  if (file == nullptr) Fail(std::string("cannot read ") + path);
  std::string content;
  std::vector<char> block(1 << 20);
  for (int got; (got = gzread(file, block.data(), block.size())) > 0;) {
    content.append(block.data(), got);
  }
  gzclose(file);
  return content;
}

// Builds the JSON value, but keeps decimal numbers as the texts that they are: a double has no room
// for the ns of an epoch's us.
class KeepDecimals : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit KeepDecimals(Json& root) : json_sax_dom_parser(root, /*allow_exceptions=*/false) {}
  bool number_float(double, const std::string& text) {
    std::string copy = text;
    return string(copy);
  }
};

// Microseconds as the trace writes them, to whole ns; digits beyond are cut.
int64_t Nanoseconds(const Json& event, const char* field) {
  auto found = event.find(field);
  if (found == event.end()) return 0;
  if (found->is_number_integer()) return found->get<int64_t>() * 1000;
  std::string text = found->get<std::string>();
  size_t point = text.find('.');
  if (point == text.npos) return strtoll(text.c_str(), nullptr, 10) * 1000;
  std::string digits = text.substr(point + 1, 3);
  digits.resize(3, '0');
  return strtoll((text.substr(0, point) + digits).c_str(), nullptr, 10);
}

uint64_t Number(const Json& args, const char* field, uint64_t otherwise) {
  auto found = args.find(field);
  return found != args.end() && found->is_number() ? found->get<uint64_t>() : otherwise;
}

// The form that PyTorch's emit_nvtx writes. Lists of tensors are flattened.
std::string OperationText(const std::string& name, const Json& args, int id) {
  std::string text = name + ", op_id = " + std::to_string(id);
  auto dims = args.find("Input Dims");
  if (dims == args.end() || !dims->is_array()) return text;
  std::vector<Json> shapes;
  for (const Json& shape : *dims) {
    if (shape.is_array() && !shape.empty() && shape[0].is_array()) {
      for (const Json& inner : shape) shapes.push_back(inner);
    } else {
      shapes.push_back(shape.is_array() ? shape : Json::array());
    }
  }
  text += ", sizes = [";
  for (size_t i = 0; i < shapes.size(); ++i) {
    text += i == 0 ? "[" : ", [";
    for (size_t k = 0; k < shapes[i].size(); ++k) {
      text += (k == 0 ? "" : ", ") + std::to_string(shapes[i][k].get<int64_t>());
    }
    text += "]";
  }
  return text + "]";
}

class Streams {
 public:
  explicit Streams(const Control& control) : control_(control) {}

  void Make(int device, uint32_t id) {
    auto [place, is_new] = streams_.try_emplace({device, id});
    if (!is_new) return;
    Check(cudaSetDevice(device), "cudaSetDevice");
    Check(cudaStreamCreateWithFlags(&place->second, cudaStreamNonBlocking), "a stream");
    control_.set_stream_id(place->second, id);
  }
  cudaStream_t Of(const DeviceWork& work) const { return streams_.at({work.device, work.stream}); }

 private:
  const Control& control_;
  std::map<std::pair<int, uint32_t>, cudaStream_t> streams_;
};

// Memory of each kind on each device, as large as the largest copy.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : bytes_(bytes) {
    pageable_[0] = malloc(bytes);
    pageable_[1] = malloc(bytes);
    for (void*& pinned : pinned_) Check(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
  }
  void MakeDevice(int device) {
    if (device_.count(device) != 0) return;
    Check(cudaSetDevice(device), "cudaSetDevice");
    for (void*& memory : device_[device]) Check(cudaMalloc(&memory, bytes_), "cudaMalloc");
  }
  // `kind`: "Pageable", "Pinned", "Device".
  void* Of(const std::string& kind, int device, int which) const {
    if (kind == "Pageable") return pageable_[which];
    if (kind == "Pinned") return pinned_[which];
    return device_.at(device)[which];
  }

 private:
  struct Pair {
    void* memory[2];
    void** begin() { return memory; }
    void** end() { return memory + 2; }
    void* operator[](int which) const { return memory[which]; }
  };
  uint64_t bytes_;
  void* pageable_[2];
  void* pinned_[2];
  std::map<int, Pair> device_;
};

cudaMemcpyKind KindOf(const std::string& name) {
  if (name.find("HtoD") != name.npos) return cudaMemcpyHostToDevice;
  if (name.find("DtoH") != name.npos) return cudaMemcpyDeviceToHost;
  if (name.find("HtoH") != name.npos) return cudaMemcpyHostToHost;
  return cudaMemcpyDeviceToDevice;
}

// "Memcpy HtoD (Pinned -> Device)": the texts around the arrow.
std::pair<std::string, std::string> Ends(const std::string& name) {
  size_t open = name.find('('), arrow = name.find(" -> "), close = name.find(')');
  if (open == name.npos || arrow == name.npos || close == name.npos) return {"Device", "Device"};
  return {name.substr(open + 1, arrow - open - 1), name.substr(arrow + 4, close - arrow - 4)};
}

void Launch(const DeviceWork& work, const Control& control, const Streams& streams,
            const Memory& memory) {
  Check(cudaSetDevice(work.device), "cudaSetDevice");
  control.next_duration_ns(work.duration_ns);
  cudaStream_t stream = streams.Of(work);
  if (work.kind == 'k') {
    control.next_kernel_name(work.name.c_str());
    replayed<<<1, 1, 0, stream>>>();
    Check(cudaGetLastError(), "a launch");
  } else if (work.kind == 'm') {
    auto [source, destination] = Ends(work.name);
    Check(cudaMemcpyAsync(memory.Of(destination, work.device, 0), memory.Of(source, work.device, 1),
                          work.bytes, KindOf(work.name), stream),
          "a copy");
  } else {
    Check(cudaMemsetAsync(memory.Of("Device", work.device, 0), 0, work.bytes, stream), "a fill");
  }
}

void Play(std::vector<HostEvent>& events, const Control& control, const Streams& streams,
          const Memory& memory) {
  std::vector<const HostEvent*> open;
  for (const HostEvent& event : events) {
    // Over, or only overlapping the one that begins: that one is its sibling.
    while (!open.empty() && (open.back()->end_ns <= event.start_ns ||
                             (!event.is_launch && open.back()->end_ns < event.end_ns))) {
      nvtxRangePop();
      open.pop_back();
    }
    if (event.is_launch) {
      for (const DeviceWork& work : event.work) Launch(work, control, streams, memory);
    } else {
      nvtxRangePushA(event.text.c_str());
      open.push_back(&event);
    }
  }
  for (size_t i = 0; i < open.size(); ++i) nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Fail("usage: replay_trace TRACE.json[.gz]");
  Json trace;
  KeepDecimals builder(trace);
  if (!Json::sax_parse(ReadAll(argv[1]), &builder) || !trace.is_object() ||
      !trace.contains("traceEvents"))
    Fail("not a trace");

  std::map<std::pair<std::string, std::string>, std::vector<HostEvent>> threads;
  std::map<uint64_t, std::vector<DeviceWork>> work_of;  // By correlation.
  std::set<uint64_t> launched;
  std::vector<DeviceWork> unlaunched;
  uint64_t most_bytes = 1;
  int most_device = 0;
  std::set<std::pair<int, uint32_t>> stream_ids;
  const Json none = Json::object();
  auto args_of = [&none](const Json& event) -> const Json& {
    auto args = event.find("args");
    return args == event.end() ? none : *args;
  };

  for (const Json& event : trace["traceEvents"]) {
    if (event.value("ph", "") != "X" || !event.contains("cat")) continue;
    std::string category = event["cat"];
    char kind = category == "kernel"       ? 'k'
                : category == "gpu_memcpy" ? 'm'
                : category == "gpu_memset" ? 's'
                                           : '\0';
    if (kind == '\0') continue;
    const Json& args = args_of(event);
    DeviceWork work = {kind,
                       event["name"],
                       Nanoseconds(event, "dur"),
                       static_cast<int>(Number(args, "device", 0)),
                       static_cast<uint32_t>(Number(args, "stream", 7)),
                       Number(args, "bytes", 1)};
    most_bytes = std::max(most_bytes, work.bytes);
    most_device = std::max(most_device, work.device);
    stream_ids.insert({work.device, work.stream});
    uint64_t correlation = Number(args, "correlation", 0);
    if (correlation == 0) {
      unlaunched.push_back(work);
    } else {
      work_of[correlation].push_back(work);
    }
  }
  int id = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("ph", "") != "X" || !event.contains("cat")) continue;
    std::string category = event["cat"];
    const Json& args = args_of(event);
    std::vector<HostEvent>& thread = threads[{event["pid"].dump(), event["tid"].dump()}];
    HostEvent host = {};
    host.start_ns = Nanoseconds(event, "ts");
    host.end_ns = host.start_ns + Nanoseconds(event, "dur");
    if (category == "cpu_op" || category == "user_annotation") {
      ++id;
      if (host.end_ns <= host.start_ns) continue;
      host.text = category == "cpu_op" ? OperationText(event["name"], args, id)
                                       : event["name"].get<std::string>();
      thread.push_back(std::move(host));
    } else if (category == "cuda_runtime" || category == "cuda_driver") {
      uint64_t correlation = Number(args, "correlation", 0);
      auto found = work_of.find(correlation);
      if (found == work_of.end() || !launched.insert(correlation).second) continue;
      host.is_launch = true;
      host.work = found->second;
      thread.push_back(std::move(host));
    }
  }
  for (const auto& [correlation, work] : work_of) {
    if (launched.count(correlation) == 0) {
      unlaunched.insert(unlaunched.end(), work.begin(), work.end());
    }
  }

  setenv("SIMCUDA_DEVICES", std::to_string(most_device + 1).c_str(), /*overwrite=*/0);
  Control control;
  Streams streams(control);
  Memory memory(most_bytes);
  for (auto [device, stream] : stream_ids) {
    streams.Make(device, stream);
    memory.MakeDevice(device);
  }

  std::vector<std::thread> players;
  for (auto& [key, events] : threads) {
    // At the same time the longer span first, and spans before the launches in them.
    std::stable_sort(events.begin(), events.end(), [](const HostEvent& a, const HostEvent& b) {
      if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
      if (a.is_launch != b.is_launch) return b.is_launch;
      return !a.is_launch && a.end_ns > b.end_ns;
    });
    players.emplace_back([&events = events, &control, &streams, &memory] {
      Play(events, control, streams, memory);
    });
  }
  players.emplace_back([&] {
    for (const DeviceWork& work : unlaunched) Launch(work, control, streams, memory);
  });
  for (std::thread& player : players) player.join();
  for (int device = 0; device <= most_device; ++device) {
    Check(cudaSetDevice(device), "cudaSetDevice");
    Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  return 0;
}
