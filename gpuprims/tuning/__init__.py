"""Search for faster geometries: cases, timing, search."""
