# SPDX-License-Identifier: BSD-2-Clause
"""The model of an entity (serialize, newer_only), searched by spin."""

from once import tap

from searching import Model

MODEL = Model("entity.pml")

VARIANTS = [
    ("on_unknown is hold", ""),
    ("on_unknown is retry", "RETRY"),
    ("its slot moves", "MOVES"),
    ("its slot moves, on_unknown is retry", "MOVES RETRY"),
]

MISTAKES = [
    ("a claim that does not look who holds the entity holds it too",
     "NO_HOLDER", "ALONE"),
    ("a claim that looks in a step of its own holds it too",
     "LOOK_FIRST", "ALONE"),
    ("a version compared in a step of its own may be stale by then",
     "LOOK_FIRST", "NEWER"),
    ("renewing a lease that is over takes back what another key holds",
     "RENEW_LATE", "ALONE"),
    ("an UNKNOWN record that holds its entity holds it for ever",
     "HOLD_UNKNOWN", "FREE"),
    ("a version that is not compared again may be stale by then",
     "RETRY COMPARE_ONCE", "NEWER"),
    ("a version raised in a step of its own lets an older one pass",
     "RAISE_LATER", "NEWER"),
    ("a version raised in a step of its own may never be raised",
     "RAISE_LATER", "RISING"),
    ("a version that is not compared when it is raised falls",
     "RAISE_BLINDLY", "RISING"),
    ("a holder that is on another server and taken for none holds nothing",
     "MOVES APART_IS_NONE", "ALONE"),
    ("a version that is on another server and taken for none is not compared",
     "MOVES APART_IS_NONE", "NEWER"),
    ("a version raised on another server than the entity's is forgotten",
     "MOVES RAISE_APART", "RISING"),
    ("an operator's completion that raises nothing lets an older one pass",
     "OPERATOR_FORGETS", "NEWER"),
]

MODEL.begin_tests(VARIANTS, MISTAKES)
MODEL.begin_tests_of_rows(VARIANTS, MISTAKES)
tap.main()
