"""The columns that only one side has, in files of the rows that differ."""
