// What is known of the things that events name by number (devices, contexts, streams, threads), as
// wire.proto's Descriptions: kept for the life of the process, so that each daemon can be told.
//
//   descriptions.SetStream(...); descriptions.GiveStreamName(...);   // Whatever comes first.
//   std::string message = descriptions.EncodeAfter(sent, &sent);      // What has changed since.
#ifndef COLLECTOR_LINK_DESCRIPTIONS_H_
#define COLLECTOR_LINK_DESCRIPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "collector/events.h"

namespace tp::collect {

// The longest name that is kept: what is longer is cut, at the end of a UTF-8 sequence.
inline constexpr size_t kLongestDescribedName = 255;

// Bounded: when the next thing would make it hold more than `limit_bytes`, it stays without a
// description, and is counted. Not thread-safe: the collector thread's own.
class Descriptions {
 public:
  explicit Descriptions(size_t limit_bytes = 1 << 20) : limit_bytes_(limit_bytes) {}

  // As CUPTI and the system have them. Names that the program gave stay.
  void SetDevice(const Device& device);
  void SetContext(const Context& context);
  void SetStream(const Stream& stream);
  void SetThreadName(uint32_t thread_id, std::string_view name);

  // As the program calls them, last.
  void GiveDeviceName(uint32_t device, std::string_view name);
  void GiveContextName(uint32_t context, std::string_view name);
  void GiveStreamName(uint32_t context, uint32_t stream, std::string_view name);
  void GiveThreadName(uint32_t thread_id, std::string_view name);

  // Whether it is known of any device what it is.
  bool has_devices() const { return has_devices_; }

  // Grows with each change.
  uint64_t revision() const { return revision_; }
  // The message with what has changed after a revision, as far as a message should hold it;
  // `until` is the revision after which the next one goes on.
  std::string EncodeAfter(uint64_t revision, uint64_t* until) const;

  size_t memory_bytes() const { return bytes_; }
  // Things that found no room, each time.
  uint64_t left_out() const { return left_out_; }

 private:
  // Numbers of wire.proto's fields in Descriptions.
  enum class Kind : uint32_t { kDevice = 1, kContext = 2, kStream = 3, kThread = 4 };
  using Key = std::tuple<Kind, uint32_t, uint32_t>;  // Streams: context and number.
  struct Entry {
    std::string properties;  // Encoded, from field 3 on.
    std::string given_name;
    uint64_t revision = 0;
  };

  // Makes one of the texts of a thing this, if there is room.
  void Set(const Key& key, std::string Entry::*member, std::string_view text);

  size_t limit_bytes_;
  std::map<Key, Entry> entries_;
  std::map<uint64_t, Key> changes_;  // The entries by their revision.
  uint64_t revision_ = 0;
  bool has_devices_ = false;
  size_t bytes_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_DESCRIPTIONS_H_
