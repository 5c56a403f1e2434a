/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/span.h"
#include "conf/conf.h"

/*
 * A fuzz target is a function that takes any bytes, feeds them to a piece of
 * the program, and states with must() what holds whatever they are.  With the
 * same bytes it does the same; it keeps nothing, and touches nobody's files.
 */
#define TARGET(name, words) void fuzz_##name(struct span input);
#include "fuzz/targets.h"
#undef TARGET

struct fuzz_target {
	const char *name;
	const char *input; /* what its input is */
	void (*run)(struct span input);
};

/* In the order of their names; the last one has no name. */
extern const struct fuzz_target fuzz_targets[];
/* NULL: there is none. */
const struct fuzz_target *fuzz_find(const char *name);

/* Numbers that look random and follow from an input. */
struct dice {
	unsigned long long state;
};

struct dice dice_of(struct span input);
/* From 0 to below - 1. */
size_t dice_throw(struct dice *dice, size_t below);

/* Cuts off everything up to a byte, and the byte; all, where it is missing. */
struct span fuzz_cut(struct span *left, char byte);

/* How many of these bytes, from the first on, are right for the wire. */
struct wire;
size_t fuzz_wire_take(struct wire *wire, const char *bytes, size_t len);

/* Whether any of the bytes is in the text. */
bool fuzz_has(struct span text, struct span bytes);

/* How many fields have that name. */
size_t fuzz_count(const struct fields *fields, struct span name);

/* Whatever an upstream's URL was, a request for it can be written. */
void fuzz_asks(const struct conf_target *target);
