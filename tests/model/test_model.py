# SPDX-License-Identifier: BSD-2-Clause
"""The model of a record's life, searched by spin: whatever happens, the
promises are kept, and each mistake that somebody might make breaks one.  Where
on_unknown is something else than "hold": test_model_unknown.py."""

from once import tap

from searching import Model
from stories import (LIMITS, MISTAKES, UNKNOWN_MISTAKES, UNKNOWN_VARIANTS,
                     VARIANTS)

MODEL = Model("once.pml")

MODEL.begin_tests(VARIANTS, MISTAKES, LIMITS)
MODEL.begin_tests_of_rows((*VARIANTS, *UNKNOWN_VARIANTS),
                          (*MISTAKES, *UNKNOWN_MISTAKES), LIMITS)
tap.main()
