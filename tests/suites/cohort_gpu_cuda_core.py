# SPDX-License-Identifier: Apache-2.0
"""The cohort's device by cuda.core: memory from the stream's pool, kernels by NVRTC."""
import numpy as np
from cuda.core import (Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions,
                       launch)


def compile_ptx(source, architecture):
    options = ProgramOptions(std="c++17", arch=f"sm_{architecture}")
    return Program(source, "c++", options).compile("ptx")


class Gpu:
    """A device, its stream, and the kernels of `source` by their names."""

    def __init__(self, source, names):
        self.device = Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.pinned = LegacyPinnedMemoryResource()
        module = compile_ptx(source, "".join(map(str, self.device.compute_capability)))
        self.kernels = {name: module.get_kernel(name) for name in names}

    def empty(self, count):
        """Room for `count` words."""
        return self.device.allocate(4 * count, stream=self.stream)

    def address(self, buffer):
        return int(buffer.handle)

    def copy(self, to, source):
        source.copy_to(to, stream=self.stream)

    def upload(self, array):
        buffer, staging = self.empty(array.size), self.pinned.allocate(array.nbytes)
        np.from_dlpack(staging).view(array.dtype)[:] = array.ravel()
        staging.copy_to(buffer, stream=self.stream)
        self.stream.sync()
        return buffer

    def bytes_of(self, buffer):
        staging = self.pinned.allocate(buffer.size)
        buffer.copy_to(staging, stream=self.stream)
        self.stream.sync()
        return np.from_dlpack(staging).tobytes()

    def launch(self, name, threads, *words):
        config = LaunchConfig(grid=(threads + 127) // 128, block=min(threads, 128))
        launch(self.stream, config, self.kernels[name], *words)
