"""How all code that runs inside a traced process is compiled."""

COPTS = [
    # Only the entry points are seen from outside.
    "-fvisibility=hidden",
    # protozero asserts what it is told by a peer; what a daemon sends may be anything, and none of it may end the traced process.
    "-DNDEBUG",
]
