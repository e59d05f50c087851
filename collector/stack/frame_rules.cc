#include "collector/stack/frame_rules.h"

#include <cstring>

namespace tp::collect {
namespace {

// DWARF's numbers of registers on x86-64.
constexpr uint64_t kRbpNumber = 6, kRspNumber = 7, kReturnNumber = 16;
// How pointers are written (DW_EH_PE_...).
constexpr uint8_t kAbsolute = 0x00, kUnsigned4 = 0x03, kSigned4 = 0x0b, kSigned8 = 0x0c;
constexpr uint8_t kFormatMask = 0x0f, kApplicationMask = 0x70, kFromHere = 0x10, kOmitted = 0xff;
constexpr uint8_t kFromTable4 = 0x3b;  // Signed, 4 bytes, from the table's begin on.
constexpr int kMostRemembered = 8;
constexpr int kMostInstructions = 1000;

// Steps through bytes that lie in a module; what would leave them is zero, and makes it fail.
class Cursor {
 public:
  Cursor(uintptr_t at, uintptr_t end) : at_(at), end_(end) {}

  template <typename T>
  T Take() {
    T value{};
    if (end_ - at_ < sizeof(T)) {
      Fail();
    } else {
      memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
      at_ += sizeof(T);
    }
    return value;
  }
  uint64_t TakeUnsigned() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = Take<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  int64_t TakeSigned() {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
      byte = Take<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  uint64_t TakePointer(uint8_t encoding) {
    const uintptr_t here = at_;
    uint64_t value = 0;
    switch (encoding & kFormatMask) {
      case kAbsolute:
      case kSigned8:
        value = Take<uint64_t>();
        break;
      case kUnsigned4:
        value = Take<uint32_t>();
        break;
      case kSigned4:
        value = static_cast<uint64_t>(int64_t{Take<int32_t>()});
        break;
      default:
        Fail();
    }
    const uint8_t application = encoding & kApplicationMask;
    if (application == kFromHere) return value + here;
    if (application != 0) Fail();
    return value;
  }
  void Skip(uint64_t bytes) {
    if (bytes > end_ - at_) {
      Fail();
    } else {
      at_ += bytes;
    }
  }
  void Fail() {
    failed_ = true;
    at_ = end_;
  }

  uintptr_t at() const { return at_; }
  uintptr_t end() const { return end_; }
  bool done() const { return at_ == end_; }
  bool failed() const { return failed_; }

 private:
  uintptr_t at_, end_;
  bool failed_ = false;
};

Cursor In(const LoadedObject& object, uintptr_t at) {
  return at >= object.begin && at <= object.end ? Cursor(at, object.end)
                                                : Cursor(object.end, object.end);
}

// The content of the entry of .eh_frame at `at`.
Cursor Entry(const LoadedObject& object, uintptr_t at) {
  Cursor cursor = In(object, at);
  const auto length = cursor.Take<uint32_t>();
  // A terminator, or the 64-bit form, which nobody writes.
  if (length == 0 || length == UINT32_MAX || length > cursor.end() - cursor.at()) cursor.Fail();
  return Cursor(cursor.at(), cursor.failed() ? cursor.at() : cursor.at() + length);
}

// The entry for `pc` by the sorted table of .eh_frame_hdr; 0: there is none.
uintptr_t FindEntry(const LoadedObject& object, uintptr_t pc) {
  Cursor header = In(object, object.frame_header);
  const auto version = header.Take<uint8_t>();
  const auto frame_encoding = header.Take<uint8_t>();
  const auto count_encoding = header.Take<uint8_t>();
  const auto table_encoding = header.Take<uint8_t>();
  if (version != 1 || count_encoding != kUnsigned4 || table_encoding != kFromTable4) return 0;
  header.TakePointer(frame_encoding);
  const auto count = header.Take<uint32_t>();
  struct Row {
    int32_t code, entry;
  };
  if (header.failed() || count == 0 || count > (header.end() - header.at()) / sizeof(Row)) return 0;
  const uintptr_t rows = header.at();
  const auto wanted = static_cast<int64_t>(pc - object.frame_header);
  const auto row = [&](uint32_t index) {
    Row found;
    memcpy(&found, reinterpret_cast<const void*>(rows + index * sizeof(Row)), sizeof(Row));
    return found;
  };
  uint32_t first = 0, last = count;  // The one wanted is before `last`.
  while (last - first > 1) {
    const uint32_t middle = first + (last - first) / 2;
    (row(middle).code <= wanted ? first : last) = middle;
  }
  const Row found = row(first);
  if (found.code > wanted) return 0;
  return object.frame_header + static_cast<uintptr_t>(int64_t{found.entry});
}

// What an entry shares with others.
struct Common {
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint8_t pointer_encoding = kAbsolute;
  bool has_augmentation = false;
  Cursor instructions{0, 0};
};

bool ReadCommon(const LoadedObject& object, uintptr_t at, Common* common) {
  Cursor cursor = Entry(object, at);
  if (cursor.Take<uint32_t>() != 0) return false;
  const auto version = cursor.Take<uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8];
  size_t letters = 0;
  for (char letter; (letter = cursor.Take<char>()) != '\0'; ++letters) {
    if (letters == sizeof(augmentation)) return false;
    augmentation[letters] = letter;
  }
  common->code_alignment = cursor.TakeUnsigned();
  common->data_alignment = cursor.TakeSigned();
  const uint64_t return_register = version == 1 ? cursor.Take<uint8_t>() : cursor.TakeUnsigned();
  if (cursor.failed() || return_register != kReturnNumber) return false;
  if (letters > 0 && augmentation[0] != 'z') return false;
  common->has_augmentation = letters > 0;
  if (common->has_augmentation) {
    const uint64_t bytes = cursor.TakeUnsigned();
    Cursor data = cursor;
    cursor.Skip(bytes);
    for (size_t i = 1; i < letters; ++i) {
      if (augmentation[i] == 'R') {
        common->pointer_encoding = data.Take<uint8_t>();
      } else if (augmentation[i] == 'L') {
        data.Take<uint8_t>();
      } else if (augmentation[i] == 'P') {
        // Of a pointer to a pointer only the way to it is read.
        data.TakePointer(data.Take<uint8_t>() & 0x7f);
      } else {
        return false;  // 'S': a signal's frame.
      }
    }
    if (data.failed()) return false;
  }
  common->instructions = cursor;
  return !cursor.failed();
}

// Where a register of the caller is.
struct Place {
  enum class Kind : uint8_t { kSame, kAtCfa, kAtRbp, kLost } kind = Kind::kSame;
  int64_t offset = 0;
};

struct State {
  uint64_t cfa_register = kRspNumber;
  int64_t cfa_offset = 0;
  bool is_behind_rbp = false;  // The CFA is the value at rbp + cfa_offset.
  bool is_cfa_known = false;
  Place rbp, return_address;
};

class Program {
 public:
  Program(const Common& common, uintptr_t code, uintptr_t pc)
      : common_(common), location_(code), pc_(pc) {}

  // False: it cannot be followed. Stops at the instruction that is for code behind pc.
  bool Run(Cursor instructions) {
    for (int i = 0; !instructions.done(); ++i) {
      if (i == kMostInstructions) return false;
      if (!Step(instructions)) return false;
      if (location_ > pc_) return true;
    }
    return !instructions.failed();
  }
  void KeepAsInitial() { initial_ = state_; }
  const State& state() const { return state_; }

 private:
  bool Step(Cursor& cursor) {
    const auto code = cursor.Take<uint8_t>();
    const uint8_t low = code & 0x3f;
    switch (code >> 6) {
      case 1:
        return Advance(low);
      case 2:
        return Put(low, Place::Kind::kAtCfa, Factored(cursor.TakeUnsigned()));
      case 3:
        return Restore(low);
      default:
        return StepExtended(low, cursor);
    }
  }

  bool StepExtended(uint8_t code, Cursor& cursor) {
    uint64_t number = 0;
    switch (code) {
      case 0x00:  // nop
        return true;
      case 0x02:  // advance_loc1, 2, 4
        return Advance(cursor.Take<uint8_t>());
      case 0x03:
        return Advance(cursor.Take<uint16_t>());
      case 0x04:
        return Advance(cursor.Take<uint32_t>());
      case 0x05:  // offset_extended
        number = cursor.TakeUnsigned();
        return Put(number, Place::Kind::kAtCfa, Factored(cursor.TakeUnsigned()));
      case 0x06:  // restore_extended
        return Restore(cursor.TakeUnsigned());
      case 0x07:  // undefined
        return Put(cursor.TakeUnsigned(), Place::Kind::kLost, 0);
      case 0x08:  // same_value
        return Put(cursor.TakeUnsigned(), Place::Kind::kSame, 0);
      case 0x09:  // register
        number = cursor.TakeUnsigned();
        cursor.TakeUnsigned();
        return Put(number, Place::Kind::kLost, 0);
      case 0x0a:  // remember_state
        if (remembered_ == kMostRemembered) return false;
        stack_[remembered_++] = state_;
        return true;
      case 0x0b:  // restore_state
        if (remembered_ == 0) return false;
        state_ = stack_[--remembered_];
        return true;
      case 0x0c:  // def_cfa
        number = cursor.TakeUnsigned();
        return DefineCfa(number, static_cast<int64_t>(cursor.TakeUnsigned()));
      case 0x12:  // def_cfa_sf
        number = cursor.TakeUnsigned();
        return DefineCfa(number, Factored(static_cast<uint64_t>(cursor.TakeSigned())));
      case 0x0d:  // def_cfa_register
        return DefineCfa(cursor.TakeUnsigned(), state_.cfa_offset);
      case 0x0e:  // def_cfa_offset
        return DefineCfa(state_.cfa_register, static_cast<int64_t>(cursor.TakeUnsigned()));
      case 0x13:  // def_cfa_offset_sf
        return DefineCfa(state_.cfa_register, Factored(static_cast<uint64_t>(cursor.TakeSigned())));
      case 0x0f:  // def_cfa_expression
        return DefineCfaBehindRbp(Expression(cursor));
      case 0x10:  // expression
        number = cursor.TakeUnsigned();
        return PutAtRbp(number, Expression(cursor));
      case 0x11:  // offset_extended_sf
        number = cursor.TakeUnsigned();
        return Put(number, Place::Kind::kAtCfa,
                   Factored(static_cast<uint64_t>(cursor.TakeSigned())));
      case 0x14:  // val_offset, val_offset_sf
      case 0x15:
        number = cursor.TakeUnsigned();
        cursor.TakeUnsigned();
        return Put(number, Place::Kind::kLost, 0);
      case 0x16:  // val_expression
        number = cursor.TakeUnsigned();
        Expression(cursor);
        return Put(number, Place::Kind::kLost, 0);
      case 0x2e:  // GNU_args_size
        cursor.TakeUnsigned();
        return true;
      default:
        return false;
    }
  }

  bool Advance(uint64_t delta) {
    location_ += delta * common_.code_alignment;
    return true;
  }
  int64_t Factored(uint64_t offset) const {
    return static_cast<int64_t>(offset * static_cast<uint64_t>(common_.data_alignment));
  }
  bool Put(uint64_t number, Place::Kind kind, int64_t offset) {
    if (Place* place = PlaceOf(number)) *place = {kind, offset};
    return true;
  }
  bool Restore(uint64_t number) {
    if (number == kRbpNumber) state_.rbp = initial_.rbp;
    if (number == kReturnNumber) state_.return_address = initial_.return_address;
    return true;
  }
  bool DefineCfa(uint64_t number, int64_t offset) {
    state_.cfa_register = number;
    state_.cfa_offset = offset;
    state_.is_behind_rbp = false;
    state_.is_cfa_known = number == kRbpNumber || number == kRspNumber;
    return true;
  }
  // Functions that align their stack keep its old end behind rbp: breg6 OFFSET, deref.
  bool DefineCfaBehindRbp(Cursor expression) {
    state_.is_cfa_known = expression.Take<uint8_t>() == 0x76;
    state_.cfa_offset = expression.TakeSigned();
    state_.is_behind_rbp = true;
    state_.is_cfa_known &= expression.Take<uint8_t>() == 0x06 && expression.done();
    return true;
  }
  // Likewise: breg6 OFFSET.
  bool PutAtRbp(uint64_t number, Cursor expression) {
    const bool is_known = expression.Take<uint8_t>() == 0x76;
    const int64_t offset = expression.TakeSigned();
    const bool is_at_rbp = is_known && expression.done() && !expression.failed();
    return Put(number, is_at_rbp ? Place::Kind::kAtRbp : Place::Kind::kLost, offset);
  }
  static Cursor Expression(Cursor& cursor) {
    const uint64_t bytes = cursor.TakeUnsigned();
    const uintptr_t begin = cursor.at();
    cursor.Skip(bytes);
    return Cursor(begin, cursor.failed() ? begin : cursor.at());
  }
  Place* PlaceOf(uint64_t number) {
    if (number == kRbpNumber) return &state_.rbp;
    return number == kReturnNumber ? &state_.return_address : nullptr;
  }

  const Common& common_;
  uintptr_t location_;
  uintptr_t pc_;
  State state_, initial_;
  State stack_[kMostRemembered];
  int remembered_ = 0;
};

bool IsSmall(int64_t offset) { return offset == static_cast<int32_t>(offset); }

bool MakeRule(const State& state, FrameRule* rule) {
  if (!state.is_cfa_known || !IsSmall(state.cfa_offset) || !IsSmall(state.rbp.offset)) return false;
  rule->cfa_offset = static_cast<int32_t>(state.cfa_offset);
  rule->base = state.is_behind_rbp                ? FrameRule::Base::kBehindRbp
               : state.cfa_register == kRbpNumber ? FrameRule::Base::kRbp
                                                  : FrameRule::Base::kRsp;
  rule->rbp_offset = static_cast<int32_t>(state.rbp.offset);
  switch (state.rbp.kind) {
    case Place::Kind::kSame:
      rule->rbp = FrameRule::Rbp::kSame;
      break;
    case Place::Kind::kAtCfa:
      rule->rbp = FrameRule::Rbp::kAtCfa;
      break;
    case Place::Kind::kAtRbp:
      rule->rbp = FrameRule::Rbp::kAtRbp;
      break;
    case Place::Kind::kLost:
      rule->rbp = FrameRule::Rbp::kLost;
      break;
  }
  const Place& back = state.return_address;
  if (back.kind == Place::Kind::kLost) {
    rule->return_offset = 0;
    return true;
  }
  if (back.kind != Place::Kind::kAtCfa || !IsSmall(back.offset) || back.offset == 0) return false;
  rule->return_offset = static_cast<int32_t>(back.offset);
  return true;
}

}  // namespace

bool FindRule(const LoadedObject& object, uintptr_t pc, FrameRule* rule) {
  const uintptr_t entry_at = FindEntry(object, pc);
  if (entry_at == 0) return false;
  Cursor entry = Entry(object, entry_at);
  const uintptr_t common_from = entry.at();
  const auto common_offset = entry.Take<uint32_t>();
  Common common;
  if (common_offset == 0 || !ReadCommon(object, common_from - common_offset, &common)) return false;
  if (common.pointer_encoding == kOmitted) return false;
  const uint64_t code = entry.TakePointer(common.pointer_encoding);
  const uint64_t code_bytes = entry.TakePointer(common.pointer_encoding & kFormatMask);
  if (entry.failed() || pc < code || pc - code >= code_bytes) return false;
  if (common.has_augmentation) entry.Skip(entry.TakeUnsigned());
  Program program(common, code, pc);
  if (!program.Run(common.instructions)) return false;
  program.KeepAsInitial();
  return program.Run(entry) && MakeRule(program.state(), rule);
}

}  // namespace tp::collect
