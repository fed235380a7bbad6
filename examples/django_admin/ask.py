"""Asks the database, past Django and out of the agent's reach: prints the rows as JSON. Usage: python ask.py "select …" """

import json
import os
import sqlite3
import sys
from pathlib import Path
from urllib.parse import urlsplit


def database() -> Path:
    """One database for each port, so that two runs do not meet. DeskCert sets DESKCERT_BASE_URL for serve, reset and probes."""
    port = urlsplit(os.environ.get("DESKCERT_BASE_URL", "http://127.0.0.1:8000")).port
    return Path(os.environ.get("ADMIN_DB") or Path(__file__).parent / "data" / f"{port}.sqlite3")


def fresh() -> Path:
    """The same as it was at the start."""
    return database().with_suffix(".fresh.sqlite3")


def rows(sql: str) -> list[dict[str, object]]:
    with sqlite3.connect(f"{database().as_uri()}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql)]


if __name__ == "__main__":
    print(json.dumps(rows(sys.argv[1])))
