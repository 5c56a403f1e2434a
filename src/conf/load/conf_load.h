/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * From the file to a struct conf: reads JSON (jansson), walks the one table
 * of options (tbl/options.h), and finds all that is wrong in one go.  It
 * opens no socket.  Main thread; the caller drops the reference that it is
 * given.
 */

/*
 * Loads a file; NULL when there is anything to complain about.  Complaints
 * come to an empty list, in the order of the file's members, and say where in
 * it they are; the caller frees them.
 *
 * With only_admin it is for who only asks the gateway that runs: of a file that
 * is not valid nothing but file, admin and admin_token means anything, beside
 * its complaints, and it has no routes; NULL where it has no admin.listen, or
 * what is wrong is about admin, and not about its tokens.
 */
MUST_USE const struct conf *conf_load(
    const char *file, bool only_admin, struct complaints *complaints);
/* The same from text; file is the name that messages have. */
MUST_USE const struct conf *conf_load_text(const char *file, struct span text,
    bool only_admin, struct complaints *complaints);
/*
 * Gives complaints of a configuration their line and column in its file, puts
 * them into the order of these, and begins the words of each with the name of
 * the entry of a list that it is about, unless they say already which it is.
 */
void conf_load_place(const struct conf *conf, struct complaints *complaints);
/* The same, logs each as that event and empties the list. */
void conf_load_log(const struct conf *conf, struct complaints *complaints,
    enum event event);
/*
 * To tell what is a default: what has nothing but defaults, and one upstream,
 * broker, source and relay of that sort, which lead nowhere.
 */
MUST_USE const struct conf *conf_load_defaults(void);
