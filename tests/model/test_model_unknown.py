# SPDX-License-Identifier: BSD-2-Clause
"""The model of a record's life (test_model.py) where an outcome that is unknown
does not stay so: on_unknown is "retry" or "reconcile"."""

from once import tap
from once.tap import each

from searching import Model
from stories import UNKNOWN_MISTAKES, UNKNOWN_VARIANTS

# The largest search takes 15 s of one processor, if it has that to itself.
tap.LIMIT_S = 300

MODEL = Model("once.pml")


@each(UNKNOWN_VARIANTS)
def every_promise_is_kept(bench, macros):
    MODEL.is_kept(bench, macros)


@each(UNKNOWN_MISTAKES)
def a_mistake_is_found(bench, macros, promise):
    MODEL.is_broken(bench, macros, promise)


tap.main()
