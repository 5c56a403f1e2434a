/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"

_Noreturn void
must_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "onceproxy: bug: %s does not hold (%s:%d)\n",
	    condition, file, line);
	abort();
}
