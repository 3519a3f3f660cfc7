"""The primitives: a public function each, and its host passes, written once for all backends."""
