/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

/*
 * The targets for libFuzzer, which has the main().  ONCE_FUZZ names the one
 * to run; the environment reaches the processes that libFuzzer starts, too.
 */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const struct fuzz_target *target;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("ONCE_FUZZ");

	(void)argc;
	(void)argv;
	target = name ? fuzz_find(name) : NULL;
	if (target)
		return 0;
	fprintf(stderr, "ONCE_FUZZ has to name a target:\n");
	for (const struct fuzz_target *t = fuzz_targets; t->name; t++)
		fprintf(stderr, "  %-8s %s\n", t->name, t->input);
	exit(2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	target->run(span_of(bytes, len));
	return 0;
}
