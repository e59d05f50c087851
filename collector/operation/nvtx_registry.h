// What programs register with NVTX and name by a number ever after: the names of categories, and
// how payloads and their enumerations are laid out (NVTX's payload extension). Numbers are a
// domain's own.
//
// Registering takes a lock and may allocate: it is no hot path. What is registered stays for ever,
// as far as there is room; the rest is left out, and counted. Any thread, but for what says
// otherwise.
#ifndef COLLECTOR_OPERATION_NVTX_REGISTRY_H_
#define COLLECTOR_OPERATION_NVTX_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/operation/text.h"

namespace tp::collect {

// The most that is kept, of all domains together.
inline constexpr size_t kMostCategories = 4096;
inline constexpr size_t kMostLayouts = 1024;  // Enumerations among them.
inline constexpr size_t kMostEntries = 64;    // Of a layout.
inline constexpr size_t kMostEnumerators = 256;
inline constexpr size_t kLongestEntryText = 256;

// How an entry of a payload is read.
enum class EntryType : uint8_t { kSigned, kUnsigned, kReal, kText, kLayout };

struct PayloadEntry {
  std::string name;
  uint64_t offset = 0;  // In the payload.
  uint64_t bytes = 0;   // kLayout: told by the layout.
  EntryType type = EntryType::kUnsigned;
  bool is_message = false;  // Its text is the event's name.
  uint64_t layout = 0;      // kLayout: an enumeration's number.

  bool operator==(const PayloadEntry&) const = default;
};

// Of a struct, or (with enumerators) of a number that has names.
struct PayloadLayout {
  std::vector<PayloadEntry> entries;
  uint64_t bytes = 0;  // Of a whole payload; 0: not told.
  std::vector<std::pair<uint64_t, std::string>> enumerators;

  bool is_enumeration() const { return !enumerators.empty(); }
  bool operator==(const PayloadLayout&) const = default;
};

// A later name takes the place of an earlier one.
void NameCategory(const Domain* domain, uint32_t category, std::string_view name);
// False: it has none.
bool CategoryName(const Domain* domain, uint32_t category, std::string* name);

// Under the number that the program has chosen, or (0) a new one, which is returned; 0 if there is
// no room. A number that is registered again with another layout says nothing from then on: two
// copies of a library may have differing ones.
uint64_t RegisterLayout(const Domain* domain, uint64_t number, PayloadLayout layout);

// An entry's value as it was found in a payload.
struct PayloadValue {
  std::string_view name;
  EntryType type;              // No kLayout.
  uint64_t bits = 0;           // Of a number; a real one's are those of a double.
  std::string_view text = {};  // kText.
  bool is_message = false;
};

// The bits of a number (no kText, no kLayout) of 1, 2, 4 or 8 bytes, a real one of 4 or 8.
uint64_t NumberOf(EntryType type, std::string_view bytes);

// The values of a payload; false if its layout is not known, or another. Views are good as long as
// the payload.
bool ReadPayload(const Domain* domain, uint64_t layout, std::string_view payload,
                 std::vector<PayloadValue>* values);

// Categories, layouts, and entries of these, for which there was no room.
uint64_t NvtxRegistrationsLeftOut();
// As many more.
void CountNvtxRegistrationsLeftOut(uint64_t count);
size_t NvtxRegistryBytes();

// In the child of a fork: the lock may be held by a thread that does not exist there.
void ResetNvtxRegistryLockAfterFork();

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_NVTX_REGISTRY_H_
