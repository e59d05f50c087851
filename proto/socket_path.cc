#include "proto/socket_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace tp {
namespace {

bool IsNamed() {
  const char* named = getenv("TP_SOCKET");
  return named != nullptr && named[0] != '\0';
}

}  // namespace

bool DaemonSocketPath(char (&path)[kSocketPathBytes]) {
  int length;
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (IsNamed()) {
    length = snprintf(path, sizeof(path), "%s", getenv("TP_SOCKET"));
  } else if (geteuid() == 0) {
    length = snprintf(path, sizeof(path), "%s", kMachineSocketPath);
  } else if (runtime != nullptr && runtime[0] == '/') {
    length = snprintf(path, sizeof(path), "%s/tp/tpd.sock", runtime);
  } else {
    length = snprintf(path, sizeof(path), "/tmp/tp-%u/tpd.sock", geteuid());
  }
  return length > 0 && static_cast<size_t>(length) < sizeof(path);
}

bool FindDaemonSocket(char (&path)[kSocketPathBytes], const char* machine_path) {
  if (!DaemonSocketPath(path)) return false;
  if (IsNamed() || access(path, F_OK) == 0 || access(machine_path, F_OK) != 0) return true;
  const int length = snprintf(path, sizeof(path), "%s", machine_path);
  return length > 0 && static_cast<size_t>(length) < sizeof(path);
}

}  // namespace tp
