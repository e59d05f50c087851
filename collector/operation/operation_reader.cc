#include "collector/operation/operation_reader.h"

#include <algorithm>
#include <utility>

#include "proto/operation_name.h"

namespace tp::collect {
namespace {

// Ends of ranges that there are not.
constexpr size_t kMostUnmatched = 16384;
// An end whose begin was not seen may have overtaken it in another thread's buffer, once.
constexpr int kMostRounds = 3;

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
    thread.buffer().Drain([&](const OperationEvent& event, std::string_view text) {
      Handle(event, text, thread, &known);
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
    if (open.told == Told::kNothing) encoder_->AddOpened(open.operation);
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
    if (open.told == Told::kBegin) encoder_->AddReopened(open.operation);
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
                 unmatched_.capacity() * sizeof(UnmatchedEnd) + stack_names_.memory_bytes();
  for (const auto& [serial, thread] : threads_) bytes += thread.stack.capacity() * sizeof(Open);
  return bytes;
}

void OperationReader::Handle(const OperationEvent& event, std::string_view text,
                             ThreadOperations& operations, Thread* thread) {
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
      Open open{operation.id, operation, Told::kNothing};
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
  }
  open.told = Told::kAll;
}

}  // namespace tp::collect
