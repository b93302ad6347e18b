"""The start of the page: compare two files or two sources, without typing."""
