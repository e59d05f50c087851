#include "collector/operation/nvtx_registry.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>

namespace tp::collect {
namespace {

// Numbers that we give begin here: smaller ones are the programs' (NVTX's payload extension).
constexpr uint64_t kFirstNumberOfOurs = uint64_t{1} << 32;

struct Key {
  const Domain* domain;
  uint64_t number;
  bool operator==(const Key&) const = default;
};
struct HashOfKey {
  size_t operator()(const Key& key) const {
    return (reinterpret_cast<uintptr_t>(key.domain) >> 4) * 0x9e3779b97f4a7c15u ^ key.number;
  }
};

// Null where two differing ones have one number.
// Two copies of a library may have registered different ones under one number.
struct RegisteredLayout {
  const PayloadLayout* layout;
  bool is_ambiguous;
};
using Layouts = std::unordered_map<Key, RegisteredLayout, HashOfKey>;
using Categories = std::unordered_map<Key, std::string, HashOfKey>;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<uint64_t> g_left_out{0};
std::atomic<size_t> g_bytes{0};
uint64_t g_next_number = kFirstNumberOfOurs;

// Never destroyed: programs register until the process ends.
Layouts& AllLayouts() {
  static auto* layouts = new Layouts;
  return *layouts;
}
Categories& AllCategories() {
  static auto* categories = new Categories;
  return *categories;
}

class Lock {
 public:
  Lock() { pthread_mutex_lock(&g_lock); }
  ~Lock() { pthread_mutex_unlock(&g_lock); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

size_t BytesOf(const PayloadLayout& layout) {
  size_t bytes = sizeof(layout) + 64;
  for (const PayloadEntry& entry : layout.entries) bytes += sizeof(entry) + entry.name.capacity();
  for (const auto& [value, name] : layout.enumerators) bytes += 48 + name.capacity();
  return bytes;
}

const PayloadLayout* Find(const Domain* domain, uint64_t number) {
  const auto found = AllLayouts().find({domain, number});
  if (found == AllLayouts().end() || found->second.is_ambiguous) return nullptr;
  return found->second.layout;
}

uint64_t Extended(std::string_view bytes, bool is_signed) {
  uint64_t value = 0;
  memcpy(&value, bytes.data(), bytes.size());
  const size_t unused = 64 - 8 * bytes.size();
  if (!is_signed || unused == 0) return value;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

// Reads an entry whose type is an enumeration. False: it is none, or not known.
bool ReadEnumerator(const Domain* domain, const PayloadEntry& entry, std::string_view payload,
                    PayloadValue* value) {
  const PayloadLayout* layout = Find(domain, entry.layout);
  if (layout == nullptr || !layout->is_enumeration()) return false;
  if (entry.offset > payload.size() || layout->bytes > payload.size() - entry.offset) return false;
  value->bits = Extended(payload.substr(entry.offset, layout->bytes), /*is_signed=*/false);
  value->type = EntryType::kUnsigned;
  for (const auto& [number, name] : layout->enumerators) {
    if (number != value->bits) continue;
    value->type = EntryType::kText;
    value->text = name;
    break;
  }
  return true;
}

}  // namespace

uint64_t NumberOf(EntryType type, std::string_view bytes) {
  if (type != EntryType::kReal) return Extended(bytes, type == EntryType::kSigned);
  double value = 0;
  if (bytes.size() == sizeof(float)) {
    float narrow;
    memcpy(&narrow, bytes.data(), sizeof(narrow));
    value = narrow;
  } else {
    memcpy(&value, bytes.data(), sizeof(value));
  }
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

void NameCategory(const Domain* domain, uint32_t category, std::string_view name) {
  if (category == 0) return;  // It stands for none.
  const Lock lock;
  try {
    Categories& categories = AllCategories();
    const auto found = categories.find({domain, category});
    if (found == categories.end() && categories.size() >= kMostCategories) {
      ++g_left_out;
      return;
    }
    std::string& known = categories[{domain, category}];
    if (found == categories.end()) g_bytes += sizeof(Key) + sizeof(known) + 32;
    g_bytes -= known.size();
    known = name.substr(0, kLongestEntryText);
    g_bytes += known.size();
  } catch (const std::bad_alloc&) {
    ++g_left_out;
  }
}

bool CategoryName(const Domain* domain, uint32_t category, std::string* name) {
  const Lock lock;
  const auto found = AllCategories().find({domain, category});
  if (found == AllCategories().end()) return false;
  *name = found->second;
  return true;
}

uint64_t RegisterLayout(const Domain* domain, uint64_t number, PayloadLayout layout) {
  const Lock lock;
  try {
    Layouts& layouts = AllLayouts();
    if (number != 0) {
      if (const auto found = layouts.find({domain, number}); found != layouts.end()) {
        if (*found->second.layout != layout) found->second.is_ambiguous = true;
        return number;
      }
    }
    if (layouts.size() >= kMostLayouts) {
      ++g_left_out;
      return 0;
    }
    if (number == 0) number = g_next_number++;
    const size_t bytes = BytesOf(layout);
    // Never destroyed: the collector thread may be reading by it.
    auto kept = std::make_unique<const PayloadLayout>(std::move(layout));
    layouts.insert({{domain, number}, {kept.get(), /*is_ambiguous=*/false}});
    kept.release();
    g_bytes += bytes;
    return number;
  } catch (const std::bad_alloc&) {
    ++g_left_out;
    return 0;
  }
}

bool ReadPayload(const Domain* domain, uint64_t number, std::string_view payload,
                 std::vector<PayloadValue>* values) {
  const Lock lock;
  const PayloadLayout* layout = Find(domain, number);
  if (layout == nullptr || layout->is_enumeration()) return false;
  // Another than what was registered.
  if (layout->bytes != 0 && layout->bytes != payload.size()) return false;
  for (const PayloadEntry& entry : layout->entries) {
    PayloadValue value{.name = entry.name, .type = entry.type, .is_message = entry.is_message};
    if (entry.type == EntryType::kLayout) {
      if (ReadEnumerator(domain, entry, payload, &value)) values->push_back(value);
      continue;
    }
    if (entry.offset > payload.size() || entry.bytes > payload.size() - entry.offset) continue;
    const std::string_view bytes = payload.substr(entry.offset, entry.bytes);
    if (entry.type == EntryType::kText) {
      value.text = bytes.substr(0, std::min(bytes.find('\0'), kLongestEntryText));
    } else {
      value.bits = NumberOf(entry.type, bytes);
    }
    values->push_back(value);
  }
  return true;
}

uint64_t NvtxRegistrationsLeftOut() { return g_left_out; }

void CountNvtxRegistrationsLeftOut(uint64_t count) { g_left_out += count; }

size_t NvtxRegistryBytes() { return g_bytes; }

void ResetNvtxRegistryLockAfterFork() { g_lock = PTHREAD_MUTEX_INITIALIZER; }

}  // namespace tp::collect
