"""Before launch, and "is this speed right?": lint, plan, and the figures of a bench."""
