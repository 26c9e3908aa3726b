# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits that the jobs of the cohort train on (tools/develop/fetch_digits.py)."""
import struct

import numpy as np


def read_digits(path):
    """Images of 64 pixels from 0 to 1, and their digits."""
    data = path.read_bytes()
    assert data[:8] == b"digits8\n", f"{path}: no digits"
    count, pixels = struct.unpack_from("<II", data, 8)
    rows = np.frombuffer(data, np.uint8, offset=16).reshape(count, pixels + 1)
    return rows[:, :-1].astype(np.float32) / 16, rows[:, -1].astype(np.int32)
