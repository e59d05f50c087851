// A screen as data: lines of text with a tone each, before anything is drawn.
#ifndef TOOLS_CONTROL_SCREEN_LINES_H_
#define TOOLS_CONTROL_SCREEN_LINES_H_

#include <string>
#include <vector>

namespace tp {

enum class Tone {
  kPlain,
  kDim,        // Explanations.
  kStrong,     // What the eye should find first.
  kBar,        // The line at the top and the titles: on a background of its own.
  kChosen,     // The view shown, the column sorted by.
  kGood,       // At work.
  kAttention,  // Nothing is captured, and why.
  kAlarm,      // Something is lost.
};

struct Segment {
  std::string text;  // Escaped for a terminal.
  Tone tone = Tone::kPlain;
};

using Line = std::vector<Segment>;

int LineWidth(const Line& line);

// Cut to `width` columns; FillLine also fills up what is missing with blanks in the tone `fill`.
Line FitLine(const Line& line, int width);
Line FillLine(const Line& line, int width, Tone fill);

// The text alone, without blanks at its end.
std::string LineText(const Line& line);

}  // namespace tp

#endif  // TOOLS_CONTROL_SCREEN_LINES_H_
