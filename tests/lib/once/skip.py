# SPDX-License-Identifier: BSD-2-Clause
"""What a test raises that cannot run here."""


class Skip(Exception):
    """Its message says why."""
