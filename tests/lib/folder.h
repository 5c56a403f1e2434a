/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* A folder of a test's own.  A failure here ends the test program. */
enum { FOLDER_MAX = 64 };

/* Makes /tmp/once-WORD-XXXXXX. */
void folder_make(const char *word, char ret_path[FOLDER_MAX]);
/* Removes it with all that it holds. */
void folder_remove(const char *path);
