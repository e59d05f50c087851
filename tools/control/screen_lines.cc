#include "tools/control/screen_lines.h"

#include "tools/control/terminal_text.h"

namespace tp {

int LineWidth(const Line& line) {
  int width = 0;
  for (const Segment& segment : line) width += DisplayWidth(segment.text);
  return width;
}

Line FitLine(const Line& line, int width) {
  Line fitted;
  for (const Segment& segment : line) {
    if (width <= 0) break;
    fitted.push_back({CutToWidth(segment.text, width), segment.tone});
    width -= DisplayWidth(segment.text);
  }
  return fitted;
}

Line FillLine(const Line& line, int width, Tone fill) {
  Line filled = FitLine(line, width);
  const int missing = width - LineWidth(filled);
  if (missing > 0) filled.push_back({std::string(missing, ' '), fill});
  return filled;
}

std::string LineText(const Line& line) {
  std::string text;
  for (const Segment& segment : line) text += segment.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace tp
