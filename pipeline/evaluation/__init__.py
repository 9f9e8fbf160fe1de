"""How good the events and clusters are, measured against labels."""
