"""The form that starts a comparison, and its result: one file a panel."""
