#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real program, bare and observed, on the software device: its results are the same bytes.

usage: clients.py CLIENT REPRISE DEVICE_FOLDER SOURCE

CLIENT is a name in CLIENTS. Its packages are what `tools/dev clients` put into
SOURCE/.cache/clients, or the distribution's; where they are not, exit status 77 and the reason.
Under `reprise run -m observe` the run must give the results of the bare one, and a trace that
`reprise info` and `reprise dump` read to its end, with the launches in it."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


class Missing(Exception):
    """Why a client can't run here."""


class Place:
    """Where things are: the build, the clients' packages, and a folder for this run."""

    def __init__(self, reprise, device, source, scratch):
        self.reprise, self.device = pathlib.Path(reprise).resolve(), pathlib.Path(device).resolve()
        self.cache = pathlib.Path(source).resolve() / ".cache"
        self.clients = self.cache / "clients"
        self.scratch = pathlib.Path(scratch)

    def digits(self):
        path = self.cache / "digits.bin"
        if not path.exists():
            raise Missing("no digits data set (tools/dev clients gets it)")
        return path

    def python(self, *modules):
        """The interpreter of the clients' environment, if it has these modules."""
        return self.interpreter(self.clients / "venv" / "bin" / "python", *modules)

    def system_python(self, *modules):
        return self.interpreter(pathlib.Path("/usr/bin/python3"), *modules)

    def interpreter(self, python, *modules):
        """A module may be there and not load, for want of a driver: finding it is enough."""
        code = ("import importlib.util as u, sys\n"
                "sys.exit(', '.join(m for m in sys.argv[1:] if not u.find_spec(m)) or 0)")
        if not python.exists():
            raise Missing(f"no {modules[0]} (tools/dev clients gets it)")
        probe = subprocess.run([python, "-c", code, *modules], capture_output=True, text=True)
        if probe.returncode:
            raise Missing(f"no Python module {probe.stderr.strip()} (tools/dev clients gets it)")
        return python


def tool(name, advice):
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin:/usr/bin")
    if not found:
        raise Missing(f"no {name} ({advice})")
    return found


# ---- clients: each gives the command that writes its results to OUTPUT, and its environment ----

def tinygrad(renderer, network, steps):
    def client(place, output):
        python = place.python("tinygrad", "numpy")
        environment = {"DEV": renderer, "CACHELEVEL": "0"}
        if renderer == "CUDA":
            environment.update(nvrtc(place))
        return [python, HERE / "tinygrad_job.py", place.digits(), output, network, str(steps)], \
            environment
    return client


def nvrtc(place):
    """NVRTC as tinygrad wants it told: the file. The toolkit's is found without."""
    found = sorted(place.clients.glob("venv/lib/python*/site-packages/nvidia/**/libnvrtc.so.*"))
    if found:
        return {"NVRTC_PATH": str(found[0])}
    if not list(pathlib.Path("/usr/local/cuda").glob("targets/*/lib/libnvrtc.so*")):
        raise Missing("no NVRTC (tools/dev clients gets it)")
    return {}


def openacc(place, output):
    compiler = tool("gcc-12", "Debian: gcc-12 gcc-12-offload-nvptx")
    program = place.scratch / "openacc_job"
    command = [compiler, "-O2", "-fopenacc", "-foffload=nvptx-none", HERE / "openacc_job.c",
               "-o", program]
    # Where there is a ptxas, GCC would check its code for devices that ptxas has forgotten.
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "PATH": "/usr/bin:/bin"})
    if done.returncode:
        raise Missing(f"gcc-12 has no offloading (Debian: gcc-12-offload-nvptx): "
                      f"{done.stderr.strip().splitlines()[0]}")
    return [program, output], {"ACC_DEVICE_TYPE": "nvidia"}


def halide(place, output):
    return [place.system_python("halide", "numpy"), HERE / "halide_job.py", output], {}


def cuda_core(place, output):
    return [place.python("cuda.core", "numpy"), HERE / "cuda_core_job.py", output], {}


def numba(place, output):
    return [place.python("numba_cuda", "numpy"), HERE / "numba_job.py", output], {}


def taichi(place, output):
    return [place.python("taichi", "numpy"), HERE / "taichi_job.py", output], {}


def triton(place, output):
    python = place.python("triton", "cuda.bindings", "numpy")
    tool("gcc", "Debian: gcc")
    return [python, HERE / "triton_job.py", output], \
        {"TRITON_PTXAS_PATH": str(HERE / "ptxas_copy"),
         "TRITON_CACHE_DIR": str(place.scratch / "triton"), "TRITON_DEFAULT_FP_FUSION": "1"}


def pycuda(place, output):
    python = place.python("pycuda", "pytest", "numpy")
    nvcc = tool("nvcc", "a CUDA toolkit")
    tests = place.clients / "pycuda" / "test"
    if not tests.exists():
        raise Missing("no source of PyCUDA (tools/dev clients gets it)")
    kernels = place.clients / "pycuda-kernels"
    kernels.mkdir(exist_ok=True)
    path = os.pathsep.join([str(HERE / "nvcc_to_ptx"), os.environ["PATH"],
                            str(pathlib.Path(nvcc).parent)])
    # Tests of arrays past 2**32 bytes skip themselves on a small device.
    return [python, HERE / "pycuda_job.py", tests, output], \
        {"PATH": path, "PYCUDA_CACHE_DIR": str(kernels), "REPRISE_SOFT_MEMORY": "1GiB"}


CLIENTS = {
    "tinygrad-ptx-mlp": tinygrad("CUDA:PTX", "mlp", 12),
    "tinygrad-ptx-cnn": tinygrad("CUDA:PTX", "cnn", 6),
    "tinygrad-nvrtc-mlp": tinygrad("CUDA", "mlp", 12),
    "tinygrad-nvrtc-cnn": tinygrad("CUDA", "cnn", 6),
    "openacc": openacc,
    "halide": halide,
    "cuda-core": cuda_core,
    "numba": numba,
    "taichi": taichi,
    "triton": triton,
    "pycuda": pycuda,
}


# ---- runs ------------------------------------------------------------------------------------

def clean_environment(changes):
    """The present environment without anything of reprise."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("REPRISE_") and name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    return {**kept, **changes}


def links_to(library, folder):
    """A folder that shows `library` under the names that programs look for a driver by."""
    folder.mkdir(exist_ok=True)
    for name in ("libcuda.so", "libcuda.so.1"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(library)
    return folder


def run(title, command, environment):
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                          text=True, errors="replace")
    print(f"{title}: {time.monotonic() - start:.1f} s, exit status {done.returncode}")
    for line in (done.stdout + done.stderr).splitlines()[-12:]:
        print(f"  {line}")
    return done


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "nothing"


DAMAGED = 65


def told(place, trace):
    """What `reprise info` tells of a trace, and the exit status of it and of `reprise dump`."""
    info = subprocess.run([place.reprise, "info", "--json", trace], capture_output=True, text=True)
    dump = subprocess.run([place.reprise, "dump", trace], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    for name, done in (("info", info), ("dump", dump)):
        if done.returncode:
            return None, done.returncode, f"reprise {name}: exit status {done.returncode}: " \
                                          f"{done.stderr.strip()}"
    return json.loads(info.stdout), 0, None


def launches_in(story):
    return sum(story.get("calls", {}).get(name, 0) for name in ("cuLaunchKernel", "cuLaunchGrid",
                                                        "cuLaunchGridAsync", "cuLaunchKernelEx"))


def read_back(place, folder):
    """What the traces say of the run; a complaint when one can't be read or none has a launch.
    A process that was killed leaves a trace without an end, which is said with an exit status
    of its own: tinygrad ends its compiling processes so. Those launch nothing."""
    verdicts, unknown, launches = {}, set(), 0
    for trace in sorted(folder.glob("*.rpt")):
        story, status, complaint = told(place, trace)
        if status == DAMAGED:
            print(f"a process was killed: {complaint}")
            continue
        if complaint:
            return complaint
        launches += launches_in(story)
        unknown.update(story.get("unknown", []))
        for name, kernel in story.get("kernels", {}).items():
            verdicts.setdefault(kernel["verdict"], []).append(name)
    for verdict, names in sorted(verdicts.items()):
        some = ", ".join(name[:40] for name in names[:4])
        print(f"writes {verdict}: {len(names)} kernels, {some}"
              + (" ..." if len(names) > 4 else ""))
    for name in sorted(unknown):
        print(f"unknown: {name}")
    return None if launches else "no trace that can be read to its end has a launch"


def compare(name, place):
    """The complaints about one client; none when it is well."""
    results = {}
    for how in ("bare", "observed"):
        results[how] = place.scratch / f"{how}.out"
        command, changes = CLIENTS[name](place, results[how])
        environment = clean_environment(changes)
        trace = place.scratch / "trace"
        if how == "bare":
            environment["LD_LIBRARY_PATH"] = str(links_to(place.device / "libcuda.so.1",
                                                          place.scratch / "driver"))
        else:
            command = [place.reprise, "run", "-m", "observe", "--device", "soft", "-o", trace,
                       "--", *command]
        if run(how, command, environment).returncode:
            return [f"{how}: the client failed"]
    complaints = []
    if digest(results["bare"]) != digest(results["observed"]) or not results["bare"].exists():
        complaints.append("the observed run has other results than the bare one")
    complaints.append(read_back(place, trace))
    return [complaint for complaint in complaints if complaint]


def main():
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            complaints = compare(name, Place(*sys.argv[2:5], scratch))
        except Missing as missing:
            print(f"skipped: {missing}")
            sys.exit(SKIPPED)
    for complaint in complaints:
        print(f"{name}: {complaint}", file=sys.stderr)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
