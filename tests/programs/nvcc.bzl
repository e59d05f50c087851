"""Programs compiled by the toolkit's own nvcc, as users compile theirs."""

def nvcc_binary(name, srcs, hdrs = [], options = [], linkopts = []):
    """A program linked with the shared CUDA runtime, which the simulated one can take the place of.

    Args:
      name: of the program, and so of the file that labels refer to; the rule is called NAME_build.
      srcs: .cu files.
      hdrs: headers of the project that they include.
      options: further options of nvcc.
      linkopts: libraries, after the sources.
    """
    native.genrule(
        name = name + "_build",
        testonly = True,
        srcs = srcs + hdrs,
        outs = [name],
        cmd = "$(location @cuda//:nvcc) -O2 -std=c++17 -arch=sm_90 --cudart shared " +
              "-Wno-deprecated-gpu-targets -I. %s -o $@ %s %s" %
              (" ".join(options), " ".join(["$(location %s)" % src for src in srcs]), " ".join(linkopts)),
        executable = True,
        tools = ["@cuda//:nvcc"],
    )

def runs_on_simulated_cuda(name, program, expected, args = [], env = {}):
    """A test that a program, run on the simulated CUDA, prints exactly what a file says, and nothing on stderr.

    Args:
      name: of the test.
      program: label of the program.
      expected: the file with its standard output.
      args: its arguments.
      env: further environment variables.
    """
    settings = ["%s=%s" % (key, value) for key, value in sorted(env.items())]
    native.sh_test(
        name = name,
        srcs = ["run_and_compare.sh"],
        args = ["$(location %s)" % program, "$(location %s)" % expected] + settings + ["--"] + args,
        data = [
            expected,
            program,
            "//tests/simcuda:libcuda.so.1",
            "//tests/simcuda:libcudart.so.13",
        ],
        tags = ["preload"],
    )
