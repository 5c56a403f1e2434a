# SPDX-License-Identifier: BSD-2-Clause
"""Signed tokens (JWT) and the JWK Set that verifies them, made with the openssl
program; and who publishes one."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess

from .tap import Skip
from .upstream import Upstream, answer

RSA = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
PSS = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
NEW = {"RS256": RSA, "RS384": RSA, "RS512": RSA, "PS256": RSA,
       "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
       "ES384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
       "EdDSA": ["-algorithm", "ED25519"]}


def openssl(*args, data=b""):
    if not shutil.which("openssl"):
        raise Skip("no openssl program")
    return subprocess.run(["openssl", *args], input=data, check=True,
                          capture_output=True).stdout


def text64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_ecdsa(der, size):
    """The two numbers of an ECDSA signature, of so many bytes each."""
    numbers, at = [], 2
    for _ in range(2):
        length = der[at + 1]
        number = int.from_bytes(der[at + 2:at + 2 + length], "big")
        numbers.append(number.to_bytes(size, "big"))
        at += 2 + length
    return b"".join(numbers)


class Key:
    """A key of an algorithm, with its id (None for none)."""

    def __init__(self, folder, algorithm, kid):
        self.algorithm, self.kid, self.folder = algorithm, kid, folder
        self.file = os.path.join(folder, f"{algorithm}-{kid}.pem")
        if algorithm == "HS256":
            self.secret = hashlib.sha256(os.urandom(32)).digest()
        else:
            openssl("genpkey", *NEW[algorithm], "-out", self.file)

    def jwk(self, **others):
        made = {"use": "sig", "alg": self.algorithm, **self.public()}
        if self.kid is not None:
            made["kid"] = self.kid
        return {**made, **others}

    def pem(self):
        return openssl("pkey", "-in", self.file, "-pubout")

    def public(self):
        if self.algorithm == "HS256":
            return {"kty": "oct", "k": text64(self.secret)}
        if NEW[self.algorithm] is RSA:
            said = openssl("rsa", "-in", self.file, "-noout", "-modulus")
            modulus = bytes.fromhex(said.decode().split("=")[1])
            return {"kty": "RSA", "n": text64(modulus), "e": "AQAB"}
        der = openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")
        if self.algorithm.startswith("ES"):
            size = {"ES256": 32, "ES384": 48}[self.algorithm]
            return {"kty": "EC", "crv": f"P-{8 * size}",
                    "x": text64(der[-2 * size:-size]),
                    "y": text64(der[-size:])}
        return {"kty": "OKP", "crv": "Ed25519", "x": text64(der[-32:])}

    def sign(self, data):
        if self.algorithm == "HS256":
            return hmac.new(self.secret, data, hashlib.sha256).digest()
        if self.algorithm == "EdDSA":
            file = os.path.join(self.folder, "signed")
            with open(file, "wb") as out:
                out.write(data)
            return openssl("pkeyutl", "-sign", "-inkey", self.file, "-rawin",
                           "-in", file)
        made = openssl("dgst", "-sha" + self.algorithm[2:], "-sign", self.file,
                       *(PSS if self.algorithm == "PS256" else ()), data=data)
        if not self.algorithm.startswith("ES"):
            return made
        return raw_ecdsa(made, {"ES256": 32, "ES384": 48}[self.algorithm])

    def token(self, claims, header=None, **others):
        """A token; header instead of its own, or others besides that."""
        own = {"alg": self.algorithm, "typ": "JWT"}
        if self.kid is not None:
            own["kid"] = self.kid
        return self.token_of(header if header is not None
                             else {**own, **others}, claims)

    def token_of(self, header, claims):
        """The same; each is an object, or the bytes in its place."""
        parts = [text64(part if isinstance(part, bytes)
                        else json.dumps(part).encode())
                 for part in (header, claims)]
        signed = ".".join(parts)
        return signed + "." + text64(self.sign(signed.encode()))


def key_set(*keys):
    """Their JWK Set, as text."""
    return json.dumps({"keys": [k.jwk() if isinstance(k, Key) else k
                                for k in keys]})


def write_keys(file, *keys):
    """Puts a JWK Set in the place of a file, in one step."""
    with open(file + ".new", "w", encoding="ascii") as out:
        out.write(key_set(*keys))
    os.replace(file + ".new", file)


class Issuer(Upstream):
    """Publishes its keys; over TLS where it has the context of a server."""

    def __init__(self, *keys, tls=None):
        super().__init__(tls=tls)
        self.publish(*keys)

    @property
    def keys_url(self):
        return self.url + "/jwks?of=shop"

    def publish(self, *keys, fields=()):
        self.reply = answer(200, key_set(*keys).encode(), fields)
