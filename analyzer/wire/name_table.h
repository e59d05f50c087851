// The names of one traced process: from the ids that its collector sends to those of a StringTable.
//
// A name keeps its id for the life of the process; a collector that connects again sends the whole
// table once more, which must say the same. Memory is bounded: names beyond the limits are all
// called "(other)", and counted. Not thread-safe.
#ifndef ANALYZER_WIRE_NAME_TABLE_H_
#define ANALYZER_WIRE_NAME_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "analyzer/model/recording.h"
#include "analyzer/model/string_table.h"
#include "proto/wire.pb.h"

namespace tp {

struct NameLimits {
  size_t names = size_t{1} << 20;
  size_t bytes = size_t{64} << 20;
};

// What a frame of a stack is called: its module as the collector names it (proto/wire.proto,
// OperationColumns.stack_id), and the return address.
using FrameNamer = std::function<std::string(std::string_view module, uint64_t return_address)>;

class NameTable {
 public:
  // `strings` outlives the table.
  explicit NameTable(StringTable* strings, const NameLimits& limits = {});

  // InvalidArgument: ids that leave some out, or another text for an id that is known. The table is
  // then as before, or holds the first of the new names.
  absl::Status Add(const wire::Strings& strings);

  // Ids from 0 to below this are known.
  uint64_t size() const { return announced_; }
  // Of an id that is known.
  StringId Name(uint32_t id) const { return id < names_.size() ? names_[id] : other_; }
  std::string_view Text(uint32_t id) const { return strings_->Text(Name(id)); }
  // Of an id that is known and a stack's: its frames as one text (model/frames.h). 0: none of them
  // can be read. Functions of NVTX, of tpcollect.h and of our own libraries, which are
  // only there to say where the program is, are left out.
  StringId Stack(uint32_t id) { return id == 0 ? 0 : StackOf(id); }
  // The stacks that were asked for, in that order.
  const std::vector<uint32_t>& known_stacks() const { return known_stacks_; }
  std::string_view KnownStackText(uint32_t id) const { return strings_->Text(stacks_.at(id)); }
  // What such a stack is elsewhere: Stack() gives this text from now on.
  void SetStack(uint32_t id, std::string_view text);
  // Without it frames are what the collector has sent.
  void SetFrameNamer(FrameNamer namer) { frame_namer_ = std::move(namer); }
  // What a copy or a fill is called, which CUPTI gives no name: "Memcpy HtoD (Pinned -> Device)".
  StringId CopyName(uint32_t copy_kind, uint32_t source_memory, uint32_t destination_memory);
  StringId FillName(uint32_t memory);
  // "CUDA graph 3", and for a CUpti_ActivitySynchronizationType "stream synchronize".
  StringId GraphName(uint32_t graph_id);
  StringId SynchronizationName(uint32_t type);

  // How many names are "(other)" for want of room; those included that a table had which this one
  // continues.
  uint64_t left_out() const { return left_out_; }
  void SetLeftOut(uint64_t count) { left_out_ = count; }

 private:
  StringId StackOf(uint32_t id);

  StringTable* strings_;
  NameLimits limits_;
  std::vector<StringId> names_;
  uint64_t announced_ = 1;  // Id 0 is the empty text.
  size_t text_bytes_ = 0;
  uint64_t left_out_ = 0;
  StringId other_;
  absl::flat_hash_map<std::array<uint32_t, 3>, StringId> work_names_;
  absl::flat_hash_map<uint32_t, StringId> graph_names_;
  FrameNamer frame_namer_;
  absl::flat_hash_map<uint32_t, StringId> stacks_;
  std::vector<uint32_t> known_stacks_;
};

}  // namespace tp

#endif  // ANALYZER_WIRE_NAME_TABLE_H_
