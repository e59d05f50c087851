// A message as it stands on the wire: its length as a varint, then the message.
#ifndef COLLECTOR_LINK_FRAME_H_
#define COLLECTOR_LINK_FRAME_H_

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>

namespace tp::collect {

// The FromCollector message whose one field is `field`, holding the encoded `content`.
inline std::string Frame(uint32_t field, std::string_view content) {
  std::string head;
  protozero::pbf_writer(head).add_bytes(field, content.data(), 0);
  head.pop_back();  // The length of nothing; the right one follows.
  protozero::add_varint_to_buffer(&head, content.size());
  std::string frame;
  frame.reserve(head.size() + content.size() + protozero::max_varint_length);
  protozero::add_varint_to_buffer(&frame, head.size() + content.size());
  frame += head;
  frame += content;
  return frame;
}

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_FRAME_H_
