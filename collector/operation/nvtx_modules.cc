#include "collector/operation/nvtx_modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <nvtx3/nvToolsExt.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "collector/operation/nvtx_listener.h"

namespace tp::collect {
namespace {

// How every nvtxGlobals_t of NVTX 3 begins.
struct TableHead {
  uint32_t init_state;  // NVTX_INIT_STATE_...: 0, 1 or 2.
  uint32_t padding;
  NvtxExportTableCallbacks callbacks;
  NvtxExportTableVersionInfo version;
};
static_assert(offsetof(TableHead, callbacks) == 8 && sizeof(TableHead) == 48);
constexpr uint32_t kFresh = 0, kComplete = 2;

struct Range {
  uintptr_t begin, end;
  bool Holds(uintptr_t address) const { return begin <= address && address < end; }
};

struct Module {
  uintptr_t base;
  std::string path;  // Empty: the program's.
  std::vector<Range> code, data;
  bool HasCode(const void* address) const {
    const auto place = reinterpret_cast<uintptr_t>(address);
    return std::any_of(code.begin(), code.end(), [&](const Range& r) { return r.Holds(place); });
  }
};

struct Listing {
  uint64_t loads = 0;
  std::vector<Module> modules;
};

int AddModule(dl_phdr_info* info, size_t, void* data) {
  auto* listing = static_cast<Listing*>(data);
  listing->loads = info->dlpi_adds;
  Module module = {info->dlpi_addr, info->dlpi_name == nullptr ? "" : info->dlpi_name, {}, {}};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if ((segment.p_flags & PF_X) != 0) module.code.push_back({begin, begin + segment.p_memsz});
    // The table is initialized: it is in the part that comes from the file.
    if ((segment.p_flags & PF_W) != 0) module.data.push_back({begin, begin + segment.p_filesz});
  }
  listing->modules.push_back(std::move(module));
  return 0;
}

Listing ListModules() {
  Listing listing;
  dl_iterate_phdr(&AddModule, &listing);
  return listing;
}

bool IsTable(const TableHead& head, const Module& module) {
  return head.init_state <= kComplete && head.callbacks.struct_size == sizeof(head.callbacks) &&
         head.version.struct_size == sizeof(head.version) && head.version.version == 3 &&
         head.version.reserved0 == 0 &&
         module.HasCode(reinterpret_cast<const void*>(head.callbacks.GetModuleFunctionTable)) &&
         module.HasCode(reinterpret_cast<const void*>(head.version.SetInjectionNvtxVersion));
}

class OwnMemory {
 public:
  OwnMemory() : fd_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
  ~OwnMemory() {
    if (fd_ >= 0) close(fd_);
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  size_t Read(uintptr_t place, void* bytes, size_t size) const {
    const ssize_t got = pread(fd_, bytes, size, static_cast<off_t>(place));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  int fd_;
};

// Where the module's tables are; there can be more than one.
std::vector<uintptr_t> FindTables(const Module& module, const OwnMemory& memory) {
  constexpr size_t kChunkBytes = 64 << 10;
  std::vector<uintptr_t> tables;
  std::vector<char> chunk(kChunkBytes + sizeof(TableHead));
  for (const Range& range : module.data) {
    for (uintptr_t place = (range.begin + 7) & ~uintptr_t{7}; place < range.end;
         place += kChunkBytes) {
      const size_t wanted = std::min<size_t>(chunk.size(), range.end - place);
      const size_t got = memory.Read(place, chunk.data(), wanted);
      for (size_t i = 0; i + sizeof(TableHead) <= got && i < kChunkBytes; i += 8) {
        uint64_t size;
        memcpy(&size, chunk.data() + i + 8, sizeof(size));
        if (__builtin_expect(size != sizeof(NvtxExportTableCallbacks), 1)) continue;
        TableHead head;
        memcpy(&head, chunk.data() + i, sizeof(head));
        if (IsTable(head, module)) tables.push_back(place + i);
      }
    }
  }
  return tables;
}

// Keeps a module loaded.
class Hold {
 public:
  explicit Hold(const Module& module)
      : handle_(
            dlopen(module.path.empty() ? nullptr : module.path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {}
  ~Hold() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  // Also if it is another by now that was loaded at the place of the first: what is there is looked
  // at again.
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  void* handle_;
};

// As the module's first NVTX call would; this one does nothing else.
void Initialize(const NvtxExportTableCallbacks& callbacks) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks.GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) return;
  if (table == nullptr || size <= NVTX_CBID_CORE_RangeEnd) return;
  const auto end =
      reinterpret_cast<void(NVTX_API*)(nvtxRangeId_t)>(*table[NVTX_CBID_CORE_RangeEnd]);
  if (end != nullptr) end(0);
}

}  // namespace

void NvtxModules::Listen() {
  const Listing listing = ListModules();
  if (is_complete_ && listing.loads == loads_) return;
  loads_ = listing.loads;
  is_complete_ = true;
  std::erase_if(searched_, [&](uintptr_t base) {
    return std::none_of(listing.modules.begin(), listing.modules.end(),
                        [&](const Module& module) { return module.base == base; });
  });
  const OwnMemory memory;
  for (const Module& module : listing.modules) {
    if (std::find(searched_.begin(), searched_.end(), module.base) != searched_.end()) continue;
    bool is_done = true;
    for (const uintptr_t place : FindTables(module, memory)) {
      const Hold hold(module);
      TableHead head = {};
      const auto read = [&] {
        return memory.Read(place, &head, sizeof(head)) == sizeof(head) && IsTable(head, module);
      };
      if (!hold || !read()) continue;
      if (head.init_state == kFresh) {
        Initialize(head.callbacks);
        if (!read()) continue;
      }
      if (head.init_state != kComplete) {
        is_done = false;  // A thread of the program is at it.
        continue;
      }
      ++found_;
      if (!PutNvtxFunctions(head.callbacks, /*ours=*/true)) ++taken_;
    }
    if (is_done) {
      searched_.push_back(module.base);
    } else {
      is_complete_ = false;
    }
  }
}

void NvtxModules::StopListening() {
  const Listing listing = ListModules();
  const OwnMemory memory;
  for (const Module& module : listing.modules) {
    for (const uintptr_t place : FindTables(module, memory)) {
      const Hold hold(module);
      TableHead head = {};
      if (!hold || memory.Read(place, &head, sizeof(head)) != sizeof(head)) continue;
      if (IsTable(head, module)) PutNvtxFunctions(head.callbacks, /*ours=*/false);
    }
  }
}

}  // namespace tp::collect
