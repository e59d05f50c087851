// What the injector tells the collector that it has brought into a process, or found there.
#ifndef PROTO_ATTACH_H_
#define PROTO_ATTACH_H_

#include <cstddef>
#include <cstdint>

namespace tp {

// The name of the file that the library is brought in by: /proc/PID/maps shows it.
inline constexpr char kAttachedLibrary[] = "libtpcollect.so";

// Plain memory, copied by the entry point before it returns. Later versions only grow it.
struct AttachArguments {
  uint32_t struct_bytes;
  // One end of a stream; whoever attaches has the other and gives it to the daemon. Becomes the
  // collector's. Negative: there is none, and the collector connects by the path.
  int32_t socket;
  int64_t duration_ns;    // Capturing ends by itself after it, and we leave; 0: not.
  char socket_path[108];  // Where the daemon listens: when the connection has ended.
  char activities[256];   // As in TP_ACTIVITIES; empty: what that says in the process.
};

// extern "C" int TensorProfAttach(const AttachArguments*), to be called on a thread of its own that
// is nobody else's. 0: the collector has taken over, and greets on the socket (wire.proto). Else
// nothing was begun; a line that says why, after kAttachRefusal, has been written to the socket,
// which is closed.
using AttachFunction = int (*)(const AttachArguments*);
inline constexpr char kAttachFunction[] = "TensorProfAttach";
inline constexpr char kAttachRefusal[] = "TPE1";

}  // namespace tp

#endif  // PROTO_ATTACH_H_
