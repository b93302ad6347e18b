"""A folder of the host that code sees as a copy, and the commit of what it has changed."""
