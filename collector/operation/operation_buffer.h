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
  kSkip,   // Unused bytes up to the ring's end.
  kPush,   // Begins a range in the thread's nesting; its text follows the record.
  kPop,    // Ends one.
  kStart,  // Begins an asynchronous range; its text follows the record.
  kEnd,    // Ends one, perhaps another thread's.
  kStack,  // Where the range with this id, which follows, begins: StackFrames follow the record.
};

// One event. Padded to whole records of 8 bytes in the ring.
struct OperationEvent {
  uint32_t bytes;  // Of the whole record.
  OperationEventType type;
  uint8_t reserved;
  uint16_t text_bytes;  // That follow; 0 where `text` is used.
  uint64_t id;
  int64_t time_ns;  // CLOCK_MONOTONIC.
  // Of kPush and kStart alone:
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

  // Writer. Appends a beginning event with its text if, after it, `ends_to_come` end events have
  // room as well; else false.
  bool Begin(const OperationEvent& event, std::string_view text, uint32_t ends_to_come) {
    uint32_t bytes = (sizeof(OperationEvent) + text.size() + 7) & ~7u;
    // Either kind of record may have to leave bytes unused before the ring's end.
    uint64_t wanted = 2 * uint64_t{bytes} + (uint64_t{ends_to_come} + 2) * kEndEventBytes;
    if (!HasRoom(wanted)) return false;
    char* place = Place(bytes);
    OperationEvent record = event;
    record.bytes = bytes;
    record.text_bytes = static_cast<uint16_t>(text.size());
    memcpy(place, &record, sizeof(record));
    memcpy(place + sizeof(record), text.data(), text.size());
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

  // Reader. Calls `visit(const OperationEvent&, std::string_view text)` for what was written so
  // far.
  template <typename Visit>
  void Drain(Visit&& visit) {
    uint64_t written = written_.load(std::memory_order_acquire);
    uint64_t read = read_.load(std::memory_order_relaxed);
    while (read != written) {
      const char* place = memory_ + (read & (capacity_ - 1));
      OperationEvent event = {};
      memcpy(&event, place, kEndEventBytes);
      if (event.type == OperationEventType::kPush || event.type == OperationEventType::kStart ||
          event.type == OperationEventType::kStack) {
        memcpy(&event, place, sizeof(event));
        visit(event, std::string_view(place + sizeof(event), event.text_bytes));
      } else if (event.type != OperationEventType::kSkip) {
        visit(event, std::string_view());
      }
      read += event.bytes;
      read_.store(read, std::memory_order_release);
    }
  }

  uint32_t capacity() const { return capacity_; }

 private:
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
