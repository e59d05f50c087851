// Holds the simulated CUPTI's layouts and the collector's readers against NVIDIA's own CUPTI of all
// versions: its parser where that runs without a driver, its headers everywhere.
//
// They are looked for in the folder that TP_CUPTI_VERSIONS names, as tests/fetch_cupti.sh fills it;
// what is not there is not tested, and said.

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "collector/cupti/activity_reader.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/cupti_client.h"
#include "collector/cupti/record_layout.h"
#include "collector/link/decoded_frame.h"
#include "collector/operation/nvtx_names.h"
#include "proto/wire.pb.h"
#include "tests/simcuda/cupti/every_record.h"
#include "tests/simcuda/cupti/record_layout.h"
#include "tests/simcuda/cupti/stride.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

namespace fs = std::filesystem;
using simcupti::KnownVersion;
using simcupti::Version;

// Later ones answer CUPTI_ERROR_UNKNOWN to every call without a driver, and 13.2 crashes.
constexpr Version kLastThatNeedsNoDriver = {13, 1};

fs::path FolderOfVersions() {
  const char* named = std::getenv("TP_CUPTI_VERSIONS");
  return named != nullptr ? named : "";
}

bool IsThere(const KnownVersion& known) {
  return !FolderOfVersions().empty() && fs::is_directory(FolderOfVersions() / known.toolkit);
}

// The first file of that name (or, with an ending "*", that begins so) below a folder; empty.
fs::path FindFile(const fs::path& folder, std::string name) {
  const bool begins = name.back() == '*';
  if (begins) name.pop_back();
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    const std::string file = entry.path().filename();
    if (begins ? file.starts_with(name) : file == name) return entry.path();
  }
  return {};
}

std::string ReadFile(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// In a process of its own, posing as that version.
void Posing(const KnownVersion& version, const std::function<void()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMCUPTI_VERSION", std::string(version.toolkit).c_str(), 1);
    check();
    std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

TEST(RealVersions, AreThereToCompareWith) {
  std::string there, missing;
  for (const KnownVersion& known : simcupti::KnownVersions()) {
    std::string& list = IsThere(known) ? there : missing;
    list += (list.empty() ? "" : ", ") + std::string(known.toolkit);
  }
  if (there.empty()) {
    GTEST_SKIP() << "no CUPTI of another version: tests/fetch_cupti.sh fetches them, "
                    "TP_CUPTI_VERSIONS names their folder";
  }
  std::printf("compared with CUPTI %s; not with %s (of 11.6 and before there are no packages)\n",
              there.c_str(), missing.c_str());
  std::printf("since 13.2 with the headers alone: those parsers do not run without a driver\n");
}

class RealVersion : public testing::TestWithParam<KnownVersion> {
 protected:
  // Of a real parser. It finds its own functions before the simulated library's.
  static void* Open(const fs::path& folder) {
    return dlopen(FindFile(folder, "libcupti.so*").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  }

  const fs::path folder_ = FolderOfVersions() / GetParam().toolkit;
};

class RealParser : public RealVersion {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers do not let two libraries be kept apart";
#endif
  }
};

TEST_P(RealParser, TakesRecordsForTheSameSizesAsTheSimulatedOne) {
  const simcupti::RecordLayout layout = simcupti::LayoutOf(GetParam().version);
  Posing(GetParam(), [&] {
    void* library = Open(folder_);
    ASSERT_NE(library, nullptr) << dlerror();
    tp::collect::CuptiApi api;
    std::string reason;
    ASSERT_TRUE(tp::collect::LookUpCupti(library, &api, &reason)) << reason;
    EXPECT_EQ(api.version, GetParam().api_version);
    for (size_t kind = 0; kind < layout.size(); ++kind) {
      EXPECT_EQ(Stride(api.ActivityGetNextRecord, static_cast<int>(kind)), layout[kind])
          << "kind " << kind;
    }
  });
}

// What the collector's reader makes of the buffers that the simulated CUPTI has returned.
tp::wire::Batch ReadWith(const tp::collect::CuptiApi& api, uint64_t* unreadable,
                         tp::wire::Descriptions* told) {
  using namespace tp::collect;
  const CuptiClient client(&api);
  StringTable strings;
  BatchEncoder encoder;
  Descriptions descriptions;
  UncorrelatedThreads uncorrelated;
  ReopenedRanges reopened;
  ActivityReader reader(&client, &strings, &encoder, &descriptions, &uncorrelated, &reopened);
  for (const test_client::ReturnedBuffer& buffer : test_client::Returned()) {
    reader.Read(
        {buffer.data.get(), buffer.valid_bytes}, [](void*) {}, nullptr);
  }
  *unreadable = reader.unreadable();
  uint64_t until = 0;
  EXPECT_TRUE(told->ParseFromString(descriptions.EncodeAfter(0, &until)));
  return DecodedBatch(encoder.Finish(1, strings.last_id()));
}

TEST_P(RealParser, GivesTheReaderTheSameRecordsAsTheSimulatedOne) {
  Posing(GetParam(), [&] {
    test_client::Start();
    MakeEveryRecord();
    void* library = Open(folder_);
    ASSERT_NE(library, nullptr) << dlerror();
    tp::collect::CuptiApi real, simulated;
    std::string reason;
    ASSERT_TRUE(tp::collect::LookUpCupti(library, &real, &reason)) << reason;
    ASSERT_TRUE(tp::collect::LookUpCupti(RTLD_DEFAULT, &simulated, &reason)) << reason;
    ASSERT_NE(real.ActivityGetNextRecord, simulated.ActivityGetNextRecord);
    uint64_t real_unreadable = 0, simulated_unreadable = 0;
    tp::wire::Descriptions real_told, simulated_told;
    const auto real_batch = ReadWith(real, &real_unreadable, &real_told);
    const auto simulated_batch = ReadWith(simulated, &simulated_unreadable, &simulated_told);
    EXPECT_EQ(real_told.DebugString(), simulated_told.DebugString());
    EXPECT_EQ(real_told.devices_size(), 1);
    EXPECT_EQ(real_told.contexts_size(), 1);
    EXPECT_EQ(real_told.streams_size(), 1);
    EXPECT_EQ(real_batch.DebugString(), simulated_batch.DebugString());
    EXPECT_EQ(real_unreadable, simulated_unreadable);
    EXPECT_GT(real_batch.kernels().start_delta_ns_size(), 0);
    EXPECT_EQ(real_batch.copies().start_delta_ns_size(), 2);
    EXPECT_EQ(real_batch.fills().start_delta_ns_size(), 1);
    EXPECT_EQ(real_batch.runtime_calls().start_delta_ns_size(), 1);
    EXPECT_EQ(real_batch.driver_calls().start_delta_ns_size(), 1);
  });
}

// Those since 13.0 say yes without a driver and take nothing yet.
constexpr Version kLastThatIsAnNvtxToolWithoutADriver = {12, 9};
class RealNvtxTool : public RealParser {};

TEST_P(RealNvtxTool, TakesTheNamesOfStreamsAndContexts) {
  Posing(GetParam(), [&] {
    void* library = Open(folder_);
    ASSERT_NE(library, nullptr) << dlerror();
    tp::collect::CuptiApi api;
    std::string reason;
    ASSERT_TRUE(tp::collect::LookUpCupti(library, &api, &reason)) << reason;
    ASSERT_NE(api.InitializeNvtx, nullptr);
    EXPECT_TRUE(tp::collect::CuptiTakesNames(api.InitializeNvtx));
  });
}

// A field of records that the collector reads. Later fields by record_layout.h, the others where
// the oldest struct has them.
struct Field {
  int kind;
  const char* name;
  size_t offset, bytes;
  uint32_t since;
};
#define BASE(kind, Oldest, name) \
  { CUPTI_ACTIVITY_KIND_##kind, #name, offsetof(Oldest, name), sizeof(Oldest::name), 0 }
#define LATER(kind, field, name) \
  { CUPTI_ACTIVITY_KIND_##kind, #name, field.offset, FieldBytes(field), field.since }
template <typename Type>
constexpr size_t FieldBytes(const tp::collect::LaterField<Type>&) {
  return sizeof(Type);
}
constexpr Field kFields[] = {
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, start),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, end),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, deviceId),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, contextId),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, streamId),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, correlationId),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, name),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, graphNodeId),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, queued),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, submitted),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, gridX),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, gridY),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, gridZ),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, blockX),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, blockY),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, blockZ),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, staticSharedMemory),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, dynamicSharedMemory),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, localMemoryPerThread),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, registersPerThread),
    BASE(CONCURRENT_KERNEL, CUpti_ActivityKernel5, launchType),
    LATER(CONCURRENT_KERNEL, tp::collect::kKernelClusterX, clusterX),
    LATER(CONCURRENT_KERNEL, tp::collect::kKernelClusterY, clusterY),
    LATER(CONCURRENT_KERNEL, tp::collect::kKernelClusterZ, clusterZ),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, copyKind),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, srcKind),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, dstKind),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, bytes),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, start),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, end),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, deviceId),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, contextId),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, streamId),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, correlationId),
    BASE(MEMCPY, CUpti_ActivityMemcpy3, graphNodeId),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, copyKind),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, bytes),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, start),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, end),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, deviceId),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, contextId),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, streamId),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, dstDeviceId),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, correlationId),
    BASE(MEMCPY2, CUpti_ActivityMemcpyPtoP2, graphNodeId),
    BASE(MEMSET, CUpti_ActivityMemset2, value),
    BASE(MEMSET, CUpti_ActivityMemset2, bytes),
    BASE(MEMSET, CUpti_ActivityMemset2, start),
    BASE(MEMSET, CUpti_ActivityMemset2, end),
    BASE(MEMSET, CUpti_ActivityMemset2, deviceId),
    BASE(MEMSET, CUpti_ActivityMemset2, contextId),
    BASE(MEMSET, CUpti_ActivityMemset2, streamId),
    BASE(MEMSET, CUpti_ActivityMemset2, correlationId),
    BASE(MEMSET, CUpti_ActivityMemset2, memoryKind),
    BASE(MEMSET, CUpti_ActivityMemset2, graphNodeId),
    BASE(RUNTIME, CUpti_ActivityAPI, cbid),
    BASE(RUNTIME, CUpti_ActivityAPI, start),
    BASE(RUNTIME, CUpti_ActivityAPI, end),
    BASE(RUNTIME, CUpti_ActivityAPI, threadId),
    BASE(RUNTIME, CUpti_ActivityAPI, correlationId),
    BASE(RUNTIME, CUpti_ActivityAPI, returnValue),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, start),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, end),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, correlationId),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, deviceId),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, contextId),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, streamId),
    BASE(GRAPH_TRACE, CUpti_ActivityGraphTrace, graphId),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, start),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, end),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, correlationId),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, type),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, contextId),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, streamId),
    BASE(SYNCHRONIZATION, CUpti_ActivitySynchronization, cudaEventId),
    BASE(MEMORY2, CUpti_ActivityMemory2, timestamp),
    BASE(MEMORY2, CUpti_ActivityMemory2, memoryOperationType),
    BASE(MEMORY2, CUpti_ActivityMemory2, memoryKind),
    BASE(MEMORY2, CUpti_ActivityMemory2, address),
    BASE(MEMORY2, CUpti_ActivityMemory2, bytes),
    BASE(MEMORY2, CUpti_ActivityMemory2, correlationId),
    BASE(MEMORY2, CUpti_ActivityMemory2, deviceId),
    BASE(MEMORY2, CUpti_ActivityMemory2, contextId),
    BASE(MEMORY2, CUpti_ActivityMemory2, isAsync),
    BASE(MEMORY2, CUpti_ActivityMemory2, streamId),
    BASE(MEMORY2, CUpti_ActivityMemory2, memoryPoolConfig),
    BASE(MEMORY_POOL, CUpti_ActivityMemoryPool, timestamp),
    BASE(MEMORY_POOL, CUpti_ActivityMemoryPool, memoryPoolOperationType),
    BASE(MEMORY_POOL, CUpti_ActivityMemoryPool, address),
    BASE(MEMORY_POOL, CUpti_ActivityMemoryPool, correlationId),
    BASE(MEMORY_POOL, CUpti_ActivityMemoryPool, deviceId),
    BASE(OVERHEAD, CUpti_ActivityOverhead, start),
    BASE(OVERHEAD, CUpti_ActivityOverhead, end),
    BASE(OVERHEAD, CUpti_ActivityOverhead, objectKind),
    BASE(OVERHEAD, CUpti_ActivityOverhead, objectId),
    BASE(OVERHEAD, CUpti_ActivityOverhead, overheadKind),
    BASE(JIT, CUpti_ActivityJit, start),
    BASE(JIT, CUpti_ActivityJit, end),
    BASE(JIT, CUpti_ActivityJit, correlationId),
    BASE(JIT, CUpti_ActivityJit, jitEntryType),
    BASE(JIT, CUpti_ActivityJit, jitOperationType),
    BASE(DEVICE, CUpti_ActivityDevice2, id),
    BASE(DEVICE, CUpti_ActivityDevice2, name),
    BASE(DEVICE, CUpti_ActivityDevice2, uuid),
    BASE(DEVICE, CUpti_ActivityDevice2, computeCapabilityMajor),
    BASE(DEVICE, CUpti_ActivityDevice2, computeCapabilityMinor),
    BASE(DEVICE, CUpti_ActivityDevice2, globalMemorySize),
    BASE(DEVICE, CUpti_ActivityDevice2, globalMemoryBandwidth),
    BASE(DEVICE, CUpti_ActivityDevice2, numMultiprocessors),
    BASE(DEVICE, CUpti_ActivityDevice2, coreClockRate),
    BASE(DEVICE, CUpti_ActivityDevice2, l2CacheSize),
    BASE(DEVICE, CUpti_ActivityDevice2, numThreadsPerWarp),
    BASE(DEVICE, CUpti_ActivityDevice2, maxThreadsPerBlock),
    BASE(DEVICE, CUpti_ActivityDevice2, maxWarpsPerMultiprocessor),
    BASE(DEVICE, CUpti_ActivityDevice2, maxRegistersPerBlock),
    BASE(DEVICE, CUpti_ActivityDevice2, maxRegistersPerMultiprocessor),
    BASE(DEVICE, CUpti_ActivityDevice2, maxSharedMemoryPerBlock),
    BASE(DEVICE, CUpti_ActivityDevice2, maxSharedMemoryPerMultiprocessor),
    BASE(CONTEXT, CUpti_ActivityContext, contextId),
    BASE(CONTEXT, CUpti_ActivityContext, deviceId),
    BASE(CONTEXT, CUpti_ActivityContext, computeApiKind),
    BASE(CONTEXT, CUpti_ActivityContext, nullStreamId),
    BASE(STREAM, CUpti_ActivityStream, contextId),
    BASE(STREAM, CUpti_ActivityStream, streamId),
    BASE(STREAM, CUpti_ActivityStream, flag),
    BASE(STREAM, CUpti_ActivityStream, priority),
    BASE(NAME, CUpti_ActivityName, objectKind),
    BASE(NAME, CUpti_ActivityName, objectId),
    BASE(NAME, CUpti_ActivityName, name),
    BASE(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation, externalKind),
    BASE(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation, externalId),
    BASE(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation, correlationId),
};
#undef BASE
#undef LATER

std::set<std::string> Matches(const std::string& text, const char* expression) {
  std::set<std::string> matches;
  const std::regex regex(expression);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), none; at != none; ++at) {
    matches.insert((*at)[1]);
  }
  return matches;
}

std::string WithoutNumber(std::string name) {
  while (std::isdigit(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
  return name;
}

// By kind, the struct that the header's comment on it names last; also one that is none of
// `structs`, but for its number: comments can be behind.
std::map<int, std::string> StructsOfKinds(const std::string& header,
                                          const std::set<std::string>& structs) {
  std::set<std::string> families;
  for (const std::string& name : structs) families.insert(WithoutNumber(name));
  std::map<int, std::string> of_kinds;
  const size_t begin = header.find("CUPTI_ACTIVITY_KIND_INVALID");
  const size_t end = header.find("} CUpti_ActivityKind;");
  const std::string list = header.substr(begin, end - begin);
  const std::regex entry(R"((CUPTI_ACTIVITY_KIND_\w+)\s*=\s*(\d+))");
  const std::regex name(R"(CUpti_Activity\w+)");
  size_t comment = 0;
  for (std::sregex_iterator at(list.begin(), list.end(), entry), none; at != none; ++at) {
    const auto position = static_cast<size_t>(at->position());
    const std::string text = list.substr(comment, position - comment);
    comment = position;
    for (std::sregex_iterator word(text.begin(), text.end(), name); word != none; ++word) {
      if (families.contains(WithoutNumber(word->str()))) {
        of_kinds[std::stoi((*at)[2])] = word->str();
      }
    }
  }
  return of_kinds;
}

class RealHeaders : public RealVersion {
 protected:
  void SetUp() override {
    include_ = FindFile(folder_, "cupti_activity.h").parent_path();
    ASSERT_FALSE(include_.empty());
    std::string folder = testing::TempDir() + "headers-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    work_ = folder;
    // cupti.h itself wants the rest of its toolkit.
    std::ofstream(work_ / "cupti.h")
        << "#pragma once\n#include <cupti_activity.h>\n#include <cupti_callbacks.h>\n";
  }
  void TearDown() override {
    if (!work_.empty()) fs::remove_all(work_);
  }

  // Compiles a program against these headers, and returns what it prints.
  std::string Run(const std::string& program) {
    std::ofstream(work_ / "program.cc") << program;
    const std::string compile = "g++ -std=c++20 -w -I" + work_.string() + " -I" +
                                include_.string() + " -I" CUDA_HOME "/include -I. " +
                                (work_ / "program.cc").string() + " -o " +
                                (work_ / "program").string() + " 2>&1";
    std::string output;
    EXPECT_EQ(Execute(compile, &output), 0) << compile << "\n" << output;
    EXPECT_EQ(Execute((work_ / "program").string(), &output), 0);
    return output;
  }

 private:
  static int Execute(const std::string& command, std::string* output) {
    output->clear();
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return -1;
    char part[4096];
    while (size_t bytes = fread(part, 1, sizeof part, pipe)) output->append(part, bytes);
    return pclose(pipe);
  }

  fs::path include_, work_;

 protected:
  const fs::path& include() const { return include_; }
};

TEST_P(RealHeaders, HaveTheStructsOfTheSimulatedSizesAndTheReadersFieldsInThem) {
  const std::string header = ReadFile(include() / "cupti_activity.h");
  const std::set<std::string> structs = Matches(header, R"(\} (CUpti_Activity\w+);)");
  const std::map<int, std::string> of_kinds = StructsOfKinds(header, structs);
  ASSERT_GT(of_kinds.size(), 30u);
  std::string program =
      "#include <cupti.h>\n#include <cstddef>\n#include <cstdio>\n"
      "#define SIZE(kind, name) printf(\"%d - %s %zu\\n\", kind, #name, sizeof(name));\n"
      "#define FIELD(kind, name, field)                                                       \\\n"
      "  [](auto* record) {                                                                   \\\n"
      "    if constexpr (requires { record->field; }) {                                       \\\n"
      "      using Record = std::remove_pointer_t<decltype(record)>;                          \\\n"
      "      printf(\"%d %s %s %zu\\n\", kind, #field, #name, offsetof(Record, field));       \\\n"
      "    }                                                                                  \\\n"
      "  }(static_cast<name*>(nullptr));\n"
      "#include <type_traits>\nint main() {\n";
  for (const auto& [kind, named] : of_kinds) {
    for (const std::string& name : structs) {
      if (WithoutNumber(name) != WithoutNumber(named)) continue;
      program += "SIZE(" + std::to_string(kind) + ", " + name + ")\n";
      for (const Field& field : kFields) {
        if (field.kind != kind) continue;
        program += "FIELD(" + std::to_string(kind) + ", " + name + ", " + field.name + ")\n";
      }
    }
  }
  std::istringstream printed(Run(program + "}\n"));
  std::map<int, std::map<std::string, size_t>> sizes;
  std::map<std::pair<std::string, std::string>, size_t> offsets;  // By struct and field.
  int kind = 0;
  std::string field, name;
  for (size_t number = 0; printed >> kind >> field >> name >> number;) {
    if (field == "-") {
      sizes[kind][name] = number;
    } else {
      offsets[{name, field}] = number;
    }
  }

  const simcupti::RecordLayout layout = simcupti::LayoutOf(GetParam().version);
  const simcupti::RecordLayout last_of_12 = simcupti::LayoutOf({12, 9});
  const bool parser_runs = GetParam().version <= kLastThatNeedsNoDriver;
  std::map<int, std::string> used;  // The struct that has the layout's size.
  for (const auto& [known_kind, by_name] : sizes) {
    const size_t bytes = layout[static_cast<size_t>(known_kind)];
    // Structs are documented for ever, also of kinds that the real parsers of 13.0 and 13.1 do not
    // know any more.
    if (bytes == 0 && (parser_runs || last_of_12[static_cast<size_t>(known_kind)] != 0)) continue;
    for (const auto& [struct_name, size] : by_name) {
      if (size == bytes) used[known_kind] = struct_name;
    }
    EXPECT_TRUE(used.contains(known_kind)) << "kind " << known_kind << ": no struct of " << bytes;
    // Where no parser tells, the comments are all there is.
    if (!parser_runs) {
      EXPECT_EQ(used[known_kind], of_kinds.at(known_kind)) << "kind " << known_kind;
    }
  }
  for (const Field& wanted : kFields) {
    const std::string struct_name = used[wanted.kind];
    const auto found = offsets.find({struct_name, wanted.name});
    const bool is_read = GetParam().api_version >= wanted.since &&
                         wanted.offset + wanted.bytes <= layout[static_cast<size_t>(wanted.kind)];
    EXPECT_EQ(found != offsets.end(), is_read) << struct_name << "::" << wanted.name;
    if (found != offsets.end()) {
      EXPECT_EQ(found->second, wanted.offset) << struct_name << "::" << wanted.name;
    }
  }
}

// Types of ours and of the headers that differ in the names of structs alone become the same.
constexpr char kCompareFunctions[] = R"(
#include <cstdio>
#include <type_traits>
#include "collector/cupti/per_subscriber_api.h"

template <class T> struct Plain { using type = T; };
template <class T> using PlainOf = typename Plain<T>::type;
template <class T> struct Plain<T*> {
  using type = std::conditional_t<std::is_class_v<T>, void*, PlainOf<T>*>;
};
template <class R, class... A> struct Plain<R(A...)> { using type = PlainOf<R>(PlainOf<A>...); };
template <class Ours, class Theirs>
constexpr bool kSame = std::is_same_v<PlainOf<Ours>, PlainOf<Theirs>>;

using namespace tp::collect;
#define SAME(name) \
  static_assert(kSame<PerSubscriberFunctions::name, decltype(cupti##name##_v2)>, #name)
static_assert(offsetof(CUpti_SubscriberParams, subscriberName) == offsetof(SubscriberParams, name));
static_assert(offsetof(CUpti_SubscriberParams, oldSubscriberName) ==
              offsetof(SubscriberParams, holder));
static_assert(offsetof(CUpti_SubscriberParams, oldSubscriberSize) ==
              offsetof(SubscriberParams, holder_bytes));
static_assert(CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN <= kMostHolderBytes);
SAME(Subscribe);
#if CUPTI_API_VERSION >= 130200
static_assert(offsetof(CUpti_SubscriberParams, allowMultipleSubscribers) ==
              offsetof(SubscriberParams, allow_several));
static_assert(CUpti_SubscriberParams_STRUCT_SIZE == kSubscriberParamsBytes);
#else
static_assert(CUpti_SubscriberParams_STRUCT_SIZE == kSubscriberParamsBytesBefore13_2);
#endif
#if CUPTI_API_VERSION >= 130300
static_assert(CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS == kLatencyTimestampsAttribute);
static_assert(CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE == kThreadIdTypeAttribute);
SAME(ActivityDisable);
SAME(ActivityEnable);
SAME(ActivityEnableAndDump);
SAME(ActivityEnableDriverApi);
SAME(ActivityEnableRuntimeApi);
SAME(ActivityGetAttribute);
SAME(ActivitySetAttribute);
SAME(ActivityGetNextRecord);
SAME(ActivityGetNumDroppedRecords);
SAME(ActivityPopExternalCorrelationId);
SAME(ActivityPushExternalCorrelationId);
SAME(ActivityRegisterCallbacks);
SAME(GetTimestamp);
#endif
int main() { printf("%d\n", CUPTI_API_VERSION); }
)";

using RealHeadersSince13 = RealHeaders;

TEST_P(RealHeadersSince13, DeclareTheFunctionsForSubscribersAsWeDo) {
  EXPECT_EQ(Run("#include <cupti_version.h>\n" + std::string(kCompareFunctions)),
            std::to_string(GetParam().api_version) + "\n");
}

auto VersionsThere(Version first, Version last) {
  std::vector<KnownVersion> versions;
  for (const KnownVersion& known : simcupti::KnownVersions()) {
    if (known.version >= first && known.version <= last && IsThere(known)) {
      versions.push_back(known);
    }
  }
  return testing::ValuesIn(versions);
}
constexpr Version kFirst = {11, 0}, kLast = {99, 0};
std::string NameOf(const testing::TestParamInfo<KnownVersion>& info) {
  std::string name(info.param.toolkit);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cupti, RealParser, VersionsThere(kFirst, kLastThatNeedsNoDriver), NameOf);
INSTANTIATE_TEST_SUITE_P(Cupti, RealNvtxTool,
                         VersionsThere(kFirst, kLastThatIsAnNvtxToolWithoutADriver), NameOf);
INSTANTIATE_TEST_SUITE_P(Cupti, RealHeaders, VersionsThere(kFirst, kLast), NameOf);
INSTANTIATE_TEST_SUITE_P(Cupti, RealHeadersSince13, VersionsThere({13, 0}, kLast), NameOf);
// Where none is there.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealParser);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealNvtxTool);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealHeaders);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealHeadersSince13);

}  // namespace
