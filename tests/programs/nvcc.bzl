"""Programs compiled by the toolkit's own nvcc, as users compile theirs."""

def nvcc_binary(name, srcs, hdrs = [], options = [], libraries = [], linkopts = []):
    """A program linked with the shared CUDA runtime, which the simulated one can take the place of.

    Args:
      name: of the program, and so of the file that labels refer to; the rule is called NAME_build.
      srcs: .cu files.
      hdrs: headers of the project that they include.
      options: further options of nvcc.
      libraries: files that linkopts name.
      linkopts: libraries, after the sources.
    """
    native.genrule(
        name = name + "_build",
        testonly = True,
        srcs = srcs + hdrs + libraries,
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

def nvcc_library(name, srcs, version_script, hdrs = []):
    """A shared library with device code, linked as nvcc_binary links programs; its name is its soname.

    Args:
      name: of the file; the rule is called NAME_build.
      srcs: .cu files.
      version_script: what it exports.
      hdrs: headers of the project that they include.
    """
    native.genrule(
        name = name + "_build",
        testonly = True,
        srcs = srcs + hdrs + [version_script],
        outs = [name],
        cmd = "$(location @cuda//:nvcc) -O2 -std=c++17 -arch=sm_90 --cudart shared -Wno-deprecated-gpu-targets " +
              "-shared -Xcompiler -fPIC -Xlinker -soname,%s -Xlinker --version-script=$(location %s) -I. -o $@ %s" %
              (name, version_script, " ".join(["$(location %s)" % src for src in srcs])),
        tools = ["@cuda//:nvcc"],
    )
