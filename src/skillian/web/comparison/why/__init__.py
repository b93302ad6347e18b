"""Why two sources differ: proved rules for whole rows, members for measures."""
