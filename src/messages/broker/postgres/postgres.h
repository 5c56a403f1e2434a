/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/driver.h"

/*
 * The driver of an outbox in a table of PostgreSQL (libpq).  It never has a
 * transaction open while a message is worked on: rows are read, and a finished
 * one is deleted or marked, with what is put, in one statement.  What keeps two
 * gateways from reading one row is a session's advisory lock on the row's part
 * (postgres_parts.c).  Such a lock ends with its connection, and calls do not:
 * then two gateways may have one row in hand, and it is the record that decides
 * who executes it, and the row who acknowledges it.
 */
extern const struct driver postgres_driver;
