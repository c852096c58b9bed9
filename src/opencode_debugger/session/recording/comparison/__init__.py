"""Two recorded runs compared: where they part first."""
