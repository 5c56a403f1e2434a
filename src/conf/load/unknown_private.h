/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"
#include "conf/nearest.h"

/*
 * What is said of names that do not exist: with the one that may have been
 * meant, or where it belongs.  Main thread.
 */

/*
 * A member that the object of the group, or the section that prefix leads to,
 * does not have.  "$schema" of the whole file is none of the options, and is
 * allowed.
 */
void unknown_member(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, const json_t *value);
/* A value that should be such an object, and is none. */
void unknown_shape(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at);
/* One of an object that has only the other. */
void unknown_beside(
    struct loader *l, const struct json_place *at, const char *other);
/*
 * A text whose variables are of these kinds (1 << TEMPLATE_KEY …) and that has
 * another; false, and nothing is said, where it has none such.
 */
MUST_USE bool unknown_variable(struct loader *l, const struct json_place *at,
    const char *text, unsigned kinds);
/*
 * A text that is none of the words: what it must be, they and more behind them,
 * with the nearest of them.
 */
void unknown_word(struct loader *l, const struct json_place *at,
    const char *must, const char *text, const char *words, const char *more);
/*
 * "no WHAT is named": with the nearest of those that were tried, or the only
 * one that there is; NULL where there is not just one.
 */
void unknown_name(struct loader *l, const struct json_place *at,
    const char *what, const struct nearest *nearest, const char *only);
