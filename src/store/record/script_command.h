/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/record/function_library.h"
#include "store/record/script.h"
#include "store/redis/resp.h"

/*
 * How a command begins that runs a script.  It knows neither what the script
 * does nor who asks.  Pure; any thread.
 */
enum script_as {
	SCRIPT_AS_NAME, /* EVALSHA, or FCALL of the function */
	SCRIPT_AS_TEXT, /* EVAL; of functions the same as SCRIPT_AS_NAME */
	SCRIPT_AS_READER, /* FCALL of the function that only reads */
};

/*
 * Begins a command that runs the script: n_args arguments follow, of which the
 * first is the number of keys.  library: NULL where scripts are run by their
 * text.
 */
void script_command_begin(struct resp *command,
    const struct script_names *names, const struct function_library *library,
    enum script script, enum script_as as, size_t n_args);
