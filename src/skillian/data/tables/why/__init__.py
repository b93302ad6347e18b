"""Why rows differ: rules and filters that explain it, each proved by a comparison."""
