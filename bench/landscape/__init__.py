"""Random realistic calls, checked and timed: how far each is from the device's limit and from its peers."""
