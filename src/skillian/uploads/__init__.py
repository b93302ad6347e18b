"""Files that the holders of keys upload: stored, read once in a child process, and compared."""
