/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * STATE(name, letter, sentence): the states of a record, the letter that is its
 * third byte, and the manual's sentence.
 */
STATE(PROCESSING, 'P', "A gateway has claimed the key and owns it until its "
	"lease ends; it renews the lease while the request is in flight.")
STATE(COMPLETED, 'C', "The answer is stored, and every retry gets it.")
STATE(UNKNOWN, 'U', "The request may or may not have been executed; on_unknown "
	"says what a retry does.")
STATE(FAILED, 'F', "max_attempts is used up; nothing more is sent until an "
	"operator releases or completes the key.")
STATE(RELEASED, 'R', "Nothing happened, and the next request with the key "
	"executes. Only the number of attempts is remembered; such records are "
	"not listed.")
