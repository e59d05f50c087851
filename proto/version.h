// The release that all parts are of, and the language that collector and daemon speak.
#ifndef PROTO_VERSION_H_
#define PROTO_VERSION_H_

namespace tp {

inline constexpr char kVersion[] = "0.1.0";
inline constexpr unsigned kWireProtocolVersion = 1;  // wire.proto's Hello.protocol_version.

}  // namespace tp

#endif  // PROTO_VERSION_H_
