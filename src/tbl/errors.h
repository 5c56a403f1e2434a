/* SPDX-License-Identifier: BSD-2-Clause */
/* ERROR(name, words): the expected failures, one line each. */
ERROR(CANCELLED, "given up by the one who asked")
ERROR(CLIENT_GONE, "the client left")
ERROR(CLOSED, "the connection was closed")
ERROR(MALFORMED, "malformed")
ERROR(NO_MEMORY, "the memory set aside for bodies is used up")
ERROR(RESOLVE, "the name has no address")
ERROR(STORE_DOWN, "Redis is out of reach")
ERROR(STORE_REFUSED, "Redis refused the command")
ERROR(TIMEOUT, "the time is up")
ERROR(TLS, "the TLS handshake failed")
ERROR(TOO_LARGE, "too large")
ERROR(UNREACHABLE, "no connection")
