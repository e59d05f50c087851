// Turns events into the wire's batches: one column per number, see proto/wire.proto.
#ifndef COLLECTOR_LINK_BATCH_ENCODER_H_
#define COLLECTOR_LINK_BATCH_ENCODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/events.h"
#include "collector/link/column.h"

namespace tp::collect {

// A finished batch: the FromCollector message with its length before it, as it goes to the socket.
// The end of a range that went out as opened.
struct RangeEnd {
  uint64_t id;
  int64_t end_ns;
};

struct EncodedBatch {
  uint64_t sequence = 0;
  StringId last_string = 0;  // The strings up to this one have to be sent before.
  EventCounts counts;
  std::string frame;
  // What must not be lost with it: without its begin a range is not known, without its end it seems
  // to go on.
  bool has_begins = false;
  std::vector<RangeEnd> ends;
};

// Collects events until Finish; keeps its memory from batch to batch. Not thread-safe: the
// collector thread's own.
class BatchEncoder {
 public:
  // A range that is over and was not sent before.
  void AddOperation(const Operation& operation);
  // A range that is still open (its end_ns is not read), and later its end.
  void AddOpened(const Operation& operation);
  void AddClosed(uint64_t id, int64_t end_ns);
  // A range that was sent before, and is still open, for a daemon that may not know of it.
  void AddReopened(const Operation& operation);
  // What the range with this id carries; with the range or after it.
  void AddOperationValue(uint64_t operation_id, const OperationValue& value);
  void AddCounter(const CounterValue& counter);
  void AddKernel(const Work& work, const LaunchConfiguration& launch);
  // `kind` is kCopy, kFill or kGraph.
  void AddWork(EventKind kind, const Work& work);
  void AddSynchronization(const Synchronization& synchronization);
  void AddMemory(const MemoryEvent& event);
  void AddGraphNode(const GraphNode& node);
  // `kind` is kRuntimeCall, kDriverCall, kOverhead or kCompilation.
  void AddCall(EventKind kind, const Call& call);
  void AddLaunchOperation(uint32_t correlation_id, uint64_t operation_id);

  bool empty() const { return rows_ == 0; }
  size_t rows() const { return rows_; }

  // The batch of all that was added since the last Finish.
  EncodedBatch Finish(uint64_t sequence, StringId last_string);

 private:
  struct OperationColumns {
    DeltaColumn start, id;
    PackedVarints duration;
    ValueColumn name, thread, kind, form, domain, shapes, sequence_number;
    ValueColumn stack;
    // Few ranges have them.
    ValueColumn dtypes, flops, output_bytes;
    void Add(const Operation& operation);
    void Write(uint32_t field, std::string* batch, bool with_duration);
  };
  struct ClosedColumns {
    DeltaColumn id, end;
    void Write(uint32_t field, std::string* batch);
  };
  struct WorkColumns {
    DeltaColumn start, correlation;
    PackedVarints duration;
    ValueColumn device, context, stream, name, bytes, copy_kind, source_memory, destination_memory,
        destination_device, value, graph_node, launch_configuration, queued, submitted, graph_id;
    void AddCommon(const Work& work);
    void Write(uint32_t field, std::string* batch);
  };
  struct CallColumns {
    DeltaColumn start, correlation;
    PackedVarints duration;
    ValueColumn thread, name, result, cbid;
    void Write(uint32_t field, std::string* batch);
  };
  WorkColumns& ColumnsOfWork(EventKind kind);
  CallColumns& ColumnsOfCall(EventKind kind);
  struct LaunchOperationColumns {
    DeltaColumn correlation, operation;
    void Write(uint32_t field, std::string* batch);
  };

  struct SynchronizationColumns {
    DeltaColumn start, correlation;
    PackedVarints duration;
    ValueColumn type, context, stream, event;
    void Write(uint32_t field, std::string* batch);
  };
  struct MemoryColumns {
    DeltaColumn time, address, correlation;
    ValueColumn operation, kind, bytes, device, context, stream, from_pool;
    void Write(uint32_t field, std::string* batch);
  };
  struct GraphNodeColumns {
    DeltaColumn node, operation, original;
    void Write(uint32_t field, std::string* batch);
  };
  struct OperationValueColumns {
    DeltaColumn operation;
    ValueColumn name, type, bits;
    void Write(uint32_t field, std::string* batch);
  };
  struct CounterColumns {
    DeltaColumn time;
    ValueColumn name, bits, thread;
    void Write(uint32_t field, std::string* batch);
  };
  // The configurations of a batch's kernels, and where the latest of them are.
  class LaunchConfigurations {
   public:
    // Its row, plus one. One that is not among the latest gets another row.
    uint32_t Row(const LaunchConfiguration& launch, StringId kernel);
    void Write(uint32_t field, std::string* batch);

   private:
    struct Slot {
      LaunchConfiguration launch;
      uint32_t row;
      uint32_t batch;  // In which it is that row; 0: none.
    };
    static constexpr int kPairShift = 23;
    static constexpr size_t kPairs = size_t{1} << (32 - kPairShift);

    uint32_t Add(const LaunchConfiguration& launch, Slot* slot);

    std::vector<std::array<Slot, 2>> slots_ = std::vector<std::array<Slot, 2>>(kPairs);
    PackedVarints grid_x_;
    ValueColumn others_[kLaunchNumbers - 1];
    uint32_t rows_ = 0;
    uint32_t batch_ = 1;
  };

  OperationColumns operations_, opened_, reopened_;
  ClosedColumns closed_;
  std::vector<RangeEnd> ends_;  // Those of closed_.
  WorkColumns kernels_, copies_, fills_, graphs_;
  CallColumns runtime_calls_, driver_calls_, overheads_, compilations_;
  SynchronizationColumns synchronizations_;
  MemoryColumns memory_;
  GraphNodeColumns graph_nodes_;
  OperationValueColumns operation_values_;
  CounterColumns counters_;
  LaunchOperationColumns launch_operations_;
  LaunchConfigurations launch_configurations_;
  EventCounts counts_;
  size_t rows_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_BATCH_ENCODER_H_
