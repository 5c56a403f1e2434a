/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/*
 * The environment, of which secrets are hidden once they were read.  Main
 * thread.
 */

/* The variable of the environment; NULL: there is none. */
const char *env_value(const char *name);
/*
 * Where the value is a secret that {"env"} names: it is taken out of the
 * environment, and env_value() still has it.
 */
void env_hide(const json_t *value);
