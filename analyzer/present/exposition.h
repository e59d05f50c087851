// The text that Prometheus reads (exposition format 0.0.4): families of samples, each with its HELP
// and TYPE.
//
//   Exposition page;
//   Exposition::Family* copied =
//       page.AddFamily("tensorprof_copy_bytes_total", "Bytes that copies moved.", kCounter);
//   copied->AddNumber(Labels().With("pid", "4242").With("direction", "HtoD"), 4096);
//   page.Text();
//
// Families come in the order in which they were added, those without samples not at all. That no
// two samples of a family have the same labels is the caller's care.
#ifndef ANALYZER_PRESENT_EXPOSITION_H_
#define ANALYZER_PRESENT_EXPOSITION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace tp {

// A sample's labels, escaped. Names are the caller's; values may hold any bytes.
class Labels {
 public:
  // A label with an empty value is the same as none, and is left out.
  Labels With(std::string_view name, std::string_view value) const;
  // `pid="4242",direction="HtoD"`
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Exposition {
 public:
  enum Type { kCounter, kGauge };

  class Family {
   public:
    void AddNumber(const Labels& labels, uint64_t number);
    // In seconds, with all digits. What is less than nothing is written as nothing.
    void AddSeconds(const Labels& labels, int64_t nanoseconds);

    const std::string& name() const { return name_; }

   private:
    friend class Exposition;
    void Add(const Labels& labels, std::string_view value);
    std::string name_, head_, samples_;
    size_t* bytes_ = nullptr;
  };

  Exposition() = default;
  Exposition(const Exposition&) = delete;
  Exposition& operator=(const Exposition&) = delete;

  // Stays valid as long as the page.
  Family* AddFamily(std::string_view name, std::string_view help, Type type);
  // Of the text so far.
  size_t bytes() const { return bytes_; }
  std::string Text() const;

 private:
  std::deque<Family> families_;
  size_t bytes_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_PRESENT_EXPOSITION_H_
