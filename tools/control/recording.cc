#include "tools/control/recording.h"

#include <time.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/export/output_file.h"
#include "analyzer/present/units.h"
#include "analyzer/wire/framing.h"
#include "proto/capture.pb.h"
#include "tools/control/quantity.h"

namespace tp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// What a crash of ours takes along.
constexpr milliseconds kBetweenBlocks{1000};
// The daemon asks collectors first, and may have much to tell.
constexpr milliseconds kMostSilenceAtEnd{5000};

constexpr milliseconds kBetweenLooks{50};

int64_t MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string Counted(uint64_t count, std::string_view one, std::string_view many) {
  const std::string_view word = count == 1 ? one : many;
  return absl::StrCat(ExactCountText(static_cast<int64_t>(count)), " ",
                      absl::string_view(word.data(), word.size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Recording>> Recording::Begin(const std::string& path,
                                                            const query::RecordRequest& request) {
  if (absl::Status status = OutputFile::Check(path); !status.ok()) return status;
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return client.status();
  const absl::StatusOr<query::Recorded> first = client->BeginRecording(request);
  if (!first.ok()) return first.status();
  absl::StatusOr<std::unique_ptr<CaptureWriter>> file = CaptureWriter::Create(path);
  if (!file.ok()) return file.status();
  std::unique_ptr<Recording> recording(new Recording(path, *std::move(client), *std::move(file)));
  if (absl::Status status = recording->Write(*first); !status.ok()) return status;
  return recording;
}

Recording::Recording(std::string path, QueryClient client, std::unique_ptr<CaptureWriter> file)
    : path_(std::move(path)),
      client_(std::move(client)),
      file_(std::move(file)),
      begun_(Clock::now()),
      flushed_(begun_) {}

absl::Status Recording::Write(const query::Recorded& recorded) {
  totals_ = recorded;
  totals_.clear_entries();
  is_over_ = recorded.last();
  return file_->Append(recorded.entries());
}

absl::Status Recording::Take(milliseconds wait) {
  const Clock::time_point end = Clock::now() + wait;
  while (!is_over_) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    const absl::StatusOr<std::optional<query::Recorded>> recorded =
        client_.NextRecorded(std::max(left, milliseconds(0)));
    if (!recorded.ok()) return EndEarly(recorded.status());
    if (recorded->has_value()) {
      if (absl::Status status = Write(**recorded); !status.ok()) return EndEarly(status);
    }
    if (Clock::now() - flushed_ >= kBetweenBlocks) {
      flushed_ = Clock::now();
      if (absl::Status status = file_->Flush(); !status.ok()) return EndEarly(status);
    }
    if (!recorded->has_value() || Clock::now() >= end) break;
  }
  return absl::OkStatus();
}

absl::Status Recording::End() {
  if (is_over_) return absl::OkStatus();
  if (absl::Status asked = client_.EndRecording(); !asked.ok()) return EndEarly(asked);
  while (!is_over_) {
    const absl::StatusOr<std::optional<query::Recorded>> recorded =
        client_.NextRecorded(kMostSilenceAtEnd);
    if (!recorded.ok()) return EndEarly(recorded.status());
    if (!recorded->has_value()) {
      return EndEarly(absl::DeadlineExceededError("the daemon does not answer"));
    }
    if (absl::Status status = Write(**recorded); !status.ok()) return EndEarly(status);
  }
  lasted_ = Clock::now() - begun_;
  return file_->Finish();
}

absl::Status Recording::EndEarly(const absl::Status& why) {
  is_over_ = true;
  lasted_ = Clock::now() - begun_;
  const std::string reason = absl::IsAborted(why) || absl::IsDataLoss(why)
                                 ? "the daemon has ended"
                                 : std::string(why.message());
  capture::Entry entry;
  entry.mutable_end()->set_time_ns(MonotonicNow());
  entry.mutable_end()->set_reason(reason);
  std::string entries;
  AppendMessage(entry, &entries);
  // If it is the file that fails, nothing more can be said in it.
  absl::Status written = file_->Append(entries);
  if (written.ok()) written = file_->Finish();
  if (!written.ok()) return written;
  return absl::AbortedError(
      absl::StrCat("the recording ended early: ", reason, "; ", path_, " holds what came before"));
}

std::chrono::steady_clock::duration Recording::Elapsed() const {
  return is_over_ ? lasted_ : Clock::now() - begun_;
}

RecordingThread::RecordingThread(Recording* recording)
    : recording_(recording), thread_([this] {
        while (status_.ok() && !stops_) status_ = recording_->Take(kBetweenLooks);
      }) {}

absl::Status RecordingThread::End() {
  if (!thread_.joinable()) return status_;
  stops_ = true;
  thread_.join();
  if (status_.ok()) status_ = recording_->End();
  return status_;
}

std::string Recording::LossText() const {
  std::string text;
  if (totals_.not_recorded() > 0) {
    absl::StrAppend(&text, "; not recorded, because this recorder was slow: ",
                    ExactCountText(static_cast<int64_t>(totals_.not_recorded())));
  }
  if (totals_.lost() > 0) {
    absl::StrAppend(&text, "; lost: ", ExactCountText(static_cast<int64_t>(totals_.lost())));
  }
  return text;
}

std::string Recording::Summary() const {
  const double seconds = std::chrono::duration<double>(Elapsed()).count();
  const uint64_t bytes = file_->bytes_written();
  std::string text = absl::StrFormat(
      "recorded %s of %s in %.1f s to %s: %s", Counted(totals_.events(), "event", "events"),
      Counted(totals_.processes(), "process", "processes"), seconds,
      path_ == "-" ? "standard output" : path_, BytesText(static_cast<int64_t>(bytes)));
  if (totals_.events() >= 1000) {
    absl::StrAppendFormat(&text, ", %.1f bytes per event",
                          static_cast<double>(bytes) / static_cast<double>(totals_.events()));
  }
  return text + LossText();
}

std::string Recording::ProgressText() const {
  const int64_t elapsed_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Elapsed()).count();
  return absl::StrCat(UptimeText(elapsed_ns), ", ",
                      CountText(static_cast<double>(totals_.events())), " events of ",
                      Counted(totals_.processes(), "process", "processes"), ", ",
                      BytesText(static_cast<int64_t>(file_->bytes_written())), LossText());
}

}  // namespace tp
