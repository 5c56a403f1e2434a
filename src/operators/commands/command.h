/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * The command line of a command that has no verbs of its own, as main.c reads
 * it.
 */
struct command_line {
	const char *file; /* the configuration */
	bool as_json;
	bool verbose;
	bool explain;
	bool strict;
	const char *against; /* a file; NULL: not said */
	bool acl;
	bool follow;
	const char *from; /* NULL: not said */
};
