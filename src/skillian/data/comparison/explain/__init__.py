"""Why two sources differ: which members of which dimensions carry the gap."""
