# SPDX-License-Identifier: Apache-2.0
"""The trace that the tests of export and report tell: one segment with its replay."""

CALLS = """\
property pid {pid}
property command {command}
define enter cuMemAlloc_v2 call:UINT dptr:HEX bytesize:BYTES
define leave cuMemAlloc_v2 call:UINT result:SINT dptr:HEX
define enter cuMemFree_v2 call:UINT dptr:HEX
define leave cuMemFree_v2 call:UINT result:SINT
define enter cuLaunchKernel call:UINT f:HEX hStream:HEX
define leave cuLaunchKernel call:UINT result:SINT
define enter cuMemcpyHtoDAsync_v2 call:UINT hStream:HEX
define leave cuMemcpyHtoDAsync_v2 call:UINT result:SINT
"""
STORY = """\
note step step=1
enter cuMemAlloc_v2 1 0x7fff10 4096
note allocation allocation=1 kind=device bytes=4096 address=0x7f0000001000 seq=1
leave cuMemAlloc_v2 1 0 0x7f0000001000
note segment segment=block key=one phase=forward%20begins step=1 instance=1
enter cuMemAlloc_v2 2 0x7fff10 1024
note allocation allocation=2 kind=pool bytes=1024 address=0x7f0000002000 seq=2
leave cuMemAlloc_v2 2 0 0x7f0000002000
enter cuLaunchKernel 3 0x9 0x55d0
note preserve instance=1 allocation=1 offset=16 bytes=64 version=3 writer=bn_forward stream=0x55d0
note access seq=3 allocation=1 offset=0 bytes=4096 effect=write verdict=exact version=3
note launch seq=3 kernel=bn_forward stream=0x55d0 step=1 index=0 grid_x=8 verdict=exact
leave cuLaunchKernel 3 0
note segment segment=block key=one phase=forward%20ends step=1 instance=1
enter cuMemFree_v2 4 0x7f0000002000
note free allocation=2 seq=4
leave cuMemFree_v2 4 0
enter cuMemcpyHtoDAsync_v2 5 0x0
leave cuMemcpyHtoDAsync_v2 5 0
note segment segment=block key=one phase=replay%20begins step=1 instance=1
enter cuLaunchKernel 6 0x9 0x55d0
note restore instance=1 allocation=1 offset=16 bytes=64 version=3
note launch seq=5 kernel=bn_forward stream=0x55d0 step=1 index=1 grid_x=8 verdict=exact
leave cuLaunchKernel 6 0
note reinstate instance=1 allocation=1 offset=16 bytes=64
note segment segment=block key=one phase=replay%20ends step=1 instance=1
note hazard hazard=stale-read segment=block buffer=odd"name allocation=1 offset=0 bytes=4 step=1
note gap lost=3
enter cuLaunchKernel 7 0xa 0x55d0
"""
