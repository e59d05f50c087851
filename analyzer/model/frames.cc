#include "analyzer/model/frames.h"

#include <algorithm>

namespace tp {
namespace {

constexpr char kBetweenFrames = '\n';
constexpr char kLineEndInFrame = '\x1F';

}  // namespace

std::string JoinFrames(const std::vector<std::string>& frames) {
  std::string stack;
  for (const std::string& frame : frames) {
    if (&frame != &frames.front()) stack += kBetweenFrames;
    size_t begin = stack.size();
    stack += frame;
    std::replace(stack.begin() + begin, stack.end(), kBetweenFrames, kLineEndInFrame);
  }
  return stack;
}

std::vector<std::string> SplitFrames(std::string_view stack, size_t limit) {
  std::vector<std::string> frames;
  while (!stack.empty() && frames.size() < limit) {
    size_t end = std::min(stack.find(kBetweenFrames), stack.size());
    std::string& frame = frames.emplace_back(stack.substr(0, end));
    std::replace(frame.begin(), frame.end(), kLineEndInFrame, kBetweenFrames);
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return frames;
}

std::string_view InnermostFrames(std::string_view stack, size_t count) {
  size_t end = 0;
  for (size_t i = 0; i < count && end < stack.size(); ++i) {
    if (i > 0) ++end;
    end = std::min(stack.find(kBetweenFrames, end), stack.size());
  }
  return stack.substr(0, end);
}

}  // namespace tp
