#include "proto/socket_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace tp {

bool DaemonSocketPath(char (&path)[kSocketPathBytes]) {
  int length;
  const char* named = getenv("TP_SOCKET");
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (named != nullptr && named[0] != '\0') {
    length = snprintf(path, sizeof(path), "%s", named);
  } else if (geteuid() == 0) {
    length = snprintf(path, sizeof(path), "/run/tp/tpd.sock");
  } else if (runtime != nullptr && runtime[0] == '/') {
    length = snprintf(path, sizeof(path), "%s/tp/tpd.sock", runtime);
  } else {
    length = snprintf(path, sizeof(path), "/tmp/tp-%u/tpd.sock", geteuid());
  }
  return length > 0 && static_cast<size_t>(length) < sizeof(path);
}

}  // namespace tp
