// What the daemon calls itself, to collectors, tools and users.
#ifndef ANALYZER_SERVE_VERSION_H_
#define ANALYZER_SERVE_VERSION_H_

namespace tp {

inline constexpr const char kDaemonVersion[] = "0.1.0";
inline constexpr unsigned kWireProtocolVersion = 1;

}  // namespace tp

#endif  // ANALYZER_SERVE_VERSION_H_
