"""Published benchmarks as files, what runs them, and what reports them."""
