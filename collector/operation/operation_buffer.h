// The way of a thread's range events to the collector thread: a ring of bytes with one writer (the
// application's thread) and one reader (the collector thread), without locks.
#ifndef COLLECTOR_OPERATION_OPERATION_BUFFER_H_
#define COLLECTOR_OPERATION_OPERATION_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tp::collect {

class RegisteredText;
class Domain;

enum class OperationEventType : uint8_t {
  kSkip,     // Unused bytes up to the ring's end.
  kPush,     // Begins a range in the thread's nesting; its text follows the record.
  kPop,      // Ends one.
  kStart,    // Begins an asynchronous range; its text follows the record.
  kEnd,      // Ends one, perhaps another thread's.
  kValues,   // Details of the range with this id that were not known at its begin.
  kCounter,  // A counter's value: `id` holds the double's bits, its name follows the record.
  kStack,    // Where the range with this id, which follows, begins: StackFrames follow the record.
};

// What stands behind the text of an event (operation/operation_details.h).
enum class DetailsForm : uint8_t { kNone, kAttributes, kNvtx };

// One event. Padded to whole records of 8 bytes in the ring.
struct OperationEvent {
  uint32_t bytes;  // Of the whole record.
  OperationEventType type;
  DetailsForm details;  // What follows the text.
  uint16_t text_bytes;  // That follow; 0 where `text` is used.
  uint64_t id;
  int64_t time_ns;  // CLOCK_MONOTONIC.
  // Not of kPop and kEnd:
  const Domain* domain;
  const RegisteredText* text;
};
inline constexpr uint32_t kEndEventBytes = offsetof(OperationEvent, domain);
static_assert(kEndEventBytes % 8 == 0 && sizeof(OperationEvent) % 8 == 0);

class OperationBuffer {
 public:
  // Bytes that `memory` must have beyond `capacity`: a reader may look that far behind the ring's
  // end.
  static constexpr uint32_t kSlackBytes = kEndEventBytes;

  // `memory` outlives the buffer; `capacity` is a power of two.
  OperationBuffer(char* memory, uint32_t capacity) : memory_(memory), capacity_(capacity) {}

  // Writer. Appends an event that is no end, with its text and details, if, after it,
  // `ends_to_come` end events have room as well; else false.
  [[gnu::always_inline]] bool Begin(const OperationEvent& event, std::string_view text,
                                    uint32_t ends_to_come, std::string_view details = {}) {
    uint32_t bytes = (sizeof(OperationEvent) + text.size() + details.size() + 7) & ~7u;
    // Either kind of record may have to leave bytes unused before the ring's end.
    uint64_t wanted = 2 * uint64_t{bytes} + (uint64_t{ends_to_come} + 2) * kEndEventBytes;
    if (!HasRoom(wanted)) return false;
    char* place = Place(bytes);
    OperationEvent record = event;
    record.bytes = bytes;
    record.text_bytes = static_cast<uint16_t>(text.size());
    memcpy(place, &record, sizeof(record));
    memcpy(place + sizeof(record), text.data(), text.size());
    if (__builtin_expect(!details.empty(), 0)) {
      memcpy(place + sizeof(record) + text.size(), details.data(), details.size());
    }
    Publish(bytes);
    return true;
  }

  // Writer. Appends an end event that leaves room for `ends_to_come` further ones; else false.
  // Cannot fail for a range whose Begin kept room for it.
  bool End(OperationEventType type, uint64_t id, int64_t time_ns, uint32_t ends_to_come) {
    if (!HasRoom((uint64_t{ends_to_come} + 2) * kEndEventBytes)) return false;
    char* place = Place(kEndEventBytes);
    OperationEvent record = {};
    record.bytes = kEndEventBytes;
    record.type = type;
    record.id = id;
    record.time_ns = time_ns;
    memcpy(place, &record, kEndEventBytes);
    Publish(kEndEventBytes);
    return true;
  }

  // Writer: more than half full. The reader should be woken.
  bool HalfFull() {
    if (written_local_ - read_seen_ <= capacity_ / 2) return false;
    read_seen_ = read_.load(std::memory_order_acquire);
    return written_local_ - read_seen_ > capacity_ / 2;
  }

  // Reader. Calls `visit(const OperationEvent&, std::string_view text, std::string_view details)`
  // for what was written so far. Up to seven bytes of no meaning may follow the details.
  template <typename Visit>
  void Drain(Visit&& visit) {
    uint64_t written = written_.load(std::memory_order_acquire);
    uint64_t read = read_.load(std::memory_order_relaxed);
    while (read != written) {
      const char* place = memory_ + (read & (capacity_ - 1));
      OperationEvent event = {};
      memcpy(&event, place, kEndEventBytes);
      if (IsEnd(event.type)) {
        visit(event, std::string_view(), std::string_view());
      } else if (event.type != OperationEventType::kSkip) {
        memcpy(&event, place, sizeof(event));
        const char* text = place + sizeof(event);
        visit(event, std::string_view(text, event.text_bytes),
              std::string_view(text + event.text_bytes,
                               event.bytes - sizeof(event) - event.text_bytes));
      }
      read += event.bytes;
      read_.store(read, std::memory_order_release);
    }
  }

  uint32_t capacity() const { return capacity_; }

 private:
  static bool IsEnd(OperationEventType type) {
    return type == OperationEventType::kPop || type == OperationEventType::kEnd;
  }

  bool HasRoom(uint64_t bytes) {
    if (capacity_ - (written_local_ - read_seen_) >= bytes) return true;
    read_seen_ = read_.load(std::memory_order_acquire);
    return capacity_ - (written_local_ - read_seen_) >= bytes;
  }

  // Where the next record goes, after a skip record where it would not fit before the ring's end.
  char* Place(uint32_t bytes) {
    uint32_t position = written_local_ & (capacity_ - 1);
    uint32_t left = capacity_ - position;
    if (left < bytes) {
      // The ring's last bytes may be fewer than an end event: the fields read of a skip record are
      // its first eight.
      uint32_t skip = left;
      memcpy(memory_ + position, &skip, sizeof(skip));
      memset(memory_ + position + 4, static_cast<int>(OperationEventType::kSkip), 4);
      written_local_ += left;
      position = 0;
    }
    return memory_ + position;
  }

  void Publish(uint32_t bytes) {
    written_local_ += bytes;
    written_.store(written_local_, std::memory_order_release);
  }

  char* memory_;
  uint32_t capacity_;
  // The writer's own.
  uint64_t written_local_ = 0;
  uint64_t read_seen_ = 0;
  alignas(64) std::atomic<uint64_t> written_{0};
  alignas(64) std::atomic<uint64_t> read_{0};
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_OPERATION_BUFFER_H_
