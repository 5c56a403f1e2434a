# SPDX-License-Identifier: BSD-2-Clause
"""A certificate authority for a test, made with the openssl program."""

import collections
import os
import shutil
import ssl
import subprocess
import time

from .skip import Skip

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

RSA_KEY = ["-newkey", "rsa:2048", "-nodes"]

CA_CONFIG = """
[ca]
default_ca = ours
[ours]
database = {base}.db
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = anybody
[anybody]
commonName = supplied
"""

Certificate = collections.namedtuple("Certificate", "file key")


def openssl(*args):
    if not shutil.which("openssl"):
        raise Skip("no openssl program")
    subprocess.run(["openssl", *args], check=True, capture_output=True)


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.issued = 0
        self.key = os.path.join(folder, f"{name}.key")
        self.file = os.path.join(folder, f"{name}.pem")
        openssl("req", "-x509", *NEW_KEY, "-days", "2", "-subj",
                f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign",
                "-keyout", self.key, "-out", self.file)

    def issue(self, name, alternative=None, days=(0, 2), new_key=NEW_KEY,
              is_root=False):
        """Makes a certificate; its file and its key's.  alternative is the
        subjectAltName, such as "IP:127.0.0.1" or "DNS:upstream.test"; by
        default the name.  days: when its time begins and ends, from now.
        is_root: it is issued by itself."""
        self.issued += 1
        base = os.path.join(self.folder, f"{name}-{self.issued}")
        with open(base + ".ext", "w", encoding="ascii") as out:
            out.write(f"subjectAltName={alternative or 'DNS:' + name}\n")
            # Python 3.13 takes none without it.
            out.write("authorityKeyIdentifier=keyid\n")
        openssl("req", *new_key, "-subj", f"/CN={name}", "-keyout",
                base + ".key", "-out", base + ".csr")
        with open(base + ".cnf", "w", encoding="ascii") as out:
            out.write(CA_CONFIG.format(base=base, folder=self.folder))
        with open(base + ".db", "w", encoding="ascii"):
            pass
        start, end = (time.strftime(
            "%Y%m%d%H%M%SZ", time.gmtime(time.time() + 86400 * day))
            for day in days)
        openssl("ca", "-batch", "-notext", "-config", base + ".cnf",
                *(["-selfsign", "-keyfile", base + ".key"] if is_root else
                  ["-cert", self.file, "-keyfile", self.key]), "-in",
                base + ".csr", "-startdate", start, "-enddate", end,
                "-extfile", base + ".ext", "-out", base + ".pem")
        return Certificate(base + ".pem", base + ".key")

    def client(self, certificate=None):
        """The context of a client that trusts this authority."""
        context = ssl.create_default_context(cafile=self.file)
        if certificate is not None:
            context.load_cert_chain(*certificate)
        return context

    def server(self, alternative="IP:127.0.0.1", client_ca=None):
        """The context of a server with such a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue("server", alternative))
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca)
        return context
