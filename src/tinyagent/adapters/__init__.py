"""How a model is offered tools, and how its calls are read."""
