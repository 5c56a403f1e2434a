/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/field.h"
#include "gate/machine.h"
#include "http/front/problem.h"

/*
 * A request to the admin interface is answered once, with JSON, a problem or
 * other bytes.  Each of these functions moves the request to the step ANSWER
 * and returns what a step then returns.  Main thread.
 */
struct admin_request;

/* Answers with JSON, to which the reference is taken. */
enum after admin_answer_json(
    struct admin_request *a, int status, json_t *json);
/* Answers with a problem; an empty detail is the problem's own. */
enum after admin_answer_problem(
    struct admin_request *a, enum problem problem, struct span detail);
/* Answers with any bytes; the body is taken. */
enum after admin_answer_bytes(
    struct admin_request *a, int status, struct span type, struct body *body);
/* Answers that the request is wrong, as the message says. */
enum after admin_answer_bad_request(
    struct admin_request *a, const char *message);
/*
 * Answers that what is asked for conflicts with what is, as a sentence says;
 * another says behind it that nothing was changed.
 */
enum after admin_answer_refused(
    struct admin_request *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * Answers that Redis did not answer, or refused, as that op has failed; rest
 * stands behind these words.
 */
enum after admin_answer_store_failed(
    struct admin_request *a, const struct op *op, const char *rest);

/* Ends the log's line about an operator's act with the note, and who acts. */
struct logline;
void admin_answer_log(const struct admin_request *a, struct logline *line);
