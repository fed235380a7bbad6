"""What an agent saw wrong."""
