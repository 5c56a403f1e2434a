/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * What the command line says to a command (main.c reads it), where the
 * command has no verbs of its own.
 */
struct command_line {
	const char *file; /* the configuration */
	bool as_json;
	bool verbose;
	bool explain;
	bool strict;
	const char *against; /* a file or a gateway; NULL: not said */
	bool acl;
	bool follow;
	const char *from; /* NULL: not said */
};
