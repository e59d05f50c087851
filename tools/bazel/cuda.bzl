"""The CUDA toolkit as the repository @cuda."""

def _cuda_toolkit_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    path = ctx.path(home)
    if path.get_child("include").get_child("cupti.h").exists:
        include = path.get_child("include")
    elif path.get_child("extras").get_child("CUPTI").get_child("include").get_child("cupti.h").exists:
        fail(("%s keeps CUPTI under extras/CUPTI: this toolkit is older than CUDA 12. " +
              "Install a newer one and set CUDA_HOME to it.") % home)
    else:
        fail(("no CUDA toolkit with CUPTI headers in %s: collector/ and tests/ need its headers and nvcc. " +
              "Install cuda-toolkit (CUDA 12 or later, from NVIDIA) and set CUDA_HOME to it.") % home)
    ctx.symlink(include, "include")
    ctx.symlink(path, "toolkit")
    ctx.symlink(Label("//tools/bazel:cuda.BUILD"), "BUILD")
    ctx.file("nvcc.sh", "#!/bin/sh\nexec %s \"$@\"\n" % path.get_child("bin").get_child("nvcc"), executable = True)
    ctx.file("location.bzl", "CUDA_HOME = \"%s\"\n" % home)

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME"],
    local = True,
)
