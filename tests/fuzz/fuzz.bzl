"""Fuzz targets of libFuzzer."""

def cc_fuzz_target(name, srcs, deps):
    """A program that fuzzes the LLVMFuzzerTestOneInput of `srcs`; docs at the head of tests/fuzz/BUILD."""
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        linkopts = ["-fsanitize=fuzzer"],
        # Needs --config=fuzz: libFuzzer is clang's.
        tags = ["manual"],
        deps = deps,
    )
