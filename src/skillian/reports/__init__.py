"""What a comparison found, written for people and for programs."""
