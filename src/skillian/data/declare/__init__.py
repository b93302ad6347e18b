"""What users declare: `sources.yaml`, inferred sources, saved comparisons, and their checks."""
