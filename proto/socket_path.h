// Where the daemon listens, as collector, daemon and tpctl all find it: that of the user, or else
// the machine's, which root runs for everybody.
#ifndef PROTO_SOCKET_PATH_H_
#define PROTO_SOCKET_PATH_H_

#include <cstddef>

namespace tp {

// A Unix socket's path with its final zero byte has to fit into sockaddr_un::sun_path.
inline constexpr size_t kSocketPathBytes = 108;

// Where a daemon that this user starts listens: $TP_SOCKET, else tpd.sock in /run/tp (root),
// $XDG_RUNTIME_DIR/tp, or /tmp/tp-UID. False if it does not fit into `path`. Reads the environment,
// allocates nothing.
bool DaemonSocketPath(char (&path)[kSocketPathBytes]);

// Root's own, and with that the machine's.
inline constexpr char kMachineSocketPath[] = "/run/tp/tpd.sock";

// Where to connect to one: the same place, or the machine's where only that is there and $TP_SOCKET
// names no other. Looks at the file system; allocates nothing.
bool FindDaemonSocket(char (&path)[kSocketPathBytes],
                      const char* machine_path = kMachineSocketPath);

}  // namespace tp

#endif  // PROTO_SOCKET_PATH_H_
