"""skillian: compares two systems that should agree, and explains the gap."""
