# SPDX-License-Identifier: BSD-2-Clause
"""What the black-box tests share: real processes and raw sockets."""
