# SPDX-License-Identifier: BSD-2-Clause
"""The model of a record's life, searched by spin: whatever happens, the
promises are kept, and each mistake that somebody might make breaks one.  Where
on_unknown is something else than "hold": test_model_unknown.py."""

from once import tap
from once.tap import each, equal, test

from searching import Model
from stories import (LIMITS, MISTAKES, UNKNOWN_MISTAKES, UNKNOWN_VARIANTS,
                     VARIANTS)

# The largest search takes 15 s of one processor, if it has that to itself.
tap.LIMIT_S = 300

MODEL = Model("once.pml")


@each(VARIANTS)
def every_promise_is_kept(bench, macros):
    MODEL.is_kept(bench, macros)


@each(MISTAKES)
def a_mistake_is_found(bench, macros, promise):
    MODEL.is_broken(bench, macros, promise)


@each(LIMITS)
def no_gateway_can_help_it(bench, macros, promise):
    MODEL.is_broken(bench, macros, promise)


@test
def every_macro_of_the_model_is_tried(bench):
    rows = (*VARIANTS, *MISTAKES, *LIMITS, *UNKNOWN_VARIANTS,
            *UNKNOWN_MISTAKES)
    equal(MODEL.macros(), {macro for _, macros, *_ in rows
                           for macro in macros.split()})


@test
def every_promise_is_broken_by_some_mistake(bench):
    equal({promise for *_, promise in (*MISTAKES, *UNKNOWN_MISTAKES)},
          MODEL.promises())


tap.main()
