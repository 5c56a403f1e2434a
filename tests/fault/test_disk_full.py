# SPDX-License-Identifier: BSD-2-Clause
"""The disk is full at each step, with Redis and without."""

from faults import (DiskFull, DiskFullRedisKilled, SmallDiskFull, drop_disk,
                    mount_disk)
from matrix import main, skip, torture

torture("disk full", DiskFull())
torture("disk full, Redis killed", DiskFullRedisKilled())

SMALL = "a small disk written full, Redis killed"
try:
    drop_disk(mount_disk())
except OSError as error:
    skip(SMALL, f"no file system can be mounted: {error}")
else:
    torture(SMALL, SmallDiskFull())
main()
