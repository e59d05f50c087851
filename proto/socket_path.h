// Where the daemon listens, as collector, daemon and tpctl all find it.
#ifndef PROTO_SOCKET_PATH_H_
#define PROTO_SOCKET_PATH_H_

#include <cstddef>

namespace tp {

// A Unix socket's path with its final zero byte has to fit into sockaddr_un::sun_path.
inline constexpr size_t kSocketPathBytes = 108;

// Writes the path into `path`: $TP_SOCKET, else tpd.sock in /run/tp (root), $XDG_RUNTIME_DIR/tp, or
// /tmp/tp-UID. False if it does not fit. Reads the environment, allocates nothing.
bool DaemonSocketPath(char (&path)[kSocketPathBytes]);

}  // namespace tp

#endif  // PROTO_SOCKET_PATH_H_
