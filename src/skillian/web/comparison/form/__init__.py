"""The form that starts a comparison: sources, measures or whole rows, filters and limits."""
