// wire::Descriptions as the collector sends them to those of the model, and back.
#ifndef ANALYZER_WIRE_DESCRIPTIONS_DECODER_H_
#define ANALYZER_WIRE_DESCRIPTIONS_DECODER_H_

#include <cstdint>

#include "analyzer/model/descriptions.h"
#include "proto/wire.pb.h"

namespace tp {

// Puts each described thing in the place of its earlier description. Names are cut, and of each
// kind of thing only so many are taken; returns how many found no room.
uint64_t DecodeDescriptions(const wire::Descriptions& message, Descriptions* descriptions);

// What DecodeDescriptions() makes the same descriptions of.
void EncodeDescriptions(const Descriptions& descriptions, wire::Descriptions* message);

}  // namespace tp

#endif  // ANALYZER_WIRE_DESCRIPTIONS_DECODER_H_
