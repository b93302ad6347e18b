"""What columns can hold in each engine, and how the schemas of two tables differ."""
