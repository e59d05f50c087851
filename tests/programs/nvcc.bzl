"""Programs compiled by the toolkit's own nvcc, as users compile theirs."""

def nvcc_binary(name, srcs, options = [], linkopts = []):
    """A program linked with the shared CUDA runtime, which the simulated one can take the place of.

    Args:
      name: of the target and of the program.
      srcs: .cu files.
      options: further options of nvcc.
      linkopts: libraries, after the sources.
    """
    native.genrule(
        name = name,
        testonly = True,
        srcs = srcs,
        outs = [name + ".bin"],
        cmd = "$(location @cuda//:nvcc) -O2 -std=c++17 -arch=sm_90 --cudart shared -Wno-deprecated-gpu-targets %s -o $@ $(SRCS) %s" %
              (" ".join(options), " ".join(linkopts)),
        executable = True,
        tools = ["@cuda//:nvcc"],
    )
