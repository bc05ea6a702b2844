"""The mathematics that methods share: kernels, graphs, eigenproblems, convex weights, basis pursuit."""
