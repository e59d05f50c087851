// A call stack as one text (Span::stack): frames joined by line ends, innermost first. A line end
// inside a frame is kept as the byte 0x1F, so that a frame stays one frame.
#ifndef ANALYZER_MODEL_FRAMES_H_
#define ANALYZER_MODEL_FRAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

std::string JoinFrames(const std::vector<std::string>& frames);

// The innermost `limit` frames as they were joined.
std::vector<std::string> SplitFrames(std::string_view stack, size_t limit = SIZE_MAX);

// The part of the text that holds the innermost `count` frames.
std::string_view InnermostFrames(std::string_view stack, size_t count);

}  // namespace tp

#endif  // ANALYZER_MODEL_FRAMES_H_
