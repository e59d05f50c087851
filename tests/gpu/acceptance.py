"""The checks of tests/gpu_acceptance.sh, over a folder that it filled: runs them in turn and prints one table.

Exit status: 0 if nothing that was checked is wrong, 1 if something is, 2 if nothing could be checked.
"""

import argparse
import collections
import ctypes
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RIGHT, WRONG, LEFT_OUT = "right", "WRONG", "left out"

# Steps that are compared with PyTorch's profiler, and those of a round of timing.
COMPARED_STEPS = 20
TIMED_STEPS = 50
ROUNDS = 5
# Device times of two runs of the same steps differ: clocks and neighbours do.
DEVICE_TIME_TOLERANCE = 0.15
PATIENCE_S = 240


class Report:
    """Rows of the table at the end."""

    def __init__(self):
        self.rows = []

    def add(self, what, result, seen):
        self.rows.append((what, result, seen))
        print(f"[{result}] {what}: {seen}", file=sys.stderr, flush=True)

    def print(self):
        width = [max(len(row[column]) for row in self.rows) for column in range(2)]
        for what, result, seen in self.rows:
            print(f"{what:<{width[0]}}  {result:<{width[1]}}  {seen}")

    def status(self):
        results = {row[1] for row in self.rows}
        return 1 if WRONG in results else 0 if RIGHT in results else 2


class Machine:
    """Where things are: what was built, CUDA's libraries, a daemon of our own."""

    def __init__(self, built, simulated):
        self.built = built
        self.folder = tempfile.mkdtemp(prefix="tp-acceptance-")
        self.socket = os.path.join(self.folder, "tpd.sock")
        home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        of_cuda = [os.path.join(home, "lib64"), os.path.join(home, "extras/CUPTI/lib64")]
        if simulated:
            of_cuda = [os.path.join(built, "tests/simcuda")]
        given = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
        # A simulated driver must not lose against a real one, nor a driver's own folder against the toolkit's stubs.
        self.cuda_libraries = ":".join(of_cuda + given if simulated else given + of_cuda)
        # PyTorch brings its own CUDA libraries, and those are to be found; they do not work on the simulated driver, and some of
        # their CUPTIs crash on it.
        self.beside_torch = {}
        if simulated:
            driver = os.path.join(self.folder, "driver")
            os.mkdir(driver)
            os.symlink(os.path.join(built, "tests/simcuda/libcuda.so.1"), os.path.join(driver, "libcuda.so.1"))
            self.beside_torch = {"LD_LIBRARY_PATH": driver, "LD_PRELOAD": os.path.join(built, "tests/simcuda/libcupti.so.13")}
        self.daemon = subprocess.Popen(
            [self.path("tools/tpd"), "--foreground", "--socket", self.socket], env=self.tool_environment(),
            stderr=open(os.path.join(self.folder, "tpd.log"), "w"))
        wait_until(lambda: self.tpctl("daemon", "status").returncode == 0, "tpd listens")

    def path(self, name):
        return os.path.join(self.built, name)

    def tool_environment(self):
        libraries = self.path("libraries") + ":" + self.cuda_libraries
        return dict(os.environ, TP_SOCKET=self.socket, LD_LIBRARY_PATH=libraries)

    def program_environment(self, traced, more):
        environment = dict(os.environ, TP_SOCKET=self.socket, **more)
        if traced:
            environment["LD_PRELOAD"] = ":".join([self.path("collector/libtpcollect.so"), *environment.get("LD_PRELOAD", "").split()])
        return environment

    def tpctl(self, *arguments):
        return subprocess.run([self.path("tools/tpctl"), *arguments], env=self.tool_environment(), capture_output=True, text=True)

    def table(self, *arguments):
        done = self.tpctl("table", "--format", "json", "--row-limit", "-1", *arguments)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)

    def process(self, pid):
        listed = json.loads(self.tpctl("ps", "--format", "json").stdout)
        return next((row for row in listed["rows"] if row["pid"] == pid), None)

    def close(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()
        shutil.rmtree(self.folder)


def wait_until(holds, what):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {PATIENCE_S} s in vain: {what}")
        time.sleep(0.05)


class Training:
    """A training.py that runs, and does what it is told."""

    def __init__(self, machine, python, device, traced, **more):
        self.log = open(os.path.join(machine.folder, "training.log"), "a")
        environment = machine.program_environment(traced, {**machine.beside_torch, **more})
        self.process = subprocess.Popen([python, machine.path("training.py"), "--device", device], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    @property
    def pid(self):
        return self.process.pid

    def tell(self, command):
        """The answer; raises if the program is dead."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"training.py ended ({self.process.wait()}): {open(self.log.name).read()[-500:]}")
        return json.loads(answer)

    def close(self):
        """Its exit status."""
        if self.process.poll() is None:
            self.process.stdin.write("end\n")
            self.process.stdin.close()
        status = self.process.wait(PATIENCE_S)
        self.log.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def kernels_of_trace(path):
    """Count and total ns of each kernel in a Chrome trace of PyTorch's profiler."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kernels = collections.defaultdict(lambda: [0, 0])
    for event in events:
        if event.get("cat") == "kernel":
            kernels[event["name"]][0] += 1
            kernels[event["name"]][1] += round(float(event["dur"]) * 1000)
    return dict(kernels)


def kernels_of_table(table):
    return {row["name"]: [row["count"], row["total_ns"]] for row in table["rows"] if row["kind"] == "k"}


def compare_kernels(ours, theirs):
    """Result and what was seen."""
    if not theirs or not ours:
        return WRONG, f"{len(ours)} kernels of ours, {len(theirs)} of PyTorch's: nothing to compare"
    counted = lambda kernels: {name: count for name, (count, _) in kernels.items()}
    if counted(ours) != counted(theirs):
        differing = sorted(name for name in ours.keys() | theirs.keys()
                           if counted(ours).get(name, 0) != counted(theirs).get(name, 0))
        first = differing[0]
        return WRONG, (f"{len(differing)} kernels differ in number, e.g. {first[:60]}: ours {counted(ours).get(first, 0)}, "
                       f"PyTorch's {counted(theirs).get(first, 0)}")
    total = lambda kernels: sum(ns for _, ns in kernels.values())
    ratio = total(ours) / total(theirs)
    return (RIGHT if abs(ratio - 1) <= DEVICE_TIME_TOLERANCE else WRONG,
            f"{sum(counted(ours).values())} kernels of {len(ours)} names, same numbers; device time {total(ours) / 1e6:.2f} ms, "
            f"{ratio:.3f} of PyTorch's")


def check_machine(machine, report, simulated):
    if simulated:
        report.add("machine", LEFT_OUT, "SIMULATED CUDA: nothing below says anything of a GPU")
        return
    driver = ctypes.CDLL("libcuda.so.1")
    version, name, count = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_int()
    driver.cuInit(0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetCount(ctypes.byref(count))
    driver.cuDeviceGetName(name, 256, 0)
    report.add("machine", RIGHT, f"{count.value} x {name.value.decode()}, driver for CUDA {version.value // 1000}.{version.value % 1000 // 10}")


def check_tests(machine, report):
    """The end-to-end tests, against the libraries of this machine."""
    folder = machine.path("tests/end_to_end")
    environment = dict(os.environ)
    if machine.cuda_libraries != machine.path("tests/simcuda"):
        environment["TP_TEST_CUDA_LIBRARIES"] = machine.cuda_libraries + ":" + machine.path("libraries")
    for test in sorted(name for name in os.listdir(folder) if name.endswith("_test")):
        try:
            done = subprocess.run([os.path.join(folder, test)], cwd=machine.built, env=environment, capture_output=True, text=True,
                                  errors="replace", timeout=PATIENCE_S)
            output, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as expired:
            output, status = (expired.stdout or b"").decode(errors="replace"), f"not done in {PATIENCE_S} s"
        number = lambda pattern: int((re.findall(pattern, output) or ["0"])[-1])
        passed, skipped = number(r"\[  PASSED  \] (\d+) test"), number(r"\[  SKIPPED \] (\d+) test")
        failed = sorted(set(re.findall(r"\[  FAILED  \] ([\w./]+\.\w+)", output)))
        seen = f"{passed} passed, {len(failed)} failed, {skipped} skipped"
        if failed:
            seen += ": " + ", ".join(failed)
        elif status != 0:
            seen += f" ({status})"
        if status != 0:
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix=f"tp-acceptance-{test}-", suffix=".log", delete=False) as log:
                log.write(output)
            seen += f"; see {log.name}"
        report.add(test, WRONG if status != 0 else LEFT_OUT if passed == 0 else RIGHT, seen)


def check_same_steps(machine, python, device, report):
    """Our kernel table of some steps, and PyTorch's of the same."""
    with Training(machine, python, device, traced=True, TP_COLLECT="dormant") as job:
        job.tell("steps 5")
        started = machine.tpctl("start", str(job.pid))
        if started.returncode != 0:
            report.add("start of capturing", WRONG, started.stderr.strip())
            return
        job.tell(f"steps {COMPARED_STEPS}")
        machine.tpctl("stop", str(job.pid))
        ours = machine.table("--view", "kernels", "--pid", str(job.pid))
        operations = {row["name"]: row for row in machine.table("--pid", str(job.pid))["rows"]}
        status = job.close()
    report.add("PyTorch, traced", RIGHT if status == 0 else WRONG, f"exit status {status}")
    step = operations.get("step", {"count": 0, "device_time_total_ns": 0})
    total = ours["totals"]["device_time_total_ns"]
    report.add("its ranges", RIGHT if step["count"] == COMPARED_STEPS and step["device_time_total_ns"] == total else WRONG,
               f"{step['count']} of {COMPARED_STEPS} steps, {step['device_time_total_ns']} of {total} ns of device time in them")
    report.add("losses", WRONG if ours["losses"] else RIGHT, json.dumps(ours["losses"]))

    trace = os.path.join(machine.folder, "alone.json")
    with Training(machine, python, device, traced=False) as job:
        job.tell("steps 5")
        job.tell(f"profile {COMPARED_STEPS} {trace}")
    report.add("kernels, ours and PyTorch's", *compare_kernels(kernels_of_table(ours), kernels_of_trace(trace)))

    # Both in one process: PyTorch's sees what it saw alone, and ours goes on afterwards.
    beside = os.path.join(machine.folder, "beside.json")
    with Training(machine, python, device, traced=True) as job:
        job.tell("steps 5")
        job.tell(f"profile {COMPARED_STEPS} {beside}")
        result, seen = compare_kernels(kernels_of_trace(beside), kernels_of_trace(trace))
        report.add("PyTorch's profiler beside us", result, seen)
        # Capturing goes on once the other one has let go, which it need not do as long as it lives.
        state = machine.process(job.pid)
        before = sum(count for count, _ in kernels_of_table(machine.table("--view", "kernels", "--pid", str(job.pid))).values())
        time.sleep(2)
        job.tell(f"steps {COMPARED_STEPS}")
        after = sum(count for count, _ in kernels_of_table(machine.table("--view", "kernels", "--pid", str(job.pid))).values())
        then = machine.process(job.pid)
        said = f"{state['state']} {state['reason']}".strip(), f"{then['state']} {then['reason']}".strip()
        goes_on = after > before or then["state"] == "waiting"
        report.add("we, after it", RIGHT if goes_on else WRONG, f"{before}, then {after} kernels; {said[0]}, then {said[1]}")


def check_attach(machine, python, device, report):
    if not re.search(r"^\s+attach\b", machine.tpctl("--help").stdout, re.MULTILINE):
        report.add("attach", LEFT_OUT, "this tpctl has none")
        return
    with Training(machine, python, device, traced=False) as job:
        job.tell("steps 5")
        attached = machine.tpctl("attach", str(job.pid))
        if attached.returncode != 0:
            report.add("attach", WRONG, attached.stderr.strip())
            return
        job.tell(f"steps {COMPARED_STEPS}")
        kernels = kernels_of_table(machine.table("--view", "kernels", "--pid", str(job.pid)))
        detached = machine.tpctl("detach", str(job.pid))
        job.tell("steps 5")
        status = job.close()
    good = kernels and detached.returncode == 0 and status == 0
    report.add("attach", RIGHT if good else WRONG,
               f"{sum(count for count, _ in kernels.values())} kernels seen; detach: {detached.returncode}, exit status {status}")


def measure_launches(machine, report):
    """A kernel's launch on an application thread, in turn untraced, dormant and captured."""
    ways = {"untraced": (False, {}), "dormant": (True, {"TP_COLLECT": "dormant"}), "captured": (True, {})}
    medians = collections.defaultdict(list)
    for _ in range(ROUNDS):
        for way, (traced, more) in ways.items():
            done = subprocess.run([machine.path("tests/launch_cost")], env=machine.program_environment(traced, {"LD_LIBRARY_PATH": machine.cuda_libraries, **more}),
                                  capture_output=True, text=True, timeout=PATIENCE_S)
            if done.returncode != 0:
                report.add("cost of a launch", WRONG, f"{way}: exit status {done.returncode} {done.stderr.strip()}")
                return
            medians[way].append(float(done.stdout.split()[0]))
    middle = {way: statistics.median(values) for way, values in medians.items()}
    report.add("cost of a launch", RIGHT,
               ", ".join(f"{way} {ns:.0f} ns ({ns / middle['untraced']:.2f})" for way, ns in middle.items()))


def measure_training(machine, python, device, report):
    """A step of training, in turn untraced, dormant, captured, and under PyTorch's profiler."""
    steps = TIMED_STEPS if device == "cuda" else 2
    trace = os.path.join(machine.folder, "timed.json")
    ways = {"untraced": (False, {}), "dormant": (True, {"TP_COLLECT": "dormant"}), "captured": (True, {}),
            "PyTorch's profiler": (False, {})}
    jobs = {way: Training(machine, python, device, traced, **more) for way, (traced, more) in ways.items()}
    step_ns = collections.defaultdict(list)
    try:
        for job in jobs.values():
            job.tell("steps 10")
        for _ in range(ROUNDS):
            for way, job in jobs.items():
                profiled = way == "PyTorch's profiler"
                taken = job.tell(f"profile {steps} {trace}" if profiled else f"steps {steps}")
                step_ns[way].append(taken["total_ns"] / taken["steps"])
    finally:
        for job in jobs.values():
            job.__exit__()
    middle = {way: statistics.median(values) for way, values in step_ns.items()}
    report.add("cost of a step", RIGHT,
               ", ".join(f"{way} {ns / 1e3:.0f} us ({ns / middle['untraced']:.3f})" for way, ns in middle.items()))


def find_torch(device):
    """A python with a torch that sees the device, or why there is none."""
    python = os.environ.get("TP_TEST_TORCH_PYTHON") or shutil.which("python3")
    question = "import torch, sys; sys.exit(0 if sys.argv[1] == 'cpu' or torch.cuda.is_available() else 'its torch sees no GPU')"
    asked = subprocess.run([python, "-c", question, device], capture_output=True, text=True)
    if asked.returncode == 0:
        return python, ""
    return None, f"{python}: {(asked.stderr.strip().splitlines() or ['failed'])[-1]}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--built", required=True)
    arguments.add_argument("--simulated", action="store_true")
    arguments = arguments.parse_args()
    report = Report()
    machine = Machine(os.path.abspath(arguments.built), arguments.simulated)
    # The simulated CUDA runs no PyTorch: its CPU stands in, so that this script can be tried.
    device = "cpu" if arguments.simulated else "cuda"
    try:
        check_machine(machine, report, arguments.simulated)
        checks = [("tests", lambda: check_tests(machine, report)), ("cost of a launch", lambda: measure_launches(machine, report))]
        python, why_not = find_torch(device)
        if python is None:
            report.add("PyTorch", LEFT_OUT, why_not)
        else:
            checks += [("same steps", lambda: check_same_steps(machine, python, device, report)),
                       ("attach", lambda: check_attach(machine, python, device, report)),
                       ("cost of a step", lambda: measure_training(machine, python, device, report))]
        for name, check in checks:
            try:
                check()
            except Exception as failure:  # One check that breaks must not hide the others' results.
                report.add(name, WRONG, f"{type(failure).__name__}: {failure}")
    finally:
        machine.close()
    print()
    if arguments.simulated:
        print("SIMULATED CUDA, no GPU: the script was tried, nothing else.")
    report.print()
    return report.status()


if __name__ == "__main__":
    sys.exit(main())
