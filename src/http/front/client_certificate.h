/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * The certificate that a client presented and that its address verified; of
 * nothing where there is none.  It lives as long as the exchange.
 */
struct client_certificate {
	struct span fingerprint; /* SHA-256 of all of it (DER), in hex */
	struct span subject;     /* as RFC 4514 writes it */
};
