"""Puts the invoice back before each trial. DeskCert sets DESKCERT_BASE_URL."""

import os
import urllib.request

urllib.request.urlopen(os.environ["DESKCERT_BASE_URL"] + "/reset", data=b"").close()
