/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* A temporary folder for a test.  A failure here ends the test program. */
enum { FOLDER_MAX = 64 };

/* Makes /tmp/once-WORD-XXXXXX. */
void folder_make(const char *word, char ret_path[FOLDER_MAX]);
/* Removes it with everything in it. */
void folder_remove(const char *path);
