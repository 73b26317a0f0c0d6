"""What is left when compilation is over; imports nothing else of ours."""
