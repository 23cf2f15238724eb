"""What moves ask of events and of what lies between them."""
