# SPDX-License-Identifier: Apache-2.0
"""The cohort's device by PyCUDA: an allocation for each buffer, freed when nobody holds it. NVRTC
is cuda.core's."""
import numpy as np
import pycuda.autoprimaryctx  # the device's primary context, popped at the end
import pycuda.driver as cuda

from cohort_gpu_cuda_core import compile_ptx


class Gpu:
    """A device, its stream, and the kernels of `source` by their names."""

    def __init__(self, source, names):
        device = pycuda.autoprimaryctx.device
        self.stream = cuda.Stream()
        self.sizes = {}
        code = compile_ptx(source, "".join(map(str, device.compute_capability()))).code
        self.module = cuda.module_from_buffer(code)
        self.kernels = {name: self.module.get_function(name) for name in names}

    def empty(self, count):
        """Room for `count` words."""
        buffer = cuda.mem_alloc(4 * count)
        self.sizes[int(buffer)] = 4 * count
        return buffer

    def address(self, buffer):
        return int(buffer)

    def copy(self, to, source):
        cuda.memcpy_dtod_async(to, source, self.sizes[int(to)], self.stream)

    def upload(self, array):
        buffer = self.empty(array.size)
        cuda.memcpy_htod(buffer, np.ascontiguousarray(array))
        return buffer

    def bytes_of(self, buffer):
        self.stream.synchronize()
        content = np.empty(self.sizes[int(buffer)], np.uint8)
        cuda.memcpy_dtoh(content, buffer)
        return content.tobytes()

    def launch(self, name, threads, *words):
        self.kernels[name](*words, block=(min(threads, 128), 1, 1),
                           grid=((threads + 127) // 128, 1), stream=self.stream)
