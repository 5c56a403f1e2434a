# SPDX-License-Identifier: BSD-2-Clause
"""What the black-box tests are made of: real processes and raw sockets."""
