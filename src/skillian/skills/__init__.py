"""Skills: tools, knowledge and instructions in one folder."""
