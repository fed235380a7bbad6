"""An adapter that leaves at import."""

raise SystemExit("no licence")
