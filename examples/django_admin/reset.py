"""Puts the database back before each trial, under the running server: SQLite's backup is one transaction."""

import sqlite3

from ask import database, fresh

with sqlite3.connect(fresh()) as source, sqlite3.connect(database()) as target:
    source.backup(target)
