/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * Of a text that json_read() does not take, what is wrong in it and where: a
 * sentence about its file, which the caller frees.  It names no value of it:
 * keys are secrets.  Main thread.
 */
char *token_fault_words(struct span text);
