# SPDX-License-Identifier: BSD-2-Clause
"""The model of a record's life (test_model.py) where an outcome that is unknown
does not stay so: on_unknown is "retry" or "reconcile"."""

from once import tap

from searching import Model
from stories import UNKNOWN_MISTAKES, UNKNOWN_VARIANTS

MODEL = Model("once.pml")

MODEL.begin_tests(UNKNOWN_VARIANTS, UNKNOWN_MISTAKES)
tap.main()
