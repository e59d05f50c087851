// A session gives the summary of the whole recording however its collector cut it into batches, in
// whatever order the events came, and however often it had to connect again and repeat itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analyzer/serve/session.h"
#include "analyzer/summarize/random_recording.h"
#include "analyzer/summarize/summary.h"
#include "proto/wire.pb.h"

namespace tp {
namespace {

constexpr const char* kTexts[] = {"[[2]]", "b", "c", "d", "e"};

// Writes events into the columns of one batch.
class BatchWriter {
 public:
  explicit BatchWriter(uint64_t sequence) { batch_.set_sequence(sequence); }

  void AddSpan(const Span& span) {
    const bool is_open = span.end_ns == kStillOpen;
    wire::OperationColumns& columns =
        is_open ? *batch_.mutable_opened() : *batch_.mutable_operations();
    Last& last = is_open ? opened_ : operations_;
    columns.add_start_delta_ns(Delta(span.start_ns, &last.time));
    if (!is_open) columns.add_duration_ns(span.end_ns - span.start_ns);
    columns.add_id_delta(Delta(static_cast<int64_t>(span.id), &last.id));
    columns.add_name_id(span.name);
    columns.add_thread_id(static_cast<uint32_t>(span.thread));
    columns.add_kind(static_cast<uint32_t>(span.kind));
    columns.add_form(span.asynchronous ? wire::START_END : wire::PUSH_POP);
    columns.add_shapes_id(span.shapes);
  }
  void Close(uint64_t id, int64_t end_ns) {
    batch_.mutable_closed()->add_id_delta(Delta(static_cast<int64_t>(id), &closed_.id));
    batch_.mutable_closed()->add_end_delta_ns(Delta(end_ns, &closed_.time));
  }
  void AddActivity(const DeviceActivity& activity) {
    switch (activity.kind) {
      case ActivityKind::kRuntimeCall:
        return AddCall(activity, batch_.mutable_runtime_calls(), &runtime_calls_);
      case ActivityKind::kDriverCall:
        return AddCall(activity, batch_.mutable_driver_calls(), &driver_calls_);
      case ActivityKind::kKernel:
        return AddWork(activity, batch_.mutable_kernels(), &kernels_);
      case ActivityKind::kCopy:
        return AddWork(activity, batch_.mutable_copies(), &copies_);
      case ActivityKind::kFill:
        return AddWork(activity, batch_.mutable_fills(), &fills_);
      default:
        return;
    }
  }
  void AddLaunchOperation(uint64_t correlation, uint64_t operation) {
    wire::LaunchOperationColumns& columns = *batch_.mutable_launch_operations();
    columns.add_correlation_delta(Delta(static_cast<int64_t>(correlation), &launches_.id));
    columns.add_operation_delta(Delta(static_cast<int64_t>(operation), &launches_.time));
  }

  wire::Batch& batch() { return batch_; }

 private:
  // Of the row before.
  struct Last {
    int64_t time = 0, id = 0;
  };
  static int64_t Delta(int64_t value, int64_t* last) {
    const int64_t delta = value - *last;
    *last = value;
    return delta;
  }
  static void AddCall(const DeviceActivity& call, wire::CallColumns* columns, Last* last) {
    columns->add_start_delta_ns(Delta(call.start_ns, &last->time));
    columns->add_duration_ns(call.end_ns - call.start_ns);
    columns->add_correlation_delta(Delta(static_cast<int64_t>(call.correlation), &last->id));
    columns->add_name_id(call.name);
  }
  static void AddWork(const DeviceActivity& work, wire::WorkColumns* columns, Last* last) {
    columns->add_start_delta_ns(Delta(work.start_ns, &last->time));
    columns->add_duration_ns(work.end_ns - work.start_ns);
    columns->add_correlation_delta(Delta(static_cast<int64_t>(work.correlation), &last->id));
    columns->add_stream(work.stream);
    columns->add_name_id(work.name);
  }

  wire::Batch batch_;
  Last opened_, operations_, closed_, runtime_calls_, driver_calls_, kernels_, copies_, fills_,
      launches_;
};

// Leaves only what travels on the wire.
void KeepWhatTravels(PlainRecording* recording) {
  for (Span& span : recording->spans) {
    span.thread += 1;
    span.stack = 0;
    span.flops = span.output_bytes = 0;
  }
  for (DeviceActivity& activity : recording->activities) {
    activity.operation = kNoOperation;
    if (IsHostCall(activity.kind)) activity.device = -1;
  }
}

// The rows of a view in an order of their own: which of equal rows came first is not compared.
std::vector<std::string> Rows(const Summary& summary, query::View view) {
  TableOptions options;
  options.view = view;
  options.group_by_shape = true;
  const Summary* one = &summary;
  query::Table table = Tabulate({&one, 1}, options, kAfterAll);
  std::vector<std::string> rows;
  for (query::OperationRow& row : *table.mutable_operations()) {
    row.clear_first_seen();
    rows.push_back(row.ShortDebugString());
  }
  for (const auto& row : table.kernels()) rows.push_back(row.ShortDebugString());
  for (const auto& row : table.copies()) rows.push_back(row.ShortDebugString());
  for (const auto& row : table.calls()) rows.push_back(row.ShortDebugString());
  for (const auto& row : table.streams()) rows.push_back(row.ShortDebugString());
  std::sort(rows.begin(), rows.end());
  table.clear_operations();
  table.clear_kernels();
  table.clear_copies();
  table.clear_calls();
  table.clear_streams();
  rows.push_back(table.ShortDebugString());  // Totals and devices.
  return rows;
}

wire::Hello Hello() {
  wire::Hello hello;
  hello.set_protocol_version(1);
  hello.set_pid(getpid());
  return hello;
}

wire::Strings Names() {
  wire::Strings names;
  names.set_first_id(1);
  for (const char* text : kTexts) names.add_text(text);
  return names;
}

TEST(AnyBatches, ASessionIsTheSummaryOfTheWholeRecording) {
  for (unsigned seed = 0; seed < 1000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRecording random(seed);
    KeepWhatTravels(&random.recording);

    StringTable strings;
    for (const char* text : kTexts) strings.Intern(text);
    Summary whole(&strings);
    whole.SetProcess(getpid());
    for (const Span& span : random.recording.spans) whole.AddSpan(span);
    for (const auto& activity : random.recording.activities) whole.AddActivity(activity);
    for (auto [correlation, operation] : random.recording.launch_operations) {
      whole.AddLaunchOperation(correlation, operation);
    }

    // Each step writes one event into the batch that is being made.
    std::vector<std::function<void(BatchWriter*)>> steps;
    for (const Span& span : random.recording.spans) {
      if (span.end_ns != kStillOpen && random.Chance(2)) {
        Span open = span;
        open.end_ns = kStillOpen;
        steps.push_back([open](BatchWriter* batch) { batch->AddSpan(open); });
        steps.push_back([span](BatchWriter* batch) { batch->Close(span.id, span.end_ns); });
      } else {
        steps.push_back([span](BatchWriter* batch) { batch->AddSpan(span); });
      }
    }
    for (const DeviceActivity& activity : random.recording.activities) {
      steps.push_back([activity](BatchWriter* batch) { batch->AddActivity(activity); });
    }
    for (auto [correlation, operation] : random.recording.launch_operations) {
      steps.push_back([correlation = correlation, operation = operation](BatchWriter* batch) {
        batch->AddLaunchOperation(correlation, operation);
      });
    }
    std::shuffle(steps.begin(), steps.end(), std::mt19937(seed));

    std::vector<wire::Batch> batches;
    for (size_t next = 0; next < steps.size();) {
      BatchWriter writer(batches.size() + 1);
      const size_t end = std::min(steps.size(), next + 1 + random.Below(20));
      for (; next < end; ++next) steps[next](&writer);
      batches.push_back(std::move(writer.batch()));
    }

    Session session({.pid = getpid()}, Hello(), {}, 1);
    const auto connect = [&](int64_t now_ns) {
      session.Greet(Hello(), /*new_connection=*/true, now_ns);
      ASSERT_TRUE(session.Add(Names()).ok());
    };
    connect(1);
    uint64_t repeated = 0;
    for (size_t i = 0; i < batches.size(); ++i) {
      ASSERT_TRUE(session.Add(batches[i]).ok());
      if (!random.Chance(4)) continue;
      // The connection ends, and nobody knows what arrived: the last ones come again.
      session.Disconnected(static_cast<int64_t>(i) + 2);
      connect(static_cast<int64_t>(i) + 2);
      for (size_t again = i - std::min<size_t>(i, random.Below(4)); again <= i; ++again) {
        ASSERT_TRUE(session.Add(batches[again]).ok());
        ++repeated;
      }
    }
    EXPECT_EQ(session.losses().repeated_batches(), repeated);
    for (const query::View view : {query::OPERATIONS, query::SPANS, query::KERNELS, query::COPIES,
                                   query::API, query::STREAMS}) {
      SCOPED_TRACE(query::View_Name(view));
      EXPECT_EQ(Rows(session.summary(), view), Rows(whole, view));
    }
    EXPECT_EQ(session.summary().unattributed_count(), whole.unattributed_count());
    EXPECT_EQ(session.summary().impossible().count(Impossibility::kStartsBeforeLaunch),
              whole.impossible().count(Impossibility::kStartsBeforeLaunch));
  }
}

}  // namespace
}  // namespace tp
