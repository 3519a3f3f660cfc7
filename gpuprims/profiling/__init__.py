"""What calls cost: profiles of launches, copies and compiled kernels, and their reports."""
