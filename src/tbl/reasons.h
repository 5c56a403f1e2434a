/* SPDX-License-Identifier: BSD-2-Clause */
/* REASON(name, letter, word): why a record is UNKNOWN. */
REASON(NONE, '-', "")
REASON(LEASE_EXPIRED, 'l', "lease-expired")
REASON(TIMEOUT, 't', "timeout")
REASON(BROKEN, 'b', "broken")
REASON(MALFORMED, 'm', "malformed")
REASON(STATUS, 's', "status")
REASON(DRAIN, 'd', "drain")
REASON(OPERATOR, 'o', "operator")
