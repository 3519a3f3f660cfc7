"""The path of a call, free of any backend and of any primitive."""
