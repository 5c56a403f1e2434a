/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What clients of well-known APIs count on, so that the gateway's own answers
 * are ones that they know.
 *
 * PRESET(name, word, field, sentence, members): the JSON of the members of
 * `idempotency` that it stands for; field is that of an answer which says
 * "true" where the same request should be sent again, "false" where that
 * changes nothing; "" for none.
 *
 * PRESET_SAYS(name, problem, members): what the body of a problem has of that
 * API's own: by its type (tbl/problems.h), else by the class of its status.
 * "$detail", "$name", "$code" (the name as OUTCOME_UNKNOWN) and "$request_id"
 * are filled in.  An unknown outcome is never one that the API has for a
 * refused request: a client must not take it for "nothing happened", nor for
 * a reason to use another key.
 *
 * Sources, as read in 2026, stand before each.  Where the API says nothing, the
 * gateway's defaults stay.
 */

/*
 * https://docs.stripe.com/api/idempotent_requests: header, 255 characters, 24
 * hours; 500 is stored; a conflict with another request is not (outcomes 409).
 * https://docs.stripe.com/api/errors: types; idempotency_error is another
 * request with the same key.  https://docs.stripe.com/error-codes:
 * idempotency_key_in_use, which has 409 and, as the API sent it,
 * invalid_request_error (github.com/woocommerce/woocommerce-gateway-stripe,
 * pull request 503).  stripe-node, Error.js: only 400 and 404 become a
 * StripeIdempotencyError; RequestSender.js: Stripe-Should-Retry goes before its
 * own rule, by which it sends 409 and 5xx again.
 */
PRESET(STRIPE, "stripe", "Stripe-Should-Retry",
	"As the API of Stripe has them (docs.stripe.com, Idempotent requests); "
	"stripe-node has a StripeIdempotencyError for a key of another "
	"request.",
	{"header": "Idempotency-Key",
	 "max_length": 255,
	 "retention": "24h",
	 "outcomes": {"409": "release"},
	 "problems": {"in-flight": 409, "key-reused": 400}})
PRESET_SAYS(STRIPE, "in-flight",
	{"error": {"type": "invalid_request_error",
		"code": "idempotency_key_in_use", "message": "$detail"}})
PRESET_SAYS(STRIPE, "key-reused",
	{"error": {"type": "idempotency_error", "code": "$name",
		"message": "$detail"}})
PRESET_SAYS(STRIPE, "outcome-unknown",
	{"error": {"type": "api_error", "code": "$name",
		"message": "$detail"}})
PRESET_SAYS(STRIPE, "attempts-exhausted",
	{"error": {"type": "api_error", "code": "$name",
		"message": "$detail"}})
PRESET_SAYS(STRIPE, "response-not-kept",
	{"error": {"type": "api_error", "code": "$name",
		"message": "$detail"}})
PRESET_SAYS(STRIPE, "4xx",
	{"error": {"type": "invalid_request_error", "code": "$name",
		"message": "$detail"}})
PRESET_SAYS(STRIPE, "5xx",
	{"error": {"type": "api_error", "code": "$name",
		"message": "$detail"}})

/*
 * https://docs.adyen.com/development-resources/api-idempotency: header, 64
 * characters, 31 days at least; while the first is in progress 422 or 409 with
 * the error code 704 and "transient-error: true", which means: later, with the
 * same key.  422 is also what validation has, so it is 409 here.  Nothing is
 * said of another request with the same key, so the status is the gateway's.
 * That an answer has the key in a field of its own is the API's doing, as for
 * any field of its answers: it is stored and given with the rest.
 * https://docs.adyen.com/development-resources/api-credentials: X-API-Key, or
 * Basic authorization.  Its OpenAPI (github.com/Adyen/adyen-openapi,
 * ServiceError): status, errorCode, message and errorType, which is
 * validation, security, internal or configuration.
 */
PRESET(ADYEN, "adyen", "transient-error",
	"As the API of Adyen has them (docs.adyen.com, API idempotency); the "
	"error code is 704 while the first request is in flight.",
	{"header": "Idempotency-Key",
	 "max_length": 64,
	 "retention": "31d",
	 "scope": ["X-API-Key", "Authorization"],
	 "outcomes": {"409": "release"},
	 "problems": {"in-flight": 409}})
PRESET_SAYS(ADYEN, "in-flight",
	{"errorCode": "704", "errorType": "validation", "message": "$detail"})
PRESET_SAYS(ADYEN, "outcome-unknown",
	{"errorCode": "$name", "errorType": "internal", "message": "$detail"})
PRESET_SAYS(ADYEN, "attempts-exhausted",
	{"errorCode": "$name", "errorType": "internal", "message": "$detail"})
PRESET_SAYS(ADYEN, "response-not-kept",
	{"errorCode": "$name", "errorType": "internal", "message": "$detail"})
PRESET_SAYS(ADYEN, "token-invalid",
	{"errorCode": "$name", "errorType": "security", "message": "$detail"})
PRESET_SAYS(ADYEN, "4xx",
	{"errorCode": "$name", "errorType": "validation",
		"message": "$detail"})
PRESET_SAYS(ADYEN, "5xx",
	{"errorCode": "$name", "errorType": "internal", "message": "$detail"})

/*
 * https://developer.paypal.com/api/rest/reference/idempotency: header; a retry
 * gets the latest status; 5xx may be sent again with the same one, so a 500 is
 * no outcome (outcomes 500).  github.com/paypal/paypal-rest-api-specifications:
 * 108 characters (checkout_orders_v2); 6 hours to 45 days, the longest here
 * (payments_payment_v2); 409 RESOURCE_CONFLICT with the issue
 * PREVIOUS_REQUEST_IN_PROGRESS; 400 with the issue PAYPAL_REQUEST_ID_REQUIRED;
 * name, message, debug_id and details.  400 DUPLICATE_REQUEST_ID:
 * https://developer.paypal.com/docs/api/payments/v1/#errors, as the API sent
 * it in github.com/paypal/PayPal-Java-SDK, issue 369.
 */
PRESET(PAYPAL, "paypal", "",
	"As the REST APIs of PayPal have them (developer.paypal.com, "
	"Idempotency). Its access tokens are renewed, so name the tenant by "
	"something else in scope.",
	{"header": "PayPal-Request-Id",
	 "max_length": 108,
	 "retention": "45d",
	 "unknown_retention": "45d",
	 "outcomes": {"409": "release", "500": "unknown"},
	 "problems": {"in-flight": 409, "key-reused": 400,
		"key-missing": 400}})
PRESET_SAYS(PAYPAL, "in-flight",
	{"name": "RESOURCE_CONFLICT", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "PREVIOUS_REQUEST_IN_PROGRESS",
			"description": "$detail"}]})
PRESET_SAYS(PAYPAL, "key-reused",
	{"name": "DUPLICATE_REQUEST_ID", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "DUPLICATE_REQUEST_ID",
			"description": "$detail"}]})
PRESET_SAYS(PAYPAL, "key-missing",
	{"name": "INVALID_REQUEST", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "PAYPAL_REQUEST_ID_REQUIRED",
			"description": "$detail"}]})
PRESET_SAYS(PAYPAL, "outcome-unknown",
	{"name": "INTERNAL_SERVER_ERROR", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "$code", "description": "$detail"}]})
PRESET_SAYS(PAYPAL, "attempts-exhausted",
	{"name": "RESOURCE_CONFLICT", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "$code", "description": "$detail"}]})
PRESET_SAYS(PAYPAL, "response-not-kept",
	{"name": "RESOURCE_CONFLICT", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "$code", "description": "$detail"}]})
PRESET_SAYS(PAYPAL, "4xx",
	{"name": "INVALID_REQUEST", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "$code", "description": "$detail"}]})
PRESET_SAYS(PAYPAL, "5xx",
	{"name": "INTERNAL_SERVER_ERROR", "message": "$detail",
		"debug_id": "$request_id",
		"details": [{"issue": "$code", "description": "$detail"}]})

/*
 * https://developer.squareup.com/docs/build-basics/, common-api-patterns/
 * idempotency: the key is the body's idempotency_key; another request with it
 * is an error.  Its length is left to the API, since each request has its own
 * (github.com/square/square-python-sdk, doc/models: 45 for a payment, 192 for a
 * payment link), and one limit would refuse what the API takes; how long it is
 * kept is not said, so the retention is the gateway's.
 * The same, general-considerations/handling-errors: errors with category, code,
 * detail and field.  A 429 or 5xx is to be sent again with the same key
 * (github.com/woocommerce/woocommerce-square, issue 106), so a 500 is no
 * outcome.  The square package of npm, ErrorCode: IDEMPOTENCY_KEY_REUSED, which
 * has 400 and the category INVALID_REQUEST_ERROR; MISSING_REQUIRED_PARAMETER,
 * CONFLICT, GATEWAY_TIMEOUT, SERVICE_UNAVAILABLE.  PAYMENT_METHOD_ERROR, a
 * declined card, is none of ours.
 */
PRESET(SQUARE, "square", "",
	"As the APIs of Square have them (developer.squareup.com, "
	"Idempotency): the key is a member of the body.",
	{"derive_key": ["/idempotency_key"],
	 "outcomes": {"500": "unknown"},
	 "problems": {"key-reused": 400, "key-missing": 400}})
PRESET_SAYS(SQUARE, "in-flight",
	{"errors": [{"category": "INVALID_REQUEST_ERROR", "code": "CONFLICT",
		"detail": "$detail", "field": "idempotency_key"}]})
PRESET_SAYS(SQUARE, "key-reused",
	{"errors": [{"category": "INVALID_REQUEST_ERROR",
		"code": "IDEMPOTENCY_KEY_REUSED",
		"detail": "$detail", "field": "idempotency_key"}]})
PRESET_SAYS(SQUARE, "key-missing",
	{"errors": [{"category": "INVALID_REQUEST_ERROR",
		"code": "MISSING_REQUIRED_PARAMETER",
		"detail": "$detail", "field": "idempotency_key"}]})
PRESET_SAYS(SQUARE, "key-invalid",
	{"errors": [{"category": "INVALID_REQUEST_ERROR",
		"code": "INVALID_VALUE",
		"detail": "$detail", "field": "idempotency_key"}]})
PRESET_SAYS(SQUARE, "outcome-unknown",
	{"errors": [{"category": "API_ERROR", "code": "GATEWAY_TIMEOUT",
		"detail": "$detail"}]})
PRESET_SAYS(SQUARE, "attempts-exhausted",
	{"errors": [{"category": "API_ERROR", "code": "CONFLICT",
		"detail": "$detail"}]})
PRESET_SAYS(SQUARE, "response-not-kept",
	{"errors": [{"category": "API_ERROR", "code": "CONFLICT",
		"detail": "$detail"}]})
PRESET_SAYS(SQUARE, "4xx",
	{"errors": [{"category": "INVALID_REQUEST_ERROR",
		"code": "BAD_REQUEST", "detail": "$detail"}]})
PRESET_SAYS(SQUARE, "5xx",
	{"errors": [{"category": "API_ERROR", "code": "SERVICE_UNAVAILABLE",
		"detail": "$detail"}]})

/*
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/:
 * the key is a string of structured fields (RFC 8941), 400 without one, 422 for
 * another request with it, 409 while the first is in flight, all of them
 * problem documents (RFC 9457), which is what the gateway answers anyway.
 */
PRESET(IETF, "ietf", "",
	"As the draft of the IETF has them (The Idempotency-Key HTTP Header "
	"Field): keys are quoted.",
	{"header": "Idempotency-Key",
	 "key_format": "quoted",
	 "problems": {"in-flight": 409, "key-reused": 422,
		"key-missing": 400}})

/*
 * github.com/agentic-commerce-protocol/agentic-commerce-protocol, rfcs/
 * rfc.agentic_checkout.md, 3.1 and 6: the header, which all answers to a POST
 * repeat, 255 characters, 24 hours; keys of another endpoint, as its path says,
 * are unrelated; bodies are compared as JSON, headers not at all; 400, 422 and
 * 409 with codes of their own and Retry-After.  A 5xx must not be stored, and a
 * retry after it is a new request: so nothing here that is unknown is a 5xx, or
 * after one of the API executed again; it is in flight until it is resolved.
 * spec/.../openapi.agentic_checkout.yaml, Error: type, code, message and param,
 * no other members; type is invalid_request, processing_error or
 * service_unavailable.
 */
PRESET(ACP, "acp", "",
	"As the Agentic Commerce Protocol has them (agenticcommerce.dev, "
	"Agentic Checkout, section 6): an outcome that is unknown is in flight "
	"until it is resolved, also after a 5xx of the API.",
	{"header": "Idempotency-Key",
	 "max_length": 255,
	 "echo_key": true,
	 "namespace": "{*}",
	 "fingerprint": {"include": ["method", "body"], "json": true},
	 "retention": "24h",
	 "outcomes": {"409": "release", "5xx": "unknown"},
	 "problems": {"in-flight": 409, "outcome-unknown": 409,
		"key-reused": 422, "key-missing": 400}})
PRESET_SAYS(ACP, "in-flight",
	{"type": "invalid_request", "code": "idempotency_in_flight",
		"message": "$detail"})
PRESET_SAYS(ACP, "outcome-unknown",
	{"type": "invalid_request", "code": "idempotency_in_flight",
		"message": "$detail"})
PRESET_SAYS(ACP, "key-reused",
	{"type": "invalid_request", "code": "idempotency_conflict",
		"message": "$detail"})
PRESET_SAYS(ACP, "key-missing",
	{"type": "invalid_request", "code": "idempotency_key_required",
		"message": "$detail"})
PRESET_SAYS(ACP, "attempts-exhausted",
	{"type": "processing_error", "code": "$name", "message": "$detail"})
PRESET_SAYS(ACP, "response-not-kept",
	{"type": "processing_error", "code": "$name", "message": "$detail"})
PRESET_SAYS(ACP, "4xx",
	{"type": "invalid_request", "code": "$name", "message": "$detail"})
PRESET_SAYS(ACP, "5xx",
	{"type": "service_unavailable", "code": "$name",
		"message": "$detail"})

/*
 * github.com/Universal-Commerce-Protocol/ucp, docs/specification/signatures.md,
 * Replay Protection: 128 bits, such as 22 letters and digits; 48 hours; keys
 * are of one operation; the bytes of the body are compared; another body is
 * 409, a store that is away 503.  shopping/checkout/rest.md: errors have code
 * and content; its OpenAPI: Idempotency-Key is required, Authorization or
 * X-API-Key says who it is.  To its clients 409 is the error of a key that was
 * used for another request, so nothing else here is: what is in flight is 503,
 * to be sent again after a while, and what nobody knows is 504, no answer: they
 * ask for the checkout then, and may send the same with the same key.
 */
PRESET(UCP, "ucp", "",
	"As the Universal Commerce Protocol has them (ucp.dev, Message "
	"Signatures, Replay Protection). Where signatures alone tell clients "
	"apart, name the tenant in scope.",
	{"header": "Idempotency-Key",
	 "min_length": 22,
	 "scope": ["Authorization", "X-API-Key"],
	 "namespace": "{*}",
	 "fingerprint": {"include": ["method", "body"], "json": false},
	 "retention": "48h",
	 "problems": {"key-reused": 409, "in-flight": 503,
		"outcome-unknown": 504, "attempts-exhausted": 500,
		"response-not-kept": 500}})
PRESET_SAYS(UCP, "key-reused",
	{"code": "idempotency_conflict", "content": "$detail"})
PRESET_SAYS(UCP, "4xx",
	{"code": "$name", "content": "$detail"})
PRESET_SAYS(UCP, "5xx",
	{"code": "$name", "content": "$detail"})
