#include "collector/operation/header_listener.h"

#include <algorithm>
#include <cstring>

#include "collector/operation/operation_details.h"
#include "collector/operation/text.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

// Its ranges end apart from NVTX's. Never destroyed: threads use it until the process ends.
const Domain* g_domain = nullptr;

std::string_view NameOf(const char* name) {
  return name == nullptr ? std::string_view("") : CutText(name);
}

bool PutInput(const tpcollect_tensor& input, DetailsWriter* writer) {
  if (input.rank > kMostRank || (input.sizes == nullptr && input.rank > 0)) return false;
  const size_t dtype_bytes = input.dtype == nullptr ? 0 : strnlen(input.dtype, kLongestDtype);
  return writer->Put(
             InputHeader{static_cast<uint8_t>(input.rank), static_cast<uint8_t>(dtype_bytes)}) &&
         writer->PutBytes(input.sizes, input.rank * sizeof(int64_t)) &&
         writer->PutBytes(input.dtype, dtype_bytes);
}

void PutInputs(const tpcollect_operation& operation, AttributesHeader* header,
               DetailsWriter* writer) {
  if (operation.inputs == nullptr) return;
  const size_t before = writer->size();
  header->has_inputs = true;
  header->inputs = operation.input_count;
  for (uint32_t i = 0; i < operation.input_count && header->has_inputs; ++i) {
    header->has_inputs = PutInput(operation.inputs[i], writer);
  }
  if (header->has_inputs) return;
  writer->ShrinkTo(before);
  ThreadOperationsList::CountLostDetails();
}

// Calls `use(thread, RangeText)`, or returns `otherwise` when nothing can be recorded.
template <typename Result, typename Use>
Result WithOperation(const tpcollect_operation* told, Result otherwise, Use&& use) {
  if (told == nullptr) return otherwise;
  ThreadOperations* thread = ThreadOperations::Current();
  if (thread == nullptr) {
    ThreadOperations::CountWithoutRoom();
    return otherwise;
  }
  // Of an older program there is less.
  tpcollect_operation operation = {};
  memcpy(&operation, told, std::min(told->struct_size, sizeof(operation)));
  const bool has_kind =
      operation.kind == TPCOLLECT_KIND_OPERATION || operation.kind == TPCOLLECT_KIND_BACKWARD;
  AttributesHeader header = {
      .flops = operation.flops,
      .output_bytes = operation.output_bytes,
      .inputs = 0,
      .has_inputs = false,
      .kind = has_kind ? static_cast<char>(operation.kind) : TPCOLLECT_KIND_USER_ANNOTATION};
  DetailsWriter writer;
  writer.Put(header);
  PutInputs(operation, &header, &writer);
  writer.PutFirst(header);
  return use(*thread, RangeText{.text = NameOf(operation.name),
                                .details = writer.bytes(),
                                .form = DetailsForm::kAttributes});
}

void Begin(const char* name) {
  ThreadOperations* thread = ThreadOperations::Current();
  if (thread == nullptr) {
    ThreadOperations::CountWithoutRoom();
    return;
  }
  thread->Push(g_domain, {.text = NameOf(name), .form = DetailsForm::kAttributes});
}

// One that could not be recorded is on its thread's stack as well, if there is one.
void BeginOperation(const tpcollect_operation* told) {
  WithOperation(told, 0, [](ThreadOperations& thread, const RangeText& text) {
    return thread.Push(g_domain, text);
  });
}

void End() {
  if (ThreadOperations* thread = ThreadOperations::Current(); thread != nullptr) {
    thread->Pop(g_domain);
  }
}

uint64_t Start(const tpcollect_operation* told) {
  return WithOperation(told, uint64_t{0}, [](ThreadOperations& thread, const RangeText& text) {
    return thread.Start(g_domain, text);
  });
}

void Stop(uint64_t span) {
  if (span == 0) return;
  if (ThreadOperations* thread = ThreadOperations::Current(); thread != nullptr) thread->End(span);
}

void Counter(const char* name, double value) {
  ThreadOperations* thread = ThreadOperations::Current();
  if (thread == nullptr) {
    ThreadOperationsList::CountLostCounter();
    return;
  }
  thread->Count(NameOf(name), value);
}

constexpr tpcollect_functions kFunctions = {
    sizeof(tpcollect_functions), &Begin, &BeginOperation, &End, &Start, &Stop, &Counter};

}  // namespace

const tpcollect_functions* HeaderFunctions() {
  // Once, before anybody has the functions.
  static const tpcollect_functions* const functions = [] {
    g_domain = new Domain("tpcollect");
    return &kFunctions;
  }();
  return functions;
}

}  // namespace tp::collect
