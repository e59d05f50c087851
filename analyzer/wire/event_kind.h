// Kinds of events as they are counted: by the wire's numbers, and in words for users.
#ifndef ANALYZER_WIRE_EVENT_KIND_H_
#define ANALYZER_WIRE_EVENT_KIND_H_

#include <array>
#include <cstdint>
#include <string>

#include "analyzer/model/recording.h"
#include "proto/query.pb.h"
#include "proto/wire.pb.h"

namespace tp {

// By wire::EventKind.
using EventCounts = std::array<uint64_t, wire::EventKind_ARRAYSIZE>;

// EVENT_KIND_UNKNOWN for an annotation on the device, which is the image of another event.
wire::EventKind EventKindOf(ActivityKind kind);

// To and from messages. Kinds that are not known are left out, sums stop at the largest number.
using KindCounts = google::protobuf::RepeatedPtrField<wire::KindCount>;
EventCounts CountsOf(const KindCounts& told);
void SaveCounts(const EventCounts& counts, KindCounts* told);

// The words of query.proto; also for numbers that are no kind yet.
std::string KindWord(int event_kind);

// What came of each kind. Kinds that most processes have nothing of are left out at zero.
void AddEvents(const EventCounts& counts, query::Process* process);

}  // namespace tp

#endif  // ANALYZER_WIRE_EVENT_KIND_H_
