// What a daemon tells a recorder, put into a file and read again: the tables of the file are those
// that the daemon gives of the same time. The daemon is real, its collectors and the recorder are
// played by this test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/capture/capture_writer.h"
#include "analyzer/capture/replay.h"
#include "analyzer/serve/daemon_under_test.h"
#include "analyzer/serve/reactor.h"
#include "analyzer/serve/recorders.h"

namespace tp {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kCuptiAheadNs = 5'000'000'000;

const std::vector<std::string> kNames = {"mm", "step", "_Z6matmulPf", "cudaLaunchKernel"};

// A range "step", an operation "mm" in it, a launch in that, and its kernel.
wire::Batch OneStep(uint64_t sequence, int64_t base_ns) {
  const auto id = static_cast<int64_t>(10 * sequence);
  wire::Batch batch;
  batch.set_sequence(sequence);
  wire::OperationColumns* operations = batch.mutable_operations();
  operations->add_start_delta_ns(base_ns + 1'000);
  operations->add_start_delta_ns(-1'000);
  for (const int64_t duration : {10'000, 30'000}) operations->add_duration_ns(duration);
  for (const int64_t delta : {id, int64_t{1}}) operations->add_id_delta(delta);
  for (const uint32_t name : {1, 2}) operations->add_name_id(name);
  for (const uint32_t kind : {'o', 'u'}) operations->add_kind(kind);
  operations->add_thread_id(11);
  wire::CallColumns* calls = batch.mutable_runtime_calls();
  calls->add_start_delta_ns(base_ns + 2'000 + kCuptiAheadNs);
  calls->add_duration_ns(3'000);
  calls->add_correlation_delta(id);
  calls->add_thread_id(11);
  calls->add_name_id(4);
  wire::WorkColumns* kernels = batch.mutable_kernels();
  kernels->add_start_delta_ns(base_ns + 100'000 + kCuptiAheadNs);
  kernels->add_duration_ns(40'000);
  kernels->add_correlation_delta(id);
  kernels->add_name_id(3);
  kernels->add_context(1);
  kernels->add_stream(7);
  batch.mutable_launch_operations()->add_correlation_delta(id);
  batch.mutable_launch_operations()->add_operation_delta(id);
  return batch;
}

wire::FromCollector Capturing(uint64_t kernels_lost, uint64_t kernels_produced = 0) {
  wire::FromCollector message;
  wire::Status* status = message.mutable_status();
  status->set_state(wire::CAPTURING);
  const int64_t now_ns = MonotonicNow();
  status->mutable_clock()->set_host_ns(now_ns);
  status->mutable_clock()->set_cupti_ns(now_ns + kCuptiAheadNs);
  status->mutable_clock()->set_bracket_ns(100);
  status->add_activities("kernels");
  status->add_notes("CUDA_INJECTION64_PATH was set already: kept");
  status->set_collector_cpu_ns(1'234'567);
  status->set_memory_bytes(765'432);
  wire::Loss* loss = status->add_losses();
  loss->set_kind(wire::KERNEL);
  loss->set_cause(wire::CUPTI_DROPPED);
  loss->set_count(kernels_lost);
  wire::KindCount* produced = status->add_produced();
  produced->set_kind(wire::KERNEL);
  produced->set_count(kernels_produced);
  return message;
}

// Who records.
class RecorderClient : public Peer {
 public:
  RecorderClient(const std::string& socket_path, const std::string& file)
      : Peer(socket_path, "TPQ1"), path_(file), writer_(*CaptureWriter::Create(file)) {}

  bool Begin(const query::RecordRequest& record = {}) {
    query::Request request;
    *request.mutable_record() = record;
    return Send(request) && Take();
  }
  bool AskToEnd() {
    query::Request request;
    request.mutable_end_recording();
    return Send(request);
  }
  // Until nothing more comes.
  bool TakeRest() {
    while (!latest_.last()) {
      if (!Take()) return false;
    }
    return writer_->Finish().ok();
  }
  bool End() { return AskToEnd() && TakeRest(); }
  bool Take() {
    query::Response response;
    if (!Receive(&response)) return false;
    if (response.has_error()) error_ = response.error().message();
    if (!response.has_recorded()) return false;
    latest_ = response.recorded();
    return writer_->Append(latest_.entries()).ok();
  }
  // Until it has taken the state of so many processes, or of some again.
  bool TakeUntilStates(int count) {
    for (int states = 0; states < count;) {
      if (!Take()) return false;
      for (FrameReader frames; !latest_.entries().empty();) {
        const std::span<char> room = frames.Room(latest_.entries().size());
        latest_.entries().copy(room.data(), latest_.entries().size());
        frames.Filled(latest_.entries().size());
        latest_.clear_entries();
        while (true) {
          const auto message = frames.Next();
          if (!message.ok() || !message->has_value()) break;
          capture::Entry entry;
          entry.ParseFromArray((*message)->data(), static_cast<int>((*message)->size()));
          states += entry.has_state() ? 1 : 0;
        }
      }
    }
    return true;
  }

  const query::Recorded& latest() const { return latest_; }
  const std::string& error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<CaptureWriter> writer_;
  query::Recorded latest_;
  std::string error_;
};

class RecordReplay : public testing::Test {
 protected:
  RecordReplay() : daemon_(folder_.path() + "/tpd.sock") {}

  const std::string& socket_path() const { return daemon_.socket_path(); }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  // A hello, names, and its state; it answers the next flush when it is asked to.
  void Greet(CollectorClient* collector, uint64_t kernels_lost = 0) {
    collector->Greet(hello_);
    ASSERT_TRUE(collector->SendStrings(1, kNames));
    ASSERT_TRUE(collector->Send(Capturing(kernels_lost)));
  }
  void SendStep(CollectorClient* collector, uint64_t sequence) {
    ASSERT_TRUE(collector->SendBatch(OneStep(sequence, MonotonicNow() - 1'000'000)));
    ASSERT_TRUE(collector->WaitUntilAcknowledged(sequence));
  }
  static void AnswerFlush(CollectorClient* collector) {
    const std::optional<uint64_t> token = collector->WaitForFlush();
    ASSERT_TRUE(token.has_value());
    ASSERT_TRUE(collector->SendFlushDone(*token));
  }

  Replay ReplayOf(const std::string& path) {
    absl::StatusOr<Replay> replay = ReplayCapture(path, {});
    EXPECT_TRUE(replay.ok()) << replay.status();
    return *std::move(replay);
  }
  static query::Table TableOf(const Replay& replay, query::View view) {
    query::TableRequest request;
    request.set_view(view);
    return *TableOfReplay(replay, request);
  }
  void ExpectSameTables(const std::string& path) {
    const Replay replay = ReplayOf(path);
    for (int view = query::View_MIN; view <= query::View_MAX; ++view) {
      if (!query::View_IsValid(view)) continue;
      SCOPED_TRACE(query::View_Name(static_cast<query::View>(view)));
      query::Table live = QueryClient(socket_path()).Table(static_cast<query::View>(view));
      query::Table recorded = TableOf(replay, static_cast<query::View>(view));
      live.clear_now_ns();
      recorded.clear_now_ns();
      EXPECT_EQ(recorded.DebugString(), live.DebugString());
    }
  }

  const wire::Hello hello_ = CollectorClient::UsualHello();  // Of one and the same collector.
  TemporaryFolder folder_;
  DaemonProcess daemon_;
};

TEST_F(RecordReplay, OfAWholeSessionIsTheSession) {
  RecorderClient recorder(socket_path(), Path("whole"));
  ASSERT_TRUE(recorder.Begin());
  auto collector = std::make_unique<CollectorClient>(socket_path());
  Greet(collector.get(), /*kernels_lost=*/3);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) SendStep(collector.get(), sequence);
  // The connection is lost, and comes again; a batch is missing then.
  collector = std::make_unique<CollectorClient>(socket_path());
  Greet(collector.get(), /*kernels_lost=*/4);
  SendStep(collector.get(), 7);
  // One more was made, and never came.
  ASSERT_TRUE(collector->Send(Capturing(/*kernels_lost=*/4, /*kernels_produced=*/8)));
  ASSERT_TRUE(collector->SendGoodbye(wire::Goodbye::EXIT));
  collector.reset();
  while (QueryClient(socket_path()).Processes().processes(0).state() != query::GONE) {
  }
  ASSERT_TRUE(recorder.End());
  EXPECT_EQ(recorder.latest().events(), 24u);
  EXPECT_EQ(recorder.latest().processes(), 1u);
  ExpectSameTables(Path("whole"));
  const Replay replay = ReplayOf(Path("whole"));
  ASSERT_EQ(replay.sessions.size(), 1u);
  EXPECT_EQ(replay.notes, std::vector<std::string>());
  const query::Table table = TableOf(replay, query::OPERATIONS);
  EXPECT_EQ(table.losses_size(), 2);
  EXPECT_EQ(table.processes(0).state(), query::GONE);
  EXPECT_EQ(table.processes(0).collector_cpu_ns(), 1'234'567u);
}

TEST_F(RecordReplay, ThatBeginsInTheMiddleHasWhatCameSinceAndTheLossesSince) {
  CollectorClient collector(socket_path());
  Greet(&collector, /*kernels_lost=*/5);
  SendStep(&collector, 1);
  // A range that stays open.
  wire::Batch opened;
  opened.set_sequence(2);
  opened.mutable_opened()->add_start_delta_ns(MonotonicNow() - 60'000'000'000);
  opened.mutable_opened()->add_id_delta(1000);
  opened.mutable_opened()->add_name_id(2);
  opened.mutable_opened()->add_kind('u');
  opened.mutable_opened()->add_thread_id(11);
  ASSERT_TRUE(collector.SendBatch(opened));
  ASSERT_TRUE(collector.WaitUntilAcknowledged(2));

  RecorderClient recorder(socket_path(), Path("middle"));
  ASSERT_TRUE(recorder.Begin());
  const int64_t begun_ns = MonotonicNow();
  // What it sends before it has answered is not the recording's.
  ASSERT_TRUE(collector.WaitForFlush().has_value());
  SendStep(&collector, 3);
  const query::Table before = QueryClient(socket_path()).Table(query::KERNELS);
  ASSERT_TRUE(recorder.TakeUntilStates(1));  // It is not waited for for ever.
  for (uint64_t sequence = 4; sequence <= 6; ++sequence) SendStep(&collector, sequence);
  ASSERT_TRUE(collector.SendStrings(5, {"later"}));
  ASSERT_TRUE(collector.Send(Capturing(/*kernels_lost=*/7)));
  wire::Batch last = OneStep(7, MonotonicNow() - 1'000'000);
  last.mutable_operations()->set_name_id(0, 5);
  ASSERT_TRUE(collector.SendBatch(last));
  ASSERT_TRUE(collector.WaitUntilAcknowledged(7));
  ASSERT_TRUE(recorder.AskToEnd());
  AnswerFlush(&collector);
  ASSERT_TRUE(recorder.TakeRest());

  const Replay replay = ReplayOf(Path("middle"));
  const query::Table kernels = TableOf(replay, query::KERNELS);
  const query::Table after = QueryClient(socket_path()).Table(query::KERNELS);
  ASSERT_EQ(kernels.kernels_size(), 1);
  EXPECT_EQ(kernels.kernels(0).count(), 4);
  EXPECT_EQ(kernels.kernels(0).count(), after.kernels(0).count() - before.kernels(0).count());
  EXPECT_EQ(kernels.device_time_total_ns(),
            after.device_time_total_ns() - before.device_time_total_ns());
  // By the same clock.
  EXPECT_EQ(kernels.devices(0).last_ns(), after.devices(0).last_ns());
  ASSERT_EQ(kernels.losses_size(), 1);
  EXPECT_EQ(kernels.losses(0).count(), 2u);
  EXPECT_EQ(kernels.processes(0).state(), query::CAPTURING);

  const query::Table operations = TableOf(replay, query::OPERATIONS);
  bool has_later = false, has_open = false;
  for (const query::OperationRow& row : operations.operations()) {
    has_later |= row.name() == "later";
    if (row.name() != "step" || row.open() == 0) continue;
    has_open = true;
    EXPECT_EQ(row.count(), 5);
    // The open one counts from the beginning of the recording.
    EXPECT_LT(row.cpu_time_total_ns(), replay.now_ns - begun_ns + 4 * 30'000);
  }
  EXPECT_TRUE(has_later);
  EXPECT_TRUE(has_open);
}

TEST_F(RecordReplay, ThatCannotKeepUpCountsWhatItLacksAndGoesOn) {
  CollectorClient collector(socket_path());
  Greet(&collector);
  RecorderClient recorder(socket_path(), Path("slow"));
  ASSERT_TRUE(recorder.Begin());
  AnswerFlush(&collector);
  ASSERT_TRUE(recorder.TakeUntilStates(1));
  // A range that is open now, and ends while nothing is recorded.
  wire::Batch opened;
  opened.set_sequence(1);
  opened.mutable_opened()->add_start_delta_ns(MonotonicNow());
  opened.mutable_opened()->add_id_delta(7);
  opened.mutable_opened()->add_name_id(2);
  opened.mutable_opened()->add_kind('u');
  ASSERT_TRUE(collector.SendBatch(opened));
  // It reads nothing, while far more comes than its queue holds.
  constexpr int kValues = 60'000;
  uint32_t names = static_cast<uint32_t>(kNames.size());
  uint64_t sequence = 1;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(collector.SendStrings(++names, {"name " + std::to_string(i)}));
    wire::Batch batch = OneStep(++sequence, MonotonicNow() - 1'000'000);
    batch.mutable_operations()->set_name_id(0, names);
    for (int row = 0; row < kValues; ++row) {
      batch.mutable_counters()->add_time_delta_ns(row == 0 ? MonotonicNow() : 0);
      batch.mutable_counters()->add_bits(~uint64_t{0} - static_cast<uint64_t>(row));
    }
    batch.mutable_counters()->add_name_id(1);
    ASSERT_TRUE(collector.SendBatch(batch));
    ASSERT_TRUE(collector.WaitUntilAcknowledged(sequence));
  }
  wire::Batch closed;
  closed.set_sequence(++sequence);
  closed.mutable_closed()->add_id_delta(7);
  closed.mutable_closed()->add_end_delta_ns(MonotonicNow());
  ASSERT_TRUE(collector.SendBatch(closed));
  ASSERT_TRUE(collector.WaitUntilAcknowledged(sequence));
  // It reads again: the names that it lacks, and the state, come by themselves.
  ASSERT_TRUE(recorder.TakeUntilStates(1));
  wire::Batch last = OneStep(++sequence, MonotonicNow() - 1'000'000);
  last.mutable_operations()->set_name_id(0, names);
  ASSERT_TRUE(collector.SendBatch(last));
  ASSERT_TRUE(collector.WaitUntilAcknowledged(sequence));
  ASSERT_TRUE(recorder.AskToEnd());
  AnswerFlush(&collector);
  ASSERT_TRUE(recorder.TakeRest());

  const uint64_t not_recorded = recorder.latest().not_recorded();
  EXPECT_GT(not_recorded, 0u);
  EXPECT_EQ(recorder.latest().events() + not_recorded, 31u * 4 + 1 + 30u * kValues);
  const Replay replay = ReplayOf(Path("slow"));
  const query::Table table = TableOf(replay, query::OPERATIONS);
  uint64_t lost = 0, kernels_lost = 0, kernels = 0;
  for (const query::Loss& loss : table.losses()) {
    EXPECT_EQ(loss.cause(), "recorder was slow");
    if (loss.kind() != "launch_operations") lost += loss.count();
    if (loss.kind() == "kernels") kernels_lost = loss.count();
  }
  for (const query::KindCount& kind : table.processes(0).events()) {
    if (kind.kind() == "kernels") kernels = kind.count();
  }
  EXPECT_EQ(lost, not_recorded);
  EXPECT_EQ(kernels + kernels_lost, 31u);
  EXPECT_EQ(TableOf(replay, query::KERNELS).kernels(0).count(), static_cast<int64_t>(kernels));
  EXPECT_EQ(replay.notes, std::vector<std::string>());
  bool has_last = false;
  for (const query::OperationRow& row : table.operations()) {
    has_last |= row.name() == "name 29";
    EXPECT_EQ(row.open(), 0) << "the range that ended in the gap";
  }
  EXPECT_TRUE(has_last) << "a name of the gap";
  EXPECT_THAT(table.DebugString(), HasSubstr("1 operations ended in a part"));
}

TEST_F(RecordReplay, IsGivenToSoManyAndNoMore) {
  std::vector<std::unique_ptr<RecorderClient>> recorders;
  for (size_t i = 0; i < Recorders::kMost; ++i) {
    recorders.push_back(
        std::make_unique<RecorderClient>(socket_path(), Path("r" + std::to_string(i))));
    ASSERT_TRUE(recorders.back()->Begin());
  }
  RecorderClient late(socket_path(), Path("late"));
  EXPECT_FALSE(late.Begin());
  EXPECT_THAT(late.error(), HasSubstr("8 recordings under way already"));
  // One that has gone makes room.
  recorders.back()->Close();
  for (int tries = 0; tries < 500; ++tries) {
    RecorderClient next(socket_path(), Path("next"));
    if (next.Begin()) return;
    usleep(10'000);
  }
  ADD_FAILURE() << "none was let in";
}

}  // namespace
}  // namespace tp
