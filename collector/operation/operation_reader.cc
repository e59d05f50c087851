#include "collector/operation/operation_reader.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "collector/operation/nvtx_payload_abi.h"
#include "collector/operation/nvtx_payloads.h"
#include "collector/operation/operation_details.h"
#include "proto/operation_name.h"

namespace tp::collect {
namespace {

// Ends of ranges that there are not.
constexpr size_t kMostUnmatched = 16384;
// An end whose begin was not seen may have overtaken it in another thread's buffer, once.
constexpr int kMostRounds = 3;
// Of one range.
constexpr size_t kMostValues = 16;

// What the values are called that NVTX gives no name.
constexpr std::string_view kCategory = "category";
constexpr std::string_view kPayload = "payload";

// As JSON's string, without the quotes that need no thought: types' names are short and plain.
void AppendQuoted(std::string_view text, std::string* json) {
  *json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') *json += '\\';
    *json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  *json += '"';
}

}  // namespace

void OperationReader::BeginCapture(int64_t start_ns) {
  captured_from_ns_ = start_ns;
  captured_until_ns_ = INT64_MAX;
  reopened_->Clear();
  ForEachOpen([this](Open& open) { Reopen(open); });
}

void OperationReader::EndCapture(int64_t end_ns, void (*batch_full)(void*), void* user) {
  // Before reading: what happened after it does not count.
  captured_until_ns_ = end_ns;
  Read(batch_full, user);
  ForEachOpen([&](Open& open) {
    Tell(open, INT64_MAX);
    batch_full(user);
  });
}

template <typename Visit>
void OperationReader::ForEachOpen(Visit&& visit) {
  for (auto& [serial, thread] : threads_) {
    for (Open& open : thread.stack) visit(open);
  }
  for (auto& [id, open] : asynchronous_) visit(open);
}

void OperationReader::Read(void (*batch_full)(void*), void* user) {
  ThreadOperationsList::ForEach([&](ThreadOperations& thread) {
    bool ended = thread.ended();
    Thread& known = threads_[thread.serial()];
    std::vector<Open>& stack = known.stack;
    thread.buffer().Drain(
        [&](const OperationEvent& event, std::string_view text, std::string_view details) {
          Handle(event, text, details, thread, &known);
          batch_full(user);
        });
    if (ended) {
      uncorrelated_->Ended(thread, Innermost(thread.serial()));
      // What it left open ended with it.
      while (!stack.empty()) {
        Close(stack.back(), thread.ended_ns());
        stack.pop_back();
      }
      threads_.erase(thread.serial());
    }
  });
  EndedRange overflowed[64];
  for (size_t count; (count = TakeOverflowedEnds(overflowed, 64)) > 0;) {
    for (size_t i = 0; i < count && unmatched_.size() < kMostUnmatched; ++i) {
      unmatched_.push_back({overflowed[i], 0});
    }
  }
  std::erase_if(unmatched_, [this](UnmatchedEnd& unmatched) {
    return EndAsynchronous(unmatched.end) || ++unmatched.rounds > kMostRounds;
  });
}

uint64_t OperationReader::Innermost(uint64_t serial) const {
  auto found = threads_.find(serial);
  if (found == threads_.end() || found->second.stack.empty()) return 0;
  return found->second.stack.back().id;
}

void OperationReader::SendOpen() {
  if (!capturing()) return;
  auto send = [this](Open& open) {
    if (open.told == Told::kNothing) {
      encoder_->AddOpened(open.operation);
      SendValues(open);
    }
    open.told = Told::kBegin;
  };
  for (auto& [serial, thread] : threads_) {
    // Those below one that was sent were sent with it.
    size_t first = thread.stack.size();
    while (first > 0 && thread.stack[first - 1].told == Told::kNothing) --first;
    for (size_t i = first; i < thread.stack.size(); ++i) send(thread.stack[i]);
  }
  for (auto& [id, open] : asynchronous_) send(open);
}

void OperationReader::SendOpenAgain() {
  const auto send = [this](const Open& open) {
    if (open.told != Told::kBegin) return;
    encoder_->AddReopened(open.operation);
    SendValues(open);
  };
  for (const auto& [serial, thread] : threads_) {
    for (const Open& open : thread.stack) send(open);
  }
  for (const auto& [id, open] : asynchronous_) send(open);
}

void OperationReader::CloseAll(int64_t now_ns) {
  for (auto& [serial, thread] : threads_) {
    while (!thread.stack.empty()) {
      Close(thread.stack.back(), now_ns);
      thread.stack.pop_back();
    }
  }
  for (auto& [id, open] : asynchronous_) Close(open, now_ns);
  asynchronous_.clear();
}

size_t OperationReader::memory_bytes() const {
  size_t bytes = (threads_.size() + asynchronous_.size()) * kOpenBytes +
                 unmatched_.capacity() * sizeof(UnmatchedEnd) +
                 values_.size() * sizeof(*values_.begin()) + values_kept_ * sizeof(OperationValue) +
                 stack_names_.memory_bytes();
  for (const auto& [serial, thread] : threads_) bytes += thread.stack.capacity() * sizeof(Open);
  return bytes;
}

void OperationReader::Handle(const OperationEvent& event, std::string_view text,
                             std::string_view details, ThreadOperations& operations,
                             Thread* thread) {
  switch (event.type) {
    case OperationEventType::kPush:
    case OperationEventType::kStart: {
      if (open_ >= most_open_) {
        lost_ += capturing();
        break;
      }
      ++open_;
      Operation operation = Begin(event, text, operations.thread_id());
      if (thread->stack_of == event.id) operation.stack = thread->stack_name;
      operation.asynchronous = event.type == OperationEventType::kStart;
      if (event.details == DetailsForm::kAttributes) AddAttributes(details, &operation);
      Open open{operation.id, operation, Told::kNothing, /*has_values=*/false};
      if (event.details == DetailsForm::kNvtx) AddNvtxDetails(event.domain, details, &open);
      if (capturing()) Reopen(open);
      if (operation.asynchronous) {
        asynchronous_.emplace(open.id, open);
      } else {
        thread->stack.push_back(open);
      }
      break;
    }
    case OperationEventType::kPop:
      EndPushed(&thread->stack, event.id, event.time_ns);
      break;
    case OperationEventType::kEnd:
      if (EndedRange end{event.id, event.time_ns};
          !EndAsynchronous(end) && unmatched_.size() < kMostUnmatched) {
        unmatched_.push_back({end, 0});
      }
      break;
    case OperationEventType::kStack:
      thread->stack_of = event.id;
      thread->stack_name = stack_names_.NameOf(text);
      break;
    case OperationEventType::kValues:
      AddLateDetails(event, details, &thread->stack);
      break;
    case OperationEventType::kCounter:
      CountCounter(event, text, operations.thread_id());
      break;
    case OperationEventType::kSkip:
      break;
  }
}

Operation OperationReader::Begin(const OperationEvent& event, std::string_view text,
                                 uint32_t thread_id) {
  Operation operation = {};
  operation.id = event.id;
  operation.start_ns = event.time_ns;
  operation.thread_id = thread_id;
  if (event.domain != nullptr) {
    if (event.domain->id == 0) event.domain->id = strings_->Intern(event.domain->name());
    operation.domain = event.domain->id;
  }
  if (event.details == DetailsForm::kAttributes) {
    operation.name = strings_->Intern(text);
    operation.kind = 'u';
    return operation;
  }
  const RegisteredText* registered = event.text;
  if (registered != nullptr && registered->name != 0) {
    operation.name = registered->name;
    operation.shapes = registered->shapes;
    operation.sequence_number_plus_one = registered->sequence_number_plus_one;
    operation.kind = registered->kind;
    return operation;
  }
  OperationName name = ReadOperationName(registered != nullptr ? registered->text() : text);
  operation.name = strings_->Intern(name.name);
  operation.shapes = strings_->Intern(name.shapes);
  operation.sequence_number_plus_one = name.sequence_number_plus_one;
  operation.kind = name.kind;
  if (registered != nullptr) {
    registered->name = operation.name;
    registered->shapes = operation.shapes;
    registered->sequence_number_plus_one = operation.sequence_number_plus_one;
    registered->kind = operation.kind;
  }
  return operation;
}

// What collector/tpcollect.h's attributes say; the kind is theirs, whatever the name looks like.
void OperationReader::AddAttributes(std::string_view details, Operation* operation) {
  DetailsReader reader(details);
  AttributesHeader header;
  if (!reader.Take(&header)) return;
  operation->kind = header.kind;
  operation->flops = header.flops;
  operation->output_bytes = header.output_bytes;
  if (!header.has_inputs) return;
  std::string& shapes = text_;
  std::string dtypes = "[";
  shapes = "[";
  bool has_dtypes = false;
  for (uint32_t i = 0; i < header.inputs; ++i) {
    InputHeader input;
    std::string_view dtype;
    if (!reader.Take(&input)) return;
    if (i > 0) {
      shapes += ", ";
      dtypes += ", ";
    }
    shapes += '[';
    for (uint8_t dimension = 0; dimension < input.rank; ++dimension) {
      int64_t size;
      if (!reader.Take(&size)) return;
      if (dimension > 0) shapes += ", ";
      shapes += std::to_string(size);
    }
    shapes += ']';
    if (!reader.TakeBytes(input.dtype_bytes, &dtype)) return;
    AppendQuoted(dtype, &dtypes);
    has_dtypes |= !dtype.empty();
  }
  operation->shapes = strings_->Intern(shapes += ']');
  if (has_dtypes) operation->dtypes = strings_->Intern(dtypes += ']');
}

void OperationReader::AddNvtxDetails(const Domain* domain, std::string_view details, Open* open) {
  DetailsReader reader(details);
  NvtxHeader header;
  if (!reader.Take(&header)) return;
  if (header.category != 0) {
    if (CategoryName(domain, header.category, &text_)) {
      AddValue(open, kCategory, ValueType::kText, strings_->Intern(text_));
    } else {
      AddValue(open, kCategory, ValueType::kUnsigned, header.category);
    }
  }
  const auto low = static_cast<uint32_t>(header.payload);
  switch (header.payload_type) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      AddValue(open, kPayload, ValueType::kUnsigned, header.payload);
      break;
    case NVTX_PAYLOAD_TYPE_INT64:
      AddValue(open, kPayload, ValueType::kSigned, header.payload);
      break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      AddValue(open, kPayload, ValueType::kReal, header.payload);
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      AddValue(open, kPayload, ValueType::kUnsigned, low);
      break;
    case NVTX_PAYLOAD_TYPE_INT32:
      AddValue(open, kPayload, ValueType::kSigned,
               static_cast<uint64_t>(int64_t{static_cast<int32_t>(low)}));
      break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
      AddValue(open, kPayload, ValueType::kReal,
               std::bit_cast<uint64_t>(double{std::bit_cast<float>(low)}));
      break;
    default:
      break;
  }
  for (uint32_t i = 0; i < header.payloads; ++i) {
    PayloadHeader payload;
    std::string_view bytes;
    if (!reader.Take(&payload) || !reader.TakeBytes(payload.bytes, &bytes)) return;
    payload_.clear();
    if (!ReadAnyPayload(domain, payload.schema, bytes, &payload_)) ++lost_values_;
    for (const PayloadValue& value : payload_) {
      if (value.type != EntryType::kText) {
        const ValueType type = value.type == EntryType::kSigned ? ValueType::kSigned
                               : value.type == EntryType::kReal ? ValueType::kReal
                                                                : ValueType::kUnsigned;
        AddValue(open, value.name, type, value.bits);
      } else if (value.is_message && open->operation.name == 0) {
        open->operation.name = strings_->Intern(value.text);
      } else {
        AddValue(open, value.name, ValueType::kText, strings_->Intern(value.text));
      }
    }
  }
}

void OperationReader::AddValue(Open* open, std::string_view name, ValueType type, uint64_t bits) {
  if (values_kept_ >= most_open_) {
    ++lost_values_;
    return;
  }
  std::vector<OperationValue>& values = values_[open->id];
  open->has_values = true;
  if (values.size() >= kMostValues) {
    ++lost_values_;
    return;
  }
  values.push_back({strings_->Intern(name), type, bits});
  ++values_kept_;
  // Else they go with the range's begin.
  if (open->told == Told::kBegin) encoder_->AddOperationValue(open->operation.id, values.back());
}

void OperationReader::SendValues(const Open& open) {
  if (!open.has_values) return;
  for (const OperationValue& value : values_[open.id]) {
    encoder_->AddOperationValue(open.operation.id, value);
  }
}

void OperationReader::AddLateDetails(const OperationEvent& event, std::string_view details,
                                     std::vector<Open>* stack) {
  for (size_t i = stack->size(); i > 0 && (*stack)[i - 1].id >= event.id; --i) {
    if ((*stack)[i - 1].id != event.id) continue;
    AddNvtxDetails(event.domain, details, &(*stack)[i - 1]);
    return;
  }
  if (const auto found = asynchronous_.find(event.id); found != asynchronous_.end()) {
    AddNvtxDetails(event.domain, details, &found->second);
  } else {
    ++lost_values_;
  }
}

void OperationReader::CountCounter(const OperationEvent& event, std::string_view name,
                                   uint32_t thread_id) {
  if (event.time_ns < captured_from_ns_ || event.time_ns >= captured_until_ns_) return;
  encoder_->AddCounter({.time_ns = event.time_ns,
                        .name = strings_->Intern(name),
                        .thread_id = thread_id,
                        .value = std::bit_cast<double>(event.id)});
}

void OperationReader::EndPushed(std::vector<Open>* stack, uint64_t id, int64_t end_ns) {
  // Ids grow from push to push; one that was left out is not there.
  for (size_t i = stack->size(); i > 0 && (*stack)[i - 1].id >= id; --i) {
    Open& open = (*stack)[i - 1];
    if (open.id != id) continue;
    Close(open, end_ns);
    stack->erase(stack->begin() + (i - 1));
    return;
  }
}

bool OperationReader::EndAsynchronous(const EndedRange& end) {
  auto found = asynchronous_.find(end.id);
  if (found == asynchronous_.end()) return false;
  Close(found->second, end.time_ns);
  asynchronous_.erase(found);
  return true;
}

void OperationReader::Close(Open& open, int64_t end_ns) {
  --open_;
  Tell(open, end_ns);
  if (!open.has_values) return;
  const auto values = values_.find(open.id);
  values_kept_ -= values->second.size();
  values_.erase(values);
}

// Makes a range that is open at the beginning of captured time count from there on.
void OperationReader::Reopen(Open& open) {
  if (open.told == Told::kAll) open.operation.id = reopened_->Add(open.id);
  open.told = Told::kNothing;
  if (open.operation.start_ns >= captured_from_ns_) return;
  open.operation.start_ns = captured_from_ns_;
  ++cut_;
}

// Hands on what lies in captured time of a range that ends at `end_ns`.
void OperationReader::Tell(Open& open, int64_t end_ns) {
  const bool is_outside =
      open.operation.start_ns >= captured_until_ns_ || end_ns <= captured_from_ns_;
  if (open.told == Told::kAll || (open.told == Told::kNothing && is_outside)) return;
  if (end_ns > captured_until_ns_) {
    end_ns = captured_until_ns_;
    ++cut_;
  }
  if (open.told == Told::kBegin) {
    encoder_->AddClosed(open.operation.id, end_ns);
  } else {
    open.operation.end_ns = end_ns;
    encoder_->AddOperation(open.operation);
    SendValues(open);
  }
  open.told = Told::kAll;
}

}  // namespace tp::collect
