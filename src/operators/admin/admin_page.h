/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * People get a page (src/operators/admin/page/).  It has no data and is the
 * same for everybody: it asks for all it shows by its own requests, each with
 * the token.  So where the token is missing, the answer to GET / is 401 and is
 * the page all the same: a browser cannot be made to send a token with the
 * address that is typed into it, and the page has the field where it is
 * entered.  Main thread.
 */
struct admin_request;

/* Answers GET /, with the token or without. */
enum after admin_page(struct admin_request *a);

/*
 * Made by make from src/operators/admin/page/: HTML with one <style> and one
 * <script>.
 */
extern const char admin_page_text[];
