"""A small ledger and its planning copy, with known faults, to try everything on."""
