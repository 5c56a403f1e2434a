# SPDX-License-Identifier: BSD-2-Clause
"""What the gateway must make of the bytes of a connection, request by request,
by the strict reader and by what onceproxy.json(5) says of routes and keys."""

import re

from strict import Message, More, Refused, read

ITEM = (rb"(?:-?\d{1,15}|-?\d{1,12}\.\d{1,3}|\"(?:[ !#-\[\]-~]|\\[\"\\])*\"|"
        rb"[A-Za-z*][:/!#$%&'*+\-.^_`|~0-9A-Za-z]*|:[A-Za-z0-9+/=]*:|\?[01])")
QUOTED = re.compile(rb"\"((?:[ !#-\[\]-~]|\\[\"\\])*)\""
                    rb"(?:; *[a-z*][a-z0-9_\-.*]*(?:=" + ITEM + rb")?)*")
BARE = re.compile(rb"[!#-+\--:<-~]+")
KEY, SCOPE = b"idempotency-key", b"authorization"
# What a client's Connection may not name.
NEVER_NAMED = {
    b"host", b"content-length", b"transfer-encoding", b"via",
    b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host",
    b"x-request-id", b"original-request-id", b"idempotency-outcome", KEY,
    SCOPE, b"idempotency-attempt", b"idempotent-replayed"}
MOST_BODY = 1 << 20

# (name, method or any, path or any), in order.
CHARGES, OPTIONAL, REST = "charges", "optional", "rest"
ROUTES = ((CHARGES, b"POST", b"/v1/charges"),
          (OPTIONAL, b"PUT", b"/v1/optional"), (REST, None, None))


class Step:
    """kind: what becomes of one request.

    pass      it reaches the upstream, once
    keyed     so it does unless its key was used before; identity says whose
    refused   it is answered one of statuses, and never reaches the upstream
    unfinished  it never reaches the upstream as a whole

    closes: nothing behind it is served; may_close: or it is."""

    def __init__(self, kind, message, statuses=(), closes=False):
        self.kind, self.message = kind, message
        self.statuses, self.closes = statuses, closes
        self.may_close = False
        self.identity = None

    def __repr__(self):
        m = self.message
        return (f"{self.kind} {m.method!r} {m.target!r} {m.body[:60]!r} "
                f"{self.statuses or ''}{' closes' if self.closes else ''}")


# --- which route ---

def decoded(path):
    """"%2F" is a NUL from here on."""
    if b"\\" in path or re.search(rb"%(?![0-9A-Fa-f]{2})|%00", path):
        raise Refused(400)

    def one(match):
        byte = bytes([int(match[1], 16)])
        return b"\0" if byte == b"/" else byte
    return re.sub(rb"%(..)", one, path)


def resolve(path, coded):
    """The pieces that are left, a slash and a segment each."""
    pieces = re.findall(rb"[/\0][^/\0]*" if coded else rb"/[^/]*", path)
    left = []
    for number, piece in enumerate(pieces):
        if piece[1:] == b"..":
            behind = pieces[number + 1:number + 2]
            raw = piece[:1] == b"/" and (
                not behind or behind[0][:1] == b"/")
            last = left.pop() if left else b"/x"
            if len(last) == 1 or (raw and last[:1] == b"\0"):
                raise Refused(400)
        elif piece[1:] != b"." and (left or len(piece) > 1):
            left.append(piece)
    return b"".join(left)


def joined(path, coded=True):
    if coded:
        path = path.replace(b"\0", b"/")
    return re.sub(rb"/+", b"/", path).rstrip(b"/") or b"/"


def readings(target):
    """What servers may take the path for."""
    path = decoded(target.partition(b"?")[0])
    found = [joined(resolve(path, True))]
    if b"\0" in path:
        left = resolve(path, False)
        slashes = left.replace(b"\0", b"/")
        found += [joined(left, False), joined(slashes, False),
                  joined(resolve(slashes, True))]
    return found


def route_of(message):
    routes = {next(name for name, method, path in ROUTES
                   if method in (None, message.method)
                   and path in (None, reading))
              for reading in readings(message.target)}
    if len(routes) > 1:
        raise Refused(400)
    return routes.pop()


# --- whose key ---

def key_of(value):
    """The key that a field's value is; None for one that is wrong."""
    quoted = QUOTED.fullmatch(value)
    if quoted is not None:
        key = re.sub(rb"\\(.)", rb"\1", quoted[1])
    elif BARE.fullmatch(value):
        key = value
    else:
        return None
    wrong = key in (b"", b".", b"..") or len(key) > 255
    return None if wrong else key


def judge_key(step, route):
    """Fills in what the key makes of it."""
    message = step.message
    keys, scopes = message.all(KEY), message.all(SCOPE)
    if len(scopes) > 1 and (not keys or (
            len(keys) == 1 and key_of(keys[0]) is not None)):
        if keys or route == OPTIONAL:
            raise Refused(400)
    if not keys and route == OPTIONAL:
        return
    key = key_of(keys[0]) if len(keys) == 1 else None
    if key is None or not any(scopes):
        step.kind, step.statuses = "refused", (400,)
    elif (message.length or 0) > MOST_BODY:
        step.kind, step.statuses = "refused", (413,)
    else:
        step.kind, step.identity = "keyed", (scopes[0], key)
    # Whether its body is waited for depends on when that comes.
    step.may_close = step.may_close or message.has_body()


# --- all of it ---

def judge(message):
    """What becomes of a request whose head is whole."""
    options = message.options()
    if len(options) > 100 or NEVER_NAMED & set(options):
        raise Refused(400)
    step = Step("pass", message)
    # A large head leaves libmicrohttpd no room for that of an answer.
    step.may_close = len(message.fields) > 40 or sum(
        len(n) + len(v) for n, v in message.fields) > 8000
    step.closes = b"close" in options or (
        message.version_1_0 and b"keep-alive" not in options)
    route = route_of(message)
    if route != REST:
        judge_key(step, route)
    return step


def step_at(data, at):
    """What becomes of the request that begins there."""
    message = Message()
    try:
        try:
            read(data, at, message)
        except More:
            if not message.begun:
                return Step("unfinished", message, closes=True)
            step = judge(message)
            if step.kind != "refused":
                step.kind = "unfinished"
            step.closes = True
            return step
        except Refused as why:
            # Its head may be answered before its body is seen.
            raise Refused from why
        return judge(message)
    except Refused as why:
        return Step("refused", message, why.statuses, True)


def steps_of(data):
    """What becomes of all requests of a connection, in order.  The last one
    closes unless the bytes end behind it."""
    at, steps = 0, []
    while at < len(data):
        steps.append(step_at(data, at))
        if steps[-1].closes:
            break
        at = steps[-1].message.end
    return steps
