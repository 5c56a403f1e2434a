/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <curl/curl.h>

/*
 * How a server that is connected to with TLS is verified, and how that is said
 * to libcurl: its certificate, its name, TLS 1.2 or newer.  Any thread.
 */

/* The authorities are those of the file ca alone; NULL: the system's. */
void trust_set(CURL *easy, const char *ca);
