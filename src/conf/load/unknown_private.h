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
/*
 * What such a member was meant to be, where that is as good as certain; ptr
 * NULL: it is not, or there is a member of the name.
 */
struct span unknown_meant(
    enum group group, struct span prefix, const char *name);
/*
 * Parts of the file whose names are mistyped, such as "route": tells of each
 * and gives it in l->root the name that was meant, so that nothing is told that
 * only follows from its name.
 */
void unknown_mistyped_rename(struct loader *l);
/* All complaints are told: their pointers get the names that the file has. */
void unknown_mistyped_point(struct loader *l);
/*
 * Whether a member of that name, which does not exist, was meant to be what is
 * read of another kind of broker, while the source has nothing to read.
 */
bool unknown_mistyped_is_of(
    const struct conf_broker *broker, json_t *source, const char *name);
/* The same of one at its place: source_check() tells of it. */
bool unknown_mistyped_is_told(
    const struct loader *l, const struct json_place *at);
/*
 * The option of such an object that a text in its place may be meant for; NULL:
 * none, or there may be a password in it.  Whether it would take the text is
 * the caller's to look at.
 */
const struct option *unknown_wrapped(
    enum group group, struct span prefix, const json_t *value);
/*
 * A value that should be such an object, and is none; wrapped: the option that
 * takes it, or NULL.
 */
void unknown_shape(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, const json_t *value,
    const struct option *wrapped);
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
 * "no WHAT is named": with the nearest of those that were tried, or the only
 * one that there is; NULL where there is not just one.
 */
void unknown_name(struct loader *l, const struct json_place *at,
    const char *what, const struct nearest *nearest, const char *only);
