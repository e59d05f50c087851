// Sentences that stand beside a table whatever its source.
#ifndef ANALYZER_PRESENT_NOTES_H_
#define ANALYZER_PRESENT_NOTES_H_

#include <cstdint>
#include <string>

#include "proto/query.pb.h"

namespace tp {

// Of `count` records of device work that belong to no operation. `more_may_come`: the recording
// goes on, and their launches may be on their way.
std::string UnattributedNote(uint64_t count, int64_t total_ns, bool more_may_come);

// What is to be said of the rows themselves: those that are all the rest, and where `top_level`
// spans alone were asked for, groups of all of them.
void AddNotesOfRows(bool top_level, query::Table* table);

}  // namespace tp

#endif  // ANALYZER_PRESENT_NOTES_H_
