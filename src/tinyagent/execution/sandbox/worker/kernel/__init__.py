"""The kernel's locks, by ctypes."""
